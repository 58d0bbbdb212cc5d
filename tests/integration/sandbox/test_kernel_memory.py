"""Memory that the kernel holds for a program: buffers of pipes and sockets, which no process is charged with."""

from dataclasses import replace
from pathlib import Path

import pytest

from evolve.evaluation import Outcome
from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.bench import GOOD, LIMITS, program, sandbox

PATIENT = replace(LIMITS, wall_seconds=60.0, cpu_seconds=60.0, processes=16)
LEVELS = [IsolationLevel.STRONG, IsolationLevel.MEDIUM, IsolationLevel.WEAK]
PIPE_KB = int(Path("/proc/sys/fs/pipe-user-pages-soft").read_text()) * 4
SOCKET_BYTES = int(Path("/proc/sys/net/core/wmem_default").read_text())
OPEN = """
import ctypes, os, socket, time
held = []
def fill(pairs):
    held.extend(socket.socketpair() for _ in range(pairs))
"""
TREE = """
def solve():
    for _ in range(3):
        if os.fork() == 0:
            fill(60)
            time.sleep(60)
    time.sleep(60)
"""
HIDDEN = """
def solve():
    for _ in range(2):
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
            fill(60)
            time.sleep(60)
    fill(60)
    time.sleep(60)
"""


@pytest.mark.parametrize("force", LEVELS)
@pytest.mark.parametrize("fills", [TREE, HIDDEN])
async def test_sockets_of_a_tree_are_bounded(tmp_path: Path, force: IsolationLevel, fills: str) -> None:
    """Each process may have as many descriptors."""
    async with sandbox(tmp_path, force=force, limits=PATIENT) as opened:
        evaluation = await opened.evaluate(program(OPEN + fills), "evl_1")
        assert (await opened.evaluate(GOOD, "evl_2")).ok
    assert (evaluation.outcome, evaluation.reason) == (
        Outcome.MEMORY,
        "the program opened more than 256 sockets, whose buffers are memory",
    )


@pytest.mark.parametrize("force", LEVELS)
async def test_as_many_sockets_as_allowed_may_be_used(tmp_path: Path, force: IsolationLevel) -> None:
    source = OPEN + "def solve():\n    fill(100)\n    time.sleep(0.3)\n    return len(held)\n"
    async with sandbox(tmp_path, force=force, limits=PATIENT) as opened:
        assert (await opened.evaluate(program(source), "evl_1")).scores == {"score": 100.0}


@pytest.mark.parametrize("force", LEVELS)
async def test_processes_that_have_ended_count_with_no_socket(tmp_path: Path, force: IsolationLevel) -> None:
    """An ordinary user may not read what one has open that waits to be collected, or whose first thread has ended."""
    source = """
        import ctypes, os, socket, threading, time
        def last():
            time.sleep(0.3)
            os._exit(0)
        def solve():
            held = [socket.socketpair() for _ in range(10)]
            for number in range(8):
                if os.fork() == 0:
                    if number % 2:
                        os._exit(0)
                    threading.Thread(target=last).start()
                    ctypes.CDLL(None).syscall(60, 0)
            time.sleep(0.2)
            return len(held)
    """
    async with sandbox(tmp_path, force=force, limits=PATIENT) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
    assert evaluation.ok, evaluation.reason


@pytest.mark.parametrize("force", [IsolationLevel.STRONG, IsolationLevel.MEDIUM])
async def test_a_socket_holds_no_more_than_the_kernel_gives_it(tmp_path: Path, force: IsolationLevel) -> None:
    source = """
        import socket
        def solve():
            pair = socket.socketpair()
            pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
            pair[0].setblocking(False)
            held = 0
            try:
                while True: held += pair[0].send(bytes(1 << 12))
            except BlockingIOError: return held
    """
    async with sandbox(tmp_path, force=force) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
    assert 0 < evaluation.scores["score"] <= SOCKET_BYTES


@pytest.mark.parametrize("force", LEVELS)
async def test_pipes_of_a_tree_hold_what_the_kernel_gives_a_user(tmp_path: Path, force: IsolationLevel) -> None:
    """As many pages as the kernel's own limit for a user, and two for each further pipe; processes add no more."""
    source = """
        import fcntl, os
        def fill():
            held = 0
            try:
                while True:
                    pipe = os.pipe()
                    try: fcntl.fcntl(pipe[1], 1031, 1 << 20)
                    except OSError: pass
                    held += fcntl.fcntl(pipe[1], 1032)
            except OSError: return held
        def solve():
            answers, kept = os.pipe(), os.pipe()
            for _ in range(4):
                if os.fork() == 0:
                    os.write(answers[1], b"%9d " % fill())
                    os.read(kept[0], 1)
            told = b"".join(os.read(answers[0], 10) for _ in range(4))
            return sum(map(int, told.split())) / 1024
    """
    async with sandbox(tmp_path, force=force, limits=PATIENT) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
    assert evaluation.ok, evaluation
    assert 0 < evaluation.scores["score"] <= PIPE_KB + 4 * 128 * 8
