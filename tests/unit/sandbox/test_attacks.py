"""The attacks of the self-test leave nothing behind when whoever makes them is killed."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from service.sandbox.inside import attacks
from service.sandbox.inside.channel import Channel
from tests.patience import PATIENCE_SECONDS

PROCESSES = 20
pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux tells a process's children")


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    """Whether a process lives; one that nobody has collected yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def armed(pid: int, attacker: int) -> bool:
    """Whether a process of the crowd has asked to end with its attacker: it then closes an end of their pipe."""
    return len(os.listdir(f"/proc/{pid}/fd")) < len(os.listdir(f"/proc/{attacker}/fd"))


def until(condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def attacker() -> Iterator[int]:
    """A process that holds a crowd for as long as it lives."""
    pid = os.fork()
    if pid == 0:
        task = {"targets": {"processes": PROCESSES, "hold_seconds": 600}}
        attacks.crowd(Channel(socket.socketpair()[0]), task, None)
        os._exit(0)
    yield pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_a_crowd_ends_with_its_attacker_even_while_it_is_stopped(attacker: int) -> None:
    """As it is in the middle of being ended by a process that is killed itself."""
    until(lambda: len(children(attacker)) >= PROCESSES)
    crowd = children(attacker)
    until(lambda: all(armed(pid, attacker) for pid in crowd))
    for pid in crowd:
        os.kill(pid, signal.SIGSTOP)
    os.kill(attacker, signal.SIGKILL)
    try:
        until(lambda: not any(map(alive, crowd)))
    finally:
        for pid in filter(alive, crowd):
            os.kill(pid, signal.SIGKILL)
