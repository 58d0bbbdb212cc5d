"""Failures before a program's first line are the sandbox's: they are repeated, and never told as the program's."""

import os
import re
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from evolve.evaluation import Outcome
from evolve.problem import Integrity
from evolve.program import Program
from service.sandbox.evaluator import SandboxEvaluator
from service.sandbox.layers import IsolationLevel
from service.sandbox.selftest import judge, refusal
from tests.integration.sandbox.bench import ECHO, GOOD, LIMITS, fork_server_of, keeper_of, program, sandbox

LEVELS = list(IsolationLevel)
SHARED = "def evaluate(path):\n    return {'score': 1.5}\n"


@pytest.mark.parametrize("force", LEVELS)
async def test_a_limit_that_cannot_be_set_costs_the_keeper_and_not_the_program(
    tmp_path: Path, force: IsolationLevel
) -> None:
    shows = "import resource\ndef solve():\n    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
    async with sandbox(tmp_path, force=force) as opened:
        first = keeper_of(opened)
        resource.prlimit(fork_server_of(opened), resource.RLIMIT_NOFILE, (100, 100))
        evaluation = await opened.evaluate(program(shows), "evl_1")
        assert (evaluation.outcome, evaluation.scores) == (Outcome.OK, {"score": 256.0})
        assert keeper_of(opened) != first


@pytest.mark.parametrize("integrity", list(Integrity))
@pytest.mark.parametrize("force", [IsolationLevel.MEDIUM, IsolationLevel.WEAK, IsolationLevel.NONE])
async def test_a_scratch_that_is_gone_is_made_again(
    tmp_path: Path, force: IsolationLevel, integrity: Integrity
) -> None:
    evaluator = SHARED if integrity is Integrity.SHARED else ECHO
    async with sandbox(tmp_path, evaluator, force=force, integrity=integrity) as opened:
        for role in ("program", "scorer"):
            shutil.rmtree(opened.folder / "cells" / "0" / role / "scratch")
        evaluation = await opened.evaluate(GOOD, "evl_1")
    assert (evaluation.outcome, evaluation.scores) == (Outcome.OK, {"score": 1.5})


@pytest.mark.parametrize("force", [IsolationLevel.MEDIUM, IsolationLevel.WEAK])
async def test_a_sandbox_that_stays_broken_is_lost_with_its_reason(tmp_path: Path, force: IsolationLevel) -> None:
    async with sandbox(tmp_path, force=force) as opened:
        room = opened.folder / "cells" / "0" / "program"
        mode = room.stat().st_mode
        room.chmod(0)
        evaluation = await opened.evaluate(GOOD, "evl_1")
        assert evaluation.outcome is Outcome.LOST
        assert evaluation.reason.startswith("the sandbox was lost 2 times over it: ")
        assert "PermissionError" in evaluation.reason
        room.chmod(mode)
        assert (await opened.evaluate(GOOD, "evl_2")).ok


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("x" * 300 + ".py", "", "the program's file 'x*.py' cannot be written: File name too long"),
        ("data.txt", "x" * (9 << 20), "the program's files take 9[0-9]* KB, more than limits.disk_mb allows"),
    ],
)
async def test_files_that_no_sandbox_takes_are_the_programs_error(
    tmp_path: Path, path: str, text: str, reason: str
) -> None:
    async with sandbox(tmp_path) as opened:
        first = keeper_of(opened)
        evaluation = await opened.evaluate(Program.of({"main.py": "def solve(): return 1.0\n", path: text}), "evl_1")
        assert keeper_of(opened) == first
    assert evaluation.outcome is Outcome.ERROR
    assert re.fullmatch(reason, evaluation.reason)


@pytest.fixture
def private_umask() -> Iterator[None]:
    """New files are closed to other users, as many administrators have it for root."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("private_umask")
@pytest.mark.parametrize("integrity", list(Integrity))
@pytest.mark.parametrize("force", LEVELS)
async def test_a_private_umask_of_the_caller_changes_nothing(
    tmp_path: Path, force: IsolationLevel, integrity: Integrity
) -> None:
    evaluator = SHARED if integrity is Integrity.SHARED else ECHO
    async with sandbox(tmp_path, evaluator, force=force, integrity=integrity) as opened:
        assert opened.level is force
        evaluation = await opened.evaluate(GOOD, "evl_1")
    assert (evaluation.outcome, evaluation.scores) == (Outcome.OK, {"score": 1.5})


@pytest.mark.usefixtures("private_umask")
async def test_the_umask_of_programs_is_not_the_callers(tmp_path: Path) -> None:
    source = "import os\ndef solve():\n    return os.umask(0)\n"
    async with sandbox(tmp_path) as opened:
        assert (await opened.evaluate(program(source), "evl_1")).scores == {"score": 0o022}


def close_evaluator(opened: SandboxEvaluator) -> None:
    """Leave the evaluator's file where it is, and let nothing in the sandbox read it."""
    path = opened.folder / "problem" / "evaluator.py"
    path.unlink()
    path.symlink_to("/etc/shadow")


async def test_after_a_failure_a_known_good_program_comes_first(tmp_path: Path) -> None:
    async with sandbox(tmp_path) as opened:
        resource.prlimit(fork_server_of(opened), resource.RLIMIT_NOFILE, (100, 100))
        close_evaluator(opened)
        evaluation = await opened.evaluate(GOOD, "evl_1")
    assert evaluation.outcome is Outcome.LOST
    assert "does not score a known-good program: the sandbox could not start it: PermissionError" in evaluation.reason


async def test_the_selftest_scores_a_program_before_it_calls_a_sandbox_good(tmp_path: Path) -> None:
    """Files of the problem that its scorers cannot read, as the layers alone do not show."""
    async with sandbox(tmp_path) as opened:
        slot = opened._free.get_nowait()
        assert slot.keeper is not None
        assert (await judge(slot.keeper, opened._keeper_pools[0], LIMITS)).level is opened.level
        close_evaluator(opened)
        report = await judge(slot.keeper, opened._keeper_pools[0], LIMITS)
        opened._free.put_nowait(slot)
    (attack,) = report.attacks
    assert (report.level, attack.name, attack.blocked) == (IsolationLevel.NONE, "the self-test itself", False)
    assert (
        "the sandbox does not score a known-good program: the sandbox could not start it: PermissionError"
        in attack.detail
    )
    assert refusal(report, IsolationLevel.WEAK).count("known-good program") > 0
