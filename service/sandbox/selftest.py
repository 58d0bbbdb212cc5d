"""The sandbox attacks itself, and reports what came of it, not what was meant."""

import asyncio
import os
import secrets
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from evolve.problem import EvaluatorSpec, Limits, Problem
from evolve.program import Program
from service.sandbox import scratch
from service.sandbox.folder import prepare
from service.sandbox.host import KeeperLine, SandboxError
from service.sandbox.inside.attacks import CROWD
from service.sandbox.inside.keeper import SELFTEST_SECONDS
from service.sandbox.keeper_pool import KeeperPool
from service.sandbox.layers import (
    MEMORY_ATTACKS,
    NETWORK_ATTACKS,
    Attack,
    IsolationLevel,
    Layer,
    level_of,
    needed_layers,
)

# More than the keeper itself gives to the two phases of a task of the self-test.
_SECONDS = 2 * SELFTEST_SECONDS + 15.0
_HOLD_SECONDS, _HOLD_AGAIN_SECONDS = 0.15, 2.0
_ENDED_BY_THE_WATCHDOG = {"crash", "memory"}
# A socket's path has at most 107 bytes; this leaves room for the name in the folder, and letters beyond ASCII.
_MAX_SECONDS = 90
_ITSELF = "the self-test itself"
_TRIAL = Problem(name="trial", seeds=(Program.of({"trial.py": ""}),), evaluator=EvaluatorSpec(entry="trial"))


@dataclass(frozen=True, slots=True)
class Report:
    """What holds on this host.

    Attributes:
        level: what the layers and the attacks amount to.
    """

    level: IsolationLevel
    layers: tuple[Layer, ...]
    attacks: tuple[Attack, ...]


def refusal(report: Report, require: IsolationLevel) -> str:
    """One sentence on why a level is not reached: what it needs and does not have."""
    needed = replace(report, layers=tuple(layer for layer in report.layers if layer.name in needed_layers(require)))
    return f"the sandbox reaches the level {report.level}, and {require} is required ({shortcomings(needed)})"


def shortcomings(report: Report) -> str:
    """The layers that are off, and the attacks that were not blocked, in words."""
    off = [f"{layer.name}: {layer.reason}" for layer in report.layers if not layer.on]
    through = [_complaint(attack) for attack in report.attacks if not attack.blocked]
    return "; ".join([*off, *through]) or "it was switched down"


async def selftest(level: IsolationLevel | None = None) -> Report:
    """What the sandbox amounts to on this host, or on no more than the layers of a level.

    Raises:
        SandboxError: its processes do not start.
    """
    with scratch.folder("trial") as folder:
        (folder / "evaluator.py").touch()
        places = await asyncio.to_thread(prepare, folder, 1)
    keeper_pool = KeeperPool(_TRIAL, places, level or IsolationLevel.STRONG)
    try:
        return await judge(await keeper_pool.keeper(0), keeper_pool, _TRIAL.limits)
    finally:
        await keeper_pool.close()
        await asyncio.to_thread(places.remove)


async def judge(keeper: KeeperLine, keeper_pool: KeeperPool, limits: Limits) -> Report:
    """Have a child of a keeper try every attack that the limits do not permit, and judge by what came of it."""
    try:
        await require_canary(keeper)
    except SandboxError as error:
        return Report(IsolationLevel.NONE, keeper.layers, (Attack(_ITSELF, False, str(error)),))
    permitted = (*(NETWORK_ATTACKS if limits.network else ()), *(MEMORY_ATTACKS if limits.gpu else ()))
    with _victims() as victims:
        targets = {
            **victims,
            "zygote": keeper_pool.zygote,
            **({} if keeper_pool.image is None else {"host": keeper_pool.zygote}),
            "processes": limits.processes,
            "memory_mb": limits.memory_mb,
            "permitted": permitted,
        }
        reply = await _tried(keeper, "attack", targets)
        if reply["outcome"] != "ok":
            reply = await _tried(keeper, "attack", targets)
        crowd = _crowd(await _tried(keeper, "crowd", {**targets, "hold_seconds": _HOLD_SECONDS}))
        if not crowd.blocked and keeper_pool.force is not IsolationLevel.NONE:
            crowd = _crowd(await _tried(keeper, "crowd", {**targets, "hold_seconds": _HOLD_AGAIN_SECONDS}))
    if reply["outcome"] != "ok":
        return Report(IsolationLevel.NONE, keeper.layers, (Attack(_ITSELF, False, reply["reason"], undecided=True),))
    attacks = (*(Attack(name, *tried) for name, tried in reply["result"].items()), crowd)
    level = level_of(keeper.layers, attacks, permitted)
    return Report(min(level, keeper_pool.force, key=lambda level: level.rank), keeper.layers, attacks)


def _crowd(reply: Mapping[str, Any]) -> Attack:
    """What came of a crowd: the kernel refused it, the watchdog ended it, it stood, or nobody knows."""
    if reply["outcome"] == "ok":
        return Attack(CROWD, *reply["result"][CROWD])
    ended = reply["outcome"] in _ENDED_BY_THE_WATCHDOG
    return Attack(CROWD, ended, reply["reason"], undecided=not ended)


async def require_canary(keeper: KeeperLine) -> None:
    """Have a keeper score a known-good program.

    Raises:
        SandboxError: it does not, and says why.
    """
    reply = await keeper.ask({"id": "canary", "do": "canary"}, _SECONDS)
    if reply["outcome"] != "ok":
        raise SandboxError(f"the sandbox does not score a known-good program: {reply['reason']}")


def _complaint(attack: Attack) -> str:
    if attack.name == _ITSELF:
        return f"the self-test could not be run: {attack.detail}"
    if attack.undecided:
        return f"{attack.name}: undecided after two attempts ({attack.detail}); the machine may be busy, try again"
    return f"{attack.name} came through"


async def _tried(keeper: KeeperLine, what: str, targets: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return await keeper.ask({"id": "self-test", "do": what, "targets": targets, "seed": 0}, _SECONDS)
    except SandboxError as error:
        return {"outcome": "lost", "reason": str(error)}


@contextmanager
def _victims() -> Iterator[dict[str, Any]]:
    """What the attacks aim at: a server, sockets in the file system, a file to read, a folder to write to."""
    with (
        scratch.folder("test", _MAX_SECONDS) as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as local,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mailbox,
    ):
        folder.chmod(0o755)
        (folder / "secret").write_text(secrets.token_hex())
        (folder / "secret").chmod(0o644)
        (folder / "open").mkdir()
        (folder / "open").chmod(0o777)
        local.bind(str(folder / "socket"))
        local.listen()
        mailbox.bind(str(folder / "mailbox"))
        for name in ("socket", "mailbox"):
            (folder / name).chmod(0o777)
        yield {
            "host": os.getpid(),
            "port": server.getsockname()[1],
            "socket": str(folder / "socket"),
            "mailbox": str(folder / "mailbox"),
            "secret": str(folder / "secret"),
            "outside": str(folder / "open"),
        }
