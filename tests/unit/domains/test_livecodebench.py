from collections.abc import Sequence

import numpy as np
import pytest

from evolve.domains import Domain, LiveCodeBench, grade
from evolve.domains.livecodebench import CodingTask, Test, choose, passed
from evolve.errors import ConfigurationError, ProblemError

TESTS = (Test(input="1", output="2"), Test(input="2", output="4"), Test(input="3", output="9"))
QUESTION = CodingTask(statement="Print the square, or so.", tests=TESTS)


def judge(question: CodingTask, program: str) -> Sequence[float]:
    """Programs here are a number to multiply with."""
    factor = int(program.partition("*")[2].partition(")")[0])
    return [int(test.input) * factor == int(test.output) for test in question.tests]


DOMAIN: Domain[CodingTask, str] = LiveCodeBench(judge=judge)


def program(factor: int, comment: str = "") -> str:
    return f"```python\nprint(int(input()) *{factor}){comment}\n```"


def test_each_test_is_an_objective() -> None:
    grades = grade(DOMAIN, QUESTION, f"{program(2)}\n---\n{program(3)}\n---\n{program(7)}", 3)
    np.testing.assert_array_equal(grades.rewards, [[1, 1, 0], [0, 0, 1], [0, 0, 0]])
    assert DOMAIN.objectives(QUESTION) == ("test_1", "test_2", "test_3")
    assert DOMAIN.scalar(grades.rewards[0]) == pytest.approx(2 / 3)


def test_programs_that_differ_in_comments_count_once() -> None:
    grades = grade(DOMAIN, QUESTION, f"{program(2)}\n---\n{program(2, '  # twice')}", 2)
    np.testing.assert_array_equal(grades.rewards, [[1, 1, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("```python\nx = 1\n```", ("x = 1\n", None)),
        ("Sure:\n```python\nx = 1\n```\nThat is it.", ("x = 1\n", None)),
        ("```\nx = 1", ("x = 1\n", None)),
        ("```py\nx = 1\n```\n```py\ny = 2\n```", ("x = 1\n", "y = 2\n")),
        ("```py\nx = 1\n---\n```py\ny = 2\n```", ("x = 1\n", "y = 2\n")),
        ("<think>```py\nz\n```</think>\n~~~\nx = 1\n~~~", ("x = 1\n", None)),
        ("```python\n```", (None, None)),
        ("x = 1", (None, None)),
        ("", (None, None)),
        ("```python\nx = '\x00'\n```", (None, None)),
        ("```python\nx = '\ud800'\n```", (None, None)),
    ],
)
def test_programs_are_taken_out_of_their_fences(text: str, sources: tuple[str | None, ...]) -> None:
    reply = DOMAIN.parse(text, 2)
    assert reply.answers == sources
    assert [bool(reason) for reason in reply.reasons] == [source is None for source in sources]


@pytest.mark.parametrize(
    ("outcomes", "vector"),
    [
        ([True, False, True], [1, 0, 1]),
        ([1, 0.99], [1, 0, 0]),
        ([], [0, 0, 0]),
        ([float("nan"), 1.0, -1], [0, 1, 0]),
    ],
)
def test_only_a_test_passed_counts(outcomes: list[float], vector: list[float]) -> None:
    np.testing.assert_array_equal(passed(QUESTION, outcomes), vector)


def test_outcomes_of_other_tests_are_refused() -> None:
    with pytest.raises(ProblemError, match="4 outcomes do not belong to 3 tests"):
        passed(QUESTION, [1, 1, 1, 1])


def test_the_smallest_tests_are_scored_in_their_own_order() -> None:
    tests = [Test(input="x" * size, output="") for size in (8193, 8192, *range(30, 0, -1))]
    assert [test.size for test in choose(tests)] == list(range(16, 0, -1))
    assert choose([Test(input="ä" * 4097, output="")]) == ()


@pytest.mark.parametrize("m", [1, 3])
def test_the_prompt_shows_a_form_that_is_read(m: int) -> None:
    prompt = DOMAIN.prompt(QUESTION, m)
    assert DOMAIN.parse(prompt[prompt.index("```") :], m).answers == ("...\n",) * m
    assert "def f" in DOMAIN.prompt(CodingTask(statement="", tests=TESTS, starter="def f(): ..."), m)


def test_a_task_needs_a_test_and_a_reply_an_answer() -> None:
    with pytest.raises(ProblemError, match="at least one test"):
        CodingTask(statement="", tests=())
    with pytest.raises(ConfigurationError, match="at least 1"):
        DOMAIN.parse("", 0)
