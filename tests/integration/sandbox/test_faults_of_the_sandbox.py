"""Failures before a program's first line are the sandbox's: they are repeated, and never told as the program's."""

import re
import resource
import shutil
from pathlib import Path

import pytest

from evolve.evaluation import Outcome
from evolve.problem import Integrity
from evolve.program import Program
from service.sandbox.layers import Level
from tests.integration.sandbox.bench import ECHO, GOOD, keeper_of, program, sandbox

LEVELS = list(Level)
SHARED = "def evaluate(path):\n    return {'score': 1.5}\n"


@pytest.mark.parametrize("force", LEVELS)
async def test_a_limit_that_cannot_be_set_costs_the_keeper_and_not_the_program(tmp_path: Path, force: Level) -> None:
    shows = "import resource\ndef solve():\n    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
    async with sandbox(tmp_path, force=force) as opened:
        first = keeper_of(opened)
        resource.prlimit(first, resource.RLIMIT_NOFILE, (100, 100))
        evaluation = await opened.evaluate(program(shows), "evl_1")
        assert (evaluation.outcome, evaluation.scores) == (Outcome.OK, {"score": 256.0})
        assert keeper_of(opened) != first


@pytest.mark.parametrize("integrity", list(Integrity))
@pytest.mark.parametrize("force", [Level.MEDIUM, Level.WEAK, Level.NONE])
async def test_a_scratch_that_is_gone_is_made_again(tmp_path: Path, force: Level, integrity: Integrity) -> None:
    evaluator = SHARED if integrity is Integrity.SHARED else ECHO
    async with sandbox(tmp_path, evaluator, force=force, integrity=integrity) as opened:
        for role in ("program", "scorer"):
            shutil.rmtree(opened.folder / "cells" / "0" / role / "scratch")
        evaluation = await opened.evaluate(GOOD, "evl_1")
    assert (evaluation.outcome, evaluation.scores) == (Outcome.OK, {"score": 1.5})


@pytest.mark.parametrize("force", [Level.MEDIUM, Level.WEAK])
async def test_a_sandbox_that_stays_broken_is_lost_with_its_reason(tmp_path: Path, force: Level) -> None:
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
