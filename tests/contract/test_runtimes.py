"""Runtimes of the product keep the rules that those of users are held to, and run programs in the sandbox."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evolve.evaluation import Outcome
from evolve.extensions import ExtensionKind, Extensions, built_in_names
from evolve.problem import EvaluatorSpec, Problem
from evolve.program import Program
from evolve.runtimes import RuntimeCommand, RuntimeContext, with_runtime
from evolve.testing import RUNTIME_RULES, gives_a_command, repeats_its_commands
from tests.integration.sandbox.bench import sandbox

C_SOURCE = '#include <stdio.h>\nint main(void) { int x; scanf("%d", &x); printf("%d", x * x); }\n'
PROGRAMS = {
    "bash": ("bash", "main.sh", "read x; echo $((x * x))\n"),
    "c": ("cc", "main.c", C_SOURCE),
    "cpp": ("c++", "main.cpp", "#include <iostream>\nint main() { int x; std::cin >> x; std::cout << x * x; }\n"),
    "javascript": ("node", "main.js", "const x = JSON.parse(require('fs').readFileSync(0)); console.log(x * x)\n"),
    "python": ("", "main.py", "print(int(input()) ** 2)\n"),
    "rust": ("", "main.rs", ""),
}
SQUARES = """
def inputs(): return [1, 2, 3]
def score(outputs, program):
    return {"score": 1.0, "feedback": str([output["value"] or output["error"] for output in outputs])}
"""


@pytest.mark.parametrize("name", built_in_names(ExtensionKind.RUNTIME))
@pytest.mark.parametrize("rule", RUNTIME_RULES)
def test_runtimes(name: str, rule: Callable[[Any], None]) -> None:
    rule(Extensions().resolve(ExtensionKind.RUNTIME, name)[1])


def test_every_runtime_has_a_program_here() -> None:
    assert tuple(PROGRAMS) == built_in_names(ExtensionKind.RUNTIME)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "rust"])  # its compiler lies in a home
async def test_programs_are_run_in_the_sandbox(tmp_path: Path, name: str) -> None:
    tool, file, source = PROGRAMS[name]
    if tool and shutil.which(tool) is None:
        pytest.skip(f"this machine has no {tool}")
    program = Program.of({file: source})
    problem = Problem(name="p", seeds=(program,), evaluator=EvaluatorSpec(runtime=name))
    spec = with_runtime(problem, Extensions()).evaluator
    assert spec.runtime == ""
    async with sandbox(tmp_path, SQUARES, build=spec.build, command=spec.command) as opened:
        found = await opened.evaluate(program, "evl_1")
    assert (found.outcome, found.feedback) == (Outcome.OK, "[1, 4, 9]"), found.reason


def test_rust_is_compiled_and_started() -> None:
    program = Program.of({"sort.rs": "fn main() {}\n"})
    problem = Problem(name="p", seeds=(program,), evaluator=EvaluatorSpec(runtime="rust", path=("/opt/rust/bin",)))
    spec = with_runtime(problem, Extensions()).evaluator
    assert spec.build == ("rustc", "-O", "-o", "program.bin", "sort.rs")
    assert (spec.command, spec.path) == (("./program.bin",), ("/opt/rust/bin",))


class Counting:
    calls = 0

    def __call__(self, context: RuntimeContext) -> RuntimeCommand:
        Counting.calls += 1
        return RuntimeCommand(command=("run", context.main, str(Counting.calls)))


def raising(context: RuntimeContext) -> RuntimeCommand:
    raise ValueError("no luck today")


@pytest.mark.parametrize(
    ("rule", "runtime", "sentence"),
    [
        (repeats_its_commands, Counting, "it gave other commands for the same program"),
        (gives_a_command, raising, "failed: ValueError: no luck today"),
        (gives_a_command, lambda _: ("run",), "it returned a value of type tuple, not a RuntimeCommand"),
        (gives_a_command, lambda _: RuntimeCommand(command=()), "its command is empty"),
        (
            gives_a_command,
            lambda _: RuntimeCommand(command=("run",)),
            "neither build nor command name the file",
        ),
        (gives_a_command, lambda _: RuntimeCommand(command=("run", "a\0b")), "its command holds what is no word"),
        (gives_a_command, lambda _: RuntimeCommand(command="run"), "its command is a value of type str"),  # type: ignore[arg-type]  # the mistake
        (gives_a_command, lambda c: RuntimeCommand(command=(c.main,), read=("data",)), "it opens 'data', which is no"),
    ],
)
def test_mistakes_break_a_rule(rule: Callable[[Any], None], runtime: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        rule(runtime)
