"""`evaluator.build`: a program is prepared once for all its inputs; the compiler says why where it fails."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from evolve.errors import ProblemError
from evolve.evaluation import Outcome
from evolve.problem import EvaluatorSpec
from evolve.program import Program
from tests.integration.sandbox.bench import LIMITS, sandbox

THREE = """
def inputs(): return [1, 2, 3]
def score(outputs, program):
    return {"score": 1.0, "feedback": str([output["value"] for output in outputs])}
"""
C_SOURCE = '#include <stdio.h>\nint main(void) {\n    int x;\n    scanf("%d", &x);\n    printf("%d", VALUE);\n}\n'
SHELL = ("sh", "build.sh")


async def test_a_program_is_built_once_for_all_its_inputs(tmp_path: Path) -> None:
    program = Program.of({"build.sh": "echo x >> built\n"})
    async with sandbox(tmp_path, THREE, build=SHELL, command=("sh", "-c", "wc -l < built")) as opened:
        for number in range(2):  # the next program finds nothing of what was built before
            found = await opened.evaluate(program, f"evl_{number}")
            assert (found.outcome, found.feedback) == (Outcome.OK, "[1, 1, 1]"), found.reason


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no C compiler")
async def test_a_program_in_c_is_compiled_and_run(tmp_path: Path) -> None:
    build = ("gcc", "-o", "main", "main.c")
    async with sandbox(tmp_path, THREE, build=build, command=("./main",)) as opened:
        good = await opened.evaluate(Program.of({"main.c": C_SOURCE.replace("VALUE", "x * x")}), "evl_1")
        bad = await opened.evaluate(Program.of({"main.c": C_SOURCE.replace("VALUE", "y * x")}), "evl_2")
    assert (good.outcome, good.feedback) == (Outcome.OK, "[1, 4, 9]"), good.reason
    assert bad.outcome is Outcome.ERROR
    assert bad.reason.startswith("the build ended with status 1: main.c:5:18: error: ")
    assert "undeclared" in bad.reason
    assert "In function" in bad.feedback


BROKEN = [
    ("exit 3", "error", "the build ended with status 3: it printed nothing"),
    ("echo only here; exit 1", "error", "the build ended with status 1: only here"),
    ("for n in $(seq 3000); do echo error $n; done; exit 2", "error", "the build ended with status 2: error 1 error 2"),
    ("printf 'warning: w\\nmain.c:1: error: e\\n' >&2; exit 1", "error", "with status 1: main.c:1: error: e"),
    ("printf '\\377\\000' >&2; exit 1", "error", "the build ended with status 1: "),
    ("kill -9 $$", "error", "the build ended with status -9: it printed nothing"),
    ("while :; do :; done", "timeout", "the program ran longer than 1 s"),
    ("head -c 100000000 /dev/zero > big && exit 0; exit 4", "error", "the build ended with status"),
]


@pytest.mark.parametrize(("script", "outcome", "reason"), BROKEN)
async def test_a_build_that_fails_is_the_programs_failure_within_the_limits(
    tmp_path: Path, script: str, outcome: str, reason: str
) -> None:
    good, bad = Program.of({"build.sh": ":\n"}), Program.of({"build.sh": f"{script}\n"})
    limits = replace(LIMITS, wall_seconds=1.0)
    async with sandbox(tmp_path, THREE, build=SHELL, command=("echo", "1"), limits=limits) as opened:
        found = await opened.evaluate(bad, "evl_1")
        after = await opened.evaluate(good, "evl_2")
    assert found.outcome == outcome
    assert reason in found.reason
    assert len(found.reason) <= 400
    assert after.ok, after.reason


async def test_a_compiler_that_the_machine_lacks_is_named_with_the_key(tmp_path: Path) -> None:
    async with sandbox(tmp_path, THREE, build=("no-such-cc",), command=("true",)) as opened:
        reason = (await opened.evaluate(Program.of({"main.c": ""}), "evl_1")).reason
    assert reason.startswith("the build 'no-such-cc' cannot be started: install it under /usr")
    assert reason.endswith("name its folder in evaluator.path, or name another one in evaluator.build")


@pytest.mark.parametrize("spec", [{"entry": "solve"}, {"text": True}, {"integrity": "shared"}])
def test_a_build_without_a_command_is_refused(spec: dict[str, object]) -> None:
    with pytest.raises(ProblemError, match=r"add evaluator\.command"):
        EvaluatorSpec(build=("make",), **spec)  # type: ignore[arg-type]  # the keys differ in their types
