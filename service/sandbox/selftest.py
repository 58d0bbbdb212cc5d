"""The sandbox attacks itself, and reports what came of it, not what was meant."""

import contextlib
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evolve.problem import Limits
from service.sandbox.host import KeeperLine, SandboxError
from service.sandbox.layers import NETWORK_ATTACKS, Attack, Layer, Level, level_of

_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Report:
    """What holds on this host.

    Attributes:
        level: what the layers and the attacks amount to.
    """

    level: Level
    layers: tuple[Layer, ...]
    attacks: tuple[Attack, ...]


async def attack(keeper: KeeperLine, zygote: int, limits: Limits) -> Report:
    """Have a child of a keeper try every attack, and judge by what came of it."""
    with _victims() as victims:
        targets = {**victims, "zygote": zygote, "processes": limits.processes, "memory_mb": limits.memory_mb}
        try:
            reply = await keeper.ask({"id": "self-test", "do": "attack", "targets": targets, "seed": 0}, _SECONDS)
        except SandboxError as error:
            reply = {"outcome": "lost", "reason": str(error)}
    if reply["outcome"] != "ok":
        return Report(Level.NONE, keeper.layers, (Attack("the self-test itself", False, reply["reason"]),))
    attacks = tuple(Attack(name, *found) for name, found in reply["result"].items())
    allowed = NETWORK_ATTACKS if limits.network else ()
    unlimited = ("more memory than allowed",) if limits.gpu else ()
    return Report(level_of(keeper.layers, attacks, (*allowed, *unlimited)), keeper.layers, attacks)


@contextmanager
def _victims() -> Iterator[dict[str, Any]]:
    """What the attacks aim at: a server, a socket in the file system, a file to read, a folder to write to."""
    folder = Path(tempfile.mkdtemp(prefix="evolve-selftest-"))
    try:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
            folder.chmod(0o755)
            (folder / "secret").write_text(secrets.token_hex())
            (folder / "secret").chmod(0o644)
            (folder / "open").mkdir()
            (folder / "open").chmod(0o777)
            local.bind(str(folder / "socket"))
            local.listen()
            (folder / "socket").chmod(0o777)
            yield {
                "host": os.getpid(),
                "port": server.getsockname()[1],
                "socket": str(folder / "socket"),
                "secret": str(folder / "secret"),
                "outside": str(folder / "open"),
            }
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(folder)
