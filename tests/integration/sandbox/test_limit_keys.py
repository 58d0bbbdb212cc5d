"""No key of a problem's limits is dead: each decides what comes of a program that wants more than it may have."""

import re
import socket
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from evolve.evaluation import Evaluation
from evolve.problem import Limits
from evolve.program import Program
from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.bench import LIMITS, program, sandbox

# Of each key another value than the usual one, a program that one of them is enough for, and what the other one says.
KEYS: Mapping[str, tuple[Any, str, str]] = {
    "wall_seconds": (0.5, "time.sleep(0.8)", "the program ran longer than 0.5 s"),
    "cpu_seconds": (
        0.1,
        "[None for _ in iter(lambda: time.process_time() > 0.3, True)]",
        "the program used more than 0.1 s of processor time",
    ),
    "memory_mb": (64, "bytearray(100 << 20)", "MemoryError"),
    "processes": (
        2,
        "[os.fork() or (time.sleep(0.2), os._exit(0)) for _ in range(4)]",
        "BlockingIOError|the program started more than 2 processes",  # refused, or where that cannot be, ended
    ),
    "disk_mb": (1, "open('big', 'wb').write(bytes(3 << 20))", "^OSError"),
    "output_kb": (4, "print('x' * 8192)", "the program printed more than 4 KB"),
    "network": (True, "socket.create_connection(('127.0.0.1', PORT), 1).close()", "Error"),
    # Addresses by the gigabyte, and no memory behind them: what drivers take.
    "gpu": (True, "mmap.mmap(-1, 4 << 30, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ).close()", "^OSError"),
}
# Those under which the programs of others might fare otherwise; the others are changed at once, which costs less.
APART = ("wall_seconds", "gpu")


def wanting(key: str, port: int) -> Program:
    return program(f"""
        import mmap, os, socket, time
        PORT = {port}
        def solve():
            {KEYS[key][1]}
            return 1.0
    """)


async def outcomes(folder: Path, keys: list[str], limits: Limits) -> list[Evaluation]:
    """What comes of the programs of keys; whatever its limits, a problem is never kept apart less than others are."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        async with sandbox(folder, limits=limits, require=IsolationLevel.WEAK) as opened:
            return [await opened.evaluate(wanting(key, port), f"evl_{key}") for key in keys]


def check(evaluation: Evaluation, key: str, *, enough: bool) -> None:
    assert evaluation.ok is enough, (key, evaluation)
    if not enough:
        assert re.search(KEYS[key][2], evaluation.reason), (key, evaluation)


def test_every_key_is_tried() -> None:
    assert {entry.name for entry in fields(Limits)} == set(KEYS)


async def test_the_usual_limits_are_enough_but_for_what_must_be_granted(tmp_path: Path) -> None:
    for key, evaluation in zip(KEYS, await outcomes(tmp_path, list(KEYS), LIMITS), strict=True):
        check(evaluation, key, enough=KEYS[key][0] is not True)


@pytest.mark.parametrize("keys", [*([key] for key in APART), [key for key in KEYS if key not in APART]], ids=" ".join)
async def test_a_limit_decides_what_a_program_may_have(tmp_path: Path, keys: list[str]) -> None:
    limits = replace(LIMITS, **{key: KEYS[key][0] for key in keys})
    for key, evaluation in zip(keys, await outcomes(tmp_path, keys, limits), strict=True):
        check(evaluation, key, enough=KEYS[key][0] is True)


@pytest.mark.parametrize(("megabytes", "enough"), [(3, True), (6, False)])
async def test_scratch_and_shared_memory_have_one_limit(tmp_path: Path, megabytes: int, enough: bool) -> None:
    """Both are file systems in memory; each alone would take as much as limits.disk_mb."""
    source = f"""
        def solve():
            for name in ("file", "/dev/shm/file"):
                open(name, "wb").write(bytes({megabytes} << 20))
            return 1.0
    """
    async with sandbox(tmp_path, limits=replace(LIMITS, disk_mb=8), require=IsolationLevel.STRONG) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
        after = await opened.evaluate(program("def solve():\n    return 1.0\n"), "evl_2")
    assert (evaluation.outcome == "ok", evaluation.outcome == "memory") == (enough, not enough), evaluation
    assert evaluation.reason == (
        "" if enough else "the program's files in its scratch and /dev/shm took more than 8 MB"
    )
    assert after.ok
