"""Levels: what each of them holds off, and that a level is refused when the host does not reach it."""

import asyncio
import os
import sys
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from evolve.evaluation import Outcome
from evolve.problem import Integrity
from service.errors import RefusedError
from service.sandbox.layers import IsolationLevel
from service.sandbox.selftest import selftest
from tests.integration.sandbox.bench import LIMITS, outcome_of, processes_naming, program, sandbox

BELOW_STRONG = [IsolationLevel.MEDIUM, IsolationLevel.WEAK, IsolationLevel.NONE]
SHORT = replace(LIMITS, wall_seconds=0.5)


@pytest.mark.parametrize("force", BELOW_STRONG)
@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("def solve():\n    return 1.0\n", "ok"),
        ("import time\ndef solve():\n    time.sleep(600)\n", "timeout"),
        ("def solve():\n    return 3 ** (10 ** 9)\n", "timeout"),
        ("import os\nos._exit(0)\n", "crash"),
        ("import sys\nsys.exit(0)\n", "error"),
        ("import ctypes\nctypes.string_at(0)\n", "crash"),
        ("def solve():\n    return bytearray(1 << 40)\n", "memory"),
        ("def solve():\n    while True: print('x' * 1000)\n", "output"),
        ("def solve():\n    with open('big', 'wb') as f:\n        while True: f.write(bytes(1 << 20))\n", "error"),
        ("def solve():\n    import os; os.mkdir('a'); os.chmod('a', 0); os.chmod('.', 0); return 1.0\n", "ok"),
    ],
)
async def test_every_level_makes_an_outcome_of_a_bad_program(
    tmp_path: Path, force: IsolationLevel, source: str, outcome: str
) -> None:
    evaluation = await outcome_of(tmp_path, source, force=force, limits=SHORT)
    assert evaluation.outcome == outcome, evaluation
    assert evaluation.isolation == f"{force}/separate"
    assert bool(evaluation.reason) == (outcome != "ok")


@pytest.mark.parametrize("force", [IsolationLevel.MEDIUM, IsolationLevel.WEAK])
async def test_without_namespaces_a_daemon_still_ends(tmp_path: Path, force: IsolationLevel) -> None:
    mark = f"600.{uuid.uuid4().int % 10**9}"
    source = f"""
        import subprocess
        def solve():
            subprocess.Popen(["sh", "-c", "setsid sleep {mark} & setsid setsid sleep {mark} &"]).wait()
            return 1.0
    """
    evaluation = await outcome_of(tmp_path, source, force=force)
    assert evaluation.ok, evaluation.reason
    assert processes_naming(mark) == []


@pytest.mark.parametrize("force", [IsolationLevel.STRONG, IsolationLevel.MEDIUM])
async def test_tools_copy_files_with_their_modes(tmp_path: Path, force: IsolationLevel) -> None:
    """They set an access list of the copy, which is an extended attribute."""
    source = """
        import pathlib, subprocess
        def solve():
            pathlib.Path("first").write_text("x")
            for command in ("cp -p first second", "cp -a first third", "install -m 644 first fourth"):
                subprocess.run(command.split(), check=True)
            return 1.0
    """
    evaluation = await outcome_of(tmp_path, source, force=force)
    assert evaluation.ok, evaluation.reason


@pytest.mark.parametrize("force", [IsolationLevel.MEDIUM, IsolationLevel.WEAK])
async def test_without_namespaces_a_tree_is_still_bounded(tmp_path: Path, force: IsolationLevel) -> None:
    bomb = """
        import os
        def solve():
            while True:
                try: os.fork()
                except OSError: pass
    """
    hoard = """
        import os, time
        def solve():
            for _ in range(5):
                if os.fork() == 0:
                    held = bytearray(os.urandom(1 << 20)) * 100
                    time.sleep(60)
            time.sleep(60)
    """
    async with sandbox(tmp_path, force=force, limits=replace(LIMITS, wall_seconds=2.0)) as opened:
        bombed = await opened.evaluate(program(bomb), "evl_1")
        hoarded = await opened.evaluate(program(hoard), "evl_2")
    assert bombed.outcome in {Outcome.TIMEOUT, Outcome.CRASH, Outcome.MEMORY}
    assert hoarded.outcome is Outcome.MEMORY


async def test_medium_closes_files_and_network(tmp_path: Path) -> None:
    source = """
        import socket
        def solve():
            found = []
            for action in (socket.socket, lambda: open("/etc/passwd"), lambda: open("/tmp/x", "w")):
                try: found.append(repr(action()))
                except OSError: found.append("blocked")
            return found
    """
    async with sandbox(tmp_path, force=IsolationLevel.MEDIUM) as opened:
        assert (await opened.evaluate(program(source), "evl_1")).feedback == repr(["blocked"] * 3)


