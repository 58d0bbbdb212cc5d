"""LiveCodeBench: programs that run on tests elsewhere. Each test is an objective.

Reward (Vector Policy Optimization, arXiv 2605.22817, data: LiveCodeBench, arXiv 2403.07974): 1 for each test that a
program passes. Running programs needs a sandbox, so outcomes come from outside.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from evolve.answers.chain import ChainFormat, example
from evolve.answers.markup import Fence, fence
from evolve.domains.blocks import check_count, fill, spoken, tagged
from evolve.domains.domain import DomainReply
from evolve.errors import ProblemError, ProgramError
from evolve.multiobjective.scalarization import Floats
from evolve.program import Program
from evolve.similarity.fingerprint import fingerprint

MAX_TESTS = 16
MAX_TEST_BYTES = 8192
_FENCES = ChainFormat(kind="fences")


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """The input of a program, and the expected output."""

    __test__ = False  # pytest collects classes by this name

    input: str
    output: str

    @property
    def size(self) -> int:
        """Bytes of both."""
        return len(self.input.encode("utf-8", "replace")) + len(self.output.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CodingTask:
    """A programming task.

    Attributes:
        starter: code that the program must start with. Empty: it reads standard input.
        function: the called function of a program with starter code, or a method of its class `Solution`. The lines of
            a test's input are then arguments as JSON, and the output is JSON too.
        tests: the scored tests, see `choose`.

    Raises:
        ProblemError: there is no test.
    """

    statement: str
    tests: tuple[Test, ...]
    starter: str = ""
    function: str = ""

    def __post_init__(self) -> None:
        if not self.tests:
            raise ProblemError("a programming task needs at least one test of at most 8192 bytes")


Judge = Callable[[CodingTask, str], Sequence[float]]


def choose(tests: Sequence[Test]) -> tuple[Test, ...]:
    """The tests that are scored: the smallest 16 of those of at most 8,192 bytes, in their own order."""
    fitting = [place for place, test in enumerate(tests) if test.size <= MAX_TEST_BYTES]
    smallest = sorted(fitting, key=lambda place: tests[place].size)[:MAX_TESTS]
    return tuple(tests[place] for place in sorted(smallest))


def passed(question: CodingTask, outcomes: Sequence[float]) -> Floats:
    """Reward vector of the tests' outcomes: 1 for exactly 1 or True, else 0. A test without an outcome is not passed.

    Raises:
        ProblemError: there are more outcomes than tests.
    """
    if len(outcomes) > len(question.tests):
        raise ProblemError(f"{len(outcomes)} outcomes do not belong to {len(question.tests)} tests")
    vector = np.zeros(len(question.tests))
    vector[: len(outcomes)] = [float(outcome == 1) for outcome in outcomes]
    return vector


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCodeBench:
    """Write a Python program. An answer is its source.

    Attributes:
        judge: runs a program on the question's tests and returns their outcomes, in order.
    """

    judge: Judge
    name: str = "livecodebench"

    def objectives(self, question: CodingTask) -> tuple[str, ...]:
        """test_1, test_2 and so on, as many as the question has."""
        return tuple(f"test_{number}" for number in range(1, len(question.tests) + 1))

    def task(self, question: CodingTask) -> str:
        """The statement, and the code that the program begins with."""
        how = (
            f"Begin with this code:\n```python\n{question.starter}\n```"
            if question.starter
            else ("The program reads standard input and writes standard output.")
        )
        return f"{question.statement}\n\n{how}"

    def prompt(self, question: CodingTask, m: int = 1) -> str:
        """The task, the code it begins with, and the form of the reply."""
        check_count(m)
        form = example(_FENCES, m, "...").replace("```\n...", "```python\n...")
        ask = (
            "Write one Python program in a fenced block:"
            if m == 1
            else f"Write {m} Python programs that solve it in different ways. Write each whole and in a fenced block,"
            " with a line --- between them:"
        )
        return f"{self.task(question)}\n\n{ask}\n{form}\n"

    def parse(self, text: str, m: int = 1, cut: bool = False) -> DomainReply[str]:
        """Programs in fenced blocks, with or without lines `---` between them. The last fence may be open.

        Raises:
            ConfigurationError: `m` is below 1.
        """
        check_count(m)
        return fill(*tagged(spoken(text), _FENCES, m, cut), m, _source)

    def reward(self, question: CodingTask, answer: str) -> Floats:
        """1 for each test passed, by the judge."""
        return passed(question, self.judge(question, answer))

    def scalar(self, vector: Floats) -> float:
        """The mean: the share of tests passed."""
        return float(vector.mean())

    def identity(self, answer: str, vector: Floats) -> Hashable:  # noqa: ARG002 - the shape all domains have
        """The syntax tree: formatting and comments make no other program."""
        return fingerprint(Program.of({"main.py": answer}), "python")


def _source(text: str) -> tuple[str | None, str]:
    lines: list[str] = []
    opened: Fence | None = None
    for line in text.split("\n"):
        mark = fence(line)
        if opened is None:
            opened = mark
        elif opened.closed_by(line):
            break
        else:
            lines.append(line)
    source = "\n".join(lines).strip("\n")
    if not source.strip():
        return None, "the answer holds no program in a fenced block"
    try:
        Program.of({"main.py": source})
    except ProgramError as error:
        return None, str(error)
    return source + "\n", ""
