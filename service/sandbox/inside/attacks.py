"""The attacks of the self-test: what a hostile program would try first, tried for real; each takes milliseconds."""

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from . import kernel
from .channel import Channel

Tried = tuple[bool, str]
CROWD = "more processes than allowed"
_MB = 1 << 20
# More than a task of the self-test takes: what is left of one by then, nobody waits for.
_DEADLINE_SECONDS = 90


def attempt(channel: Channel, task: Mapping[str, Any], _: None) -> None:
    """Try every attack but the crowd, and what is permitted; send what came of each, name -> (blocked, detail).

    With it goes the daemon left behind. To take memory that no limit refuses would end us before we could tell.
    """
    targets = task["targets"]
    found = {name: _try(attack, targets) for name, attack in ATTACKS.items() if name not in targets["permitted"]}
    channel.send({"result": {**found, "daemon": _leave_daemon()}})


def crowd(channel: Channel, task: Mapping[str, Any], _: None) -> None:
    """Try to have more processes than allowed; whoever counts them has the time to."""
    channel.send({"result": {CROWD: _try(_fork, task["targets"])}})


def outlived(daemon: int) -> Tried:
    """Whether a process of an earlier phase still lives; ends it if so. For the fork server, after that phase."""
    if daemon <= 1:
        return True, "no process could be started"
    try:
        os.kill(daemon, 0)
    except ProcessLookupError:
        return True, "ended"
    except PermissionError:
        return False, "it lives on"
    os.kill(daemon, signal.SIGKILL)
    return False, "it lives on"


def _try(attack: Callable[[Mapping[str, Any]], str], targets: Mapping[str, Any]) -> Tried:
    try:
        return False, attack(targets)
    except (OSError, MemoryError) as error:
        return True, f"{type(error).__name__}: {error}".removesuffix(": ")


def _connect(targets: Mapping[str, Any]) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as stream:
        stream.settimeout(0.2)
        stream.connect(("127.0.0.1", targets["port"]))
    return "connected"


def _send(targets: Mapping[str, Any]) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
        datagram.sendto(b"attack", ("127.0.0.1", targets["port"]))
    return "sent"


def _connect_by_path(targets: Mapping[str, Any]) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
        stream.settimeout(0.2)
        stream.connect(targets["socket"])
    return "connected"


def _send_by_path(targets: Mapping[str, Any]) -> str:
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with pair[0], pair[1]:
        pair[0].sendto(b"attack", targets["mailbox"])
    return "sent"


def _read(targets: Mapping[str, Any]) -> str:
    with open(targets["secret"], encoding="utf-8") as file:
        file.read()
    return "read"


def _write(targets: Mapping[str, Any]) -> str:
    with open(os.path.join(targets["outside"], "written"), "w", encoding="utf-8") as file:
        file.write("attack")
    return "written"


def _change_mode(targets: Mapping[str, Any]) -> str:
    before = os.stat(targets["secret"]).st_mode
    os.chmod(targets["secret"], 0o640)
    if os.stat(targets["secret"]).st_mode == before:
        raise PermissionError("it had no effect")
    return "changed"


def _read_environment(targets: Mapping[str, Any]) -> str:
    with open(f"/proc/{targets['host']}/environ", "rb") as file:
        file.read()
    return "read"


def _signal(targets: Mapping[str, Any]) -> str:
    os.kill(targets["zygote"], 0)
    return "could have been ended"


def _fork(targets: Mapping[str, Any]) -> str:
    reading, writing = os.pipe()
    children: list[int] = []
    try:
        for _ in range(targets["processes"] + 8):
            pid = os.fork()
            if pid == 0:
                _join_crowd(reading, writing)
            children.append(pid)
        time.sleep(targets["hold_seconds"])
    finally:
        os.close(writing)
        for pid in children:
            os.waitpid(pid, 0)
        os.close(reading)
    return f"{len(children)} processes"


def _join_crowd(reading: int, writing: int) -> NoReturn:
    """In a child: wait for the end of the attack, of its process, or of the time, whatever comes first."""
    try:
        signal.alarm(_DEADLINE_SECONDS)
        if kernel.LINUX:
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        os.close(writing)
        os.read(reading, 1)
    finally:
        os._exit(0)


def _allocate(targets: Mapping[str, Any]) -> str:
    return f"{len(bytearray(2 * targets['memory_mb'] * _MB)) // _MB} MB"


def _leave_daemon() -> int:
    """Start a process that belongs to no group of ours; its number, or 0."""
    reading, writing = os.pipe()
    with contextlib.suppress(OSError):
        if (middle := os.fork()) == 0:
            _start_daemon(writing)
        os.waitpid(middle, 0)
    os.close(writing)
    number = os.read(reading, 32)
    os.close(reading)
    return int(number or 0)


def _start_daemon(writing: int) -> NoReturn:
    """In a child: write down the number of a process of a session of our own, unless there may be none."""
    try:
        os.setsid()
        if (pid := os.fork()) == 0:
            time.sleep(_DEADLINE_SECONDS)
        else:
            os.write(writing, str(pid).encode())
    finally:
        os._exit(0)


ATTACKS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "a TCP connection to this machine": _connect,
    "a datagram to this machine": _send,
    "a connection to a socket in the file system": _connect_by_path,
    "a datagram to a socket in the file system": _send_by_path,
    "a file outside": _read,
    "a write outside": _write,
    "the mode of a file outside": _change_mode,
    "the environment of the process that started it": _read_environment,
    "a signal to the process that started it": _signal,
    "more memory than allowed": _allocate,
}