@pytest.mark.parametrize("force", list(IsolationLevel))
async def test_shared_evaluators_run_at_every_level(tmp_path: Path, force: IsolationLevel) -> None:
    evaluator = """
        import subprocess, sys
        from openevolve.evaluation_result import EvaluationResult
        def evaluate(path):
            done = subprocess.run([sys.executable, path], capture_output=True, text=True)
            return EvaluationResult({"combined_score": float(done.stdout)})
    """
    async with sandbox(tmp_path, evaluator, integrity=Integrity.SHARED, force=force) as opened:
        evaluation = await opened.evaluate(program("print(2.5)\n"), "evl_1")
    closed = [layer.reason for layer in opened.layers if layer.name == "reachable interpreter" and not layer.on]
    if closed:  # the superuser's own interpreter, and no namespaces to show it in
        assert "is closed to other users" in closed[0]
        assert "PermissionError" in evaluation.reason
    else:
        assert evaluation.scores == {"combined_score": 2.5}, evaluation


@pytest.mark.parametrize("force", BELOW_STRONG)
async def test_a_level_below_the_one_required_is_refused(tmp_path: Path, force: IsolationLevel) -> None:
    with pytest.raises(RefusedError, match=f"^the sandbox reaches the level {force}, and strong is required"):
        async with sandbox(tmp_path, force=force, require=IsolationLevel.STRONG):
            pass


@pytest.mark.parametrize("force", list(IsolationLevel))
async def test_the_level_does_not_depend_on_the_time_that_a_problem_allows(
    tmp_path: Path, force: IsolationLevel
) -> None:
    """Nor on the load of the machine, which makes the self-test's 264 processes take longer than that."""
    limits = replace(LIMITS, processes=256, wall_seconds=0.01, cpu_seconds=0.01)
    async with sandbox(tmp_path, force=force, limits=limits, text=True, entry="") as opened:
        assert opened.level is force, opened.report.attacks


@pytest.mark.parametrize("force", list(IsolationLevel))
async def test_a_forced_level_is_what_the_self_test_finds(force: IsolationLevel) -> None:
    report = await selftest(force)
    assert report.level is force
    off = {layer.name for layer in report.layers if not layer.on}
    assert ("namespaces" in off) == (force is not IsolationLevel.STRONG)
    assert ("landlock" in off) == (force in {IsolationLevel.WEAK, IsolationLevel.NONE})
    assert all(layer.reason for layer in report.layers)
    through = {attack.name for attack in report.attacks if not attack.blocked}
    assert bool(through) == (force in {IsolationLevel.WEAK, IsolationLevel.NONE}), "the attacks themselves work"
    assert all(attack.detail for attack in report.attacks)


async def test_at_no_level_the_daemon_and_the_connections_come_through() -> None:
    report = await selftest(IsolationLevel.NONE)
    through = {attack.name for attack in report.attacks if not attack.blocked}
    assert through >= {
        "a TCP connection to this machine",
        "a datagram to this machine",
        "a connection to a socket in the file system",
        "a datagram to a socket in the file system",
        "a file outside",
        "a write outside",
        "the mode of a file outside",
        "a signal to the process that started it",
        "a process that outlives its evaluation",
    }


# Drops capabilities (capability.h) from what the superuser may have, as containers do, and reports what is left.
RESTRICTED = """
import asyncio, ctypes, os, sys
if len(sys.argv) > 1:
    for number in sys.argv[1].split(","):
        assert ctypes.CDLL(None).prctl(24, int(number), 0, 0, 0) == 0
    os.execv(sys.executable, [sys.executable, "-c", os.environ["SCRIPT"]])
from service.sandbox.selftest import selftest
print(asyncio.run(selftest()).level)
"""
SYS_ADMIN, SETFCAP, SETUID = 21, 31, 7


@pytest.mark.root
@pytest.mark.parametrize("dropped", [(SYS_ADMIN,), (SYS_ADMIN, SETFCAP), (SYS_ADMIN, SETFCAP, SETUID)])
async def test_a_superuser_without_all_capabilities_still_gets_medium_or_more(dropped: tuple[int, ...]) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        RESTRICTED,
        ",".join(map(str, dropped)),
        cwd=Path(__file__).parents[3],
        env={**os.environ, "SCRIPT": RESTRICTED},
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert output.decode().strip() in {"medium", "strong"}
