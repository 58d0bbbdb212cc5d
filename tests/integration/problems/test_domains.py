"""Questions of every domain as problems, scored in the real sandbox from what is stored of them."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from evolve.domains.maze import best, maze_of
from evolve.evaluation import Evaluation, Outcome, fitness
from evolve.problem import Problem
from evolve.program import Program
from service.bootstrap.evaluators import open_sandbox
from service.config import SandboxSettings
from service.problems.load import load_bundle, load_problem
from tests.unit.problems.domains.samples import CALLING, WANTED, files_of, problem_toml
from tests.unit.problems.folders import write

Evaluate = Callable[[Program], Awaitable[Evaluation]]


class Scorer:
    """One problem, open to answers."""

    def __init__(self, problem: Problem, evaluate: Evaluate) -> None:
        self.problem, self._evaluate = problem, evaluate

    async def score(self, text: str) -> Evaluation:
        """What comes of an answer of that text."""
        (path,) = (path for path, _ in self.problem.seeds[0].files)
        return await self._evaluate(Program.of({path: text}))

    async def vector(self, text: str) -> list[float]:
        """The reward vector of an answer, which is valid."""
        evaluation = await self.score(text)
        assert evaluation.ok, evaluation.reason
        return [evaluation.scores[name] for name in self.problem.objective_names]


@asynccontextmanager
async def opened(tmp_path: Path, files: Mapping[str, str | bytes]) -> AsyncIterator[Scorer]:
    """As a worker does it: the problem is read from the bundle."""
    bundle = load_problem(write(tmp_path / "problem", dict(files))).bundle
    problem = load_bundle(bundle, "problem").problem
    async with open_sandbox(problem, bundle, SandboxSettings(), slots=1) as evaluator:
        yield Scorer(problem, lambda program: evaluator.evaluate(program, "evl_1"))


@pytest.mark.parametrize("name", ["maze", "musique", "eureqa", "toolrl", "livecodebench"])
async def test_the_first_answer_of_every_domain_can_be_scored(tmp_path: Path, name: str) -> None:
    async with opened(tmp_path, files_of(name)) as scorer:
        evaluation = await scorer.score(scorer.problem.seeds[0].text)
        assert evaluation.ok, evaluation.reason
        assert evaluation.feedback
        assert 0 <= (fitness(scorer.problem, evaluation) or 0.0) <= 1


async def test_a_walk_is_scored_and_told_where_it_led(tmp_path: Path) -> None:
    async with opened(tmp_path, files_of("maze")) as scorer:
        for text in ("RRR", "right right right", "→→→", "<answer>RRR</answer>", "Rb1 Rc1 Rd1"):
            assert await scorer.vector(text) == pytest.approx([1, 1, 0, 2 / 3])
        said = (await scorer.score("LRDDRLRRR")).feedback
        assert "The walk ends on b1, not on E (d1) after 6 of at most 6 moves." in said
        assert "It took 1 of 1 gold and 0 of 1 diamonds. 2 steps led onto lava." in said
        assert "3 moves led against a wall or the border. 3 moves after the end did not count." in said
        assert said.endswith("La1 Rb1 Db1 Db1 Rc1 Lb1")
        invalid = await scorer.score("I do not know")
        assert invalid.outcome is Outcome.INVALID
        assert invalid.reason == "the evaluator says: it holds nothing in the form of an answer"


async def test_the_best_walk_reaches_the_known_best(tmp_path: Path) -> None:
    table = 'kind = "hard"\nsplit = "questions"\nnumber = 3'
    walk = best(maze_of("hard", "questions", 3), [0.25] * 4).moves
    async with opened(tmp_path, {"problem.toml": problem_toml("maze", table)}) as scorer:
        evaluation = await scorer.score(walk)
        assert fitness(scorer.problem, evaluation) == pytest.approx(scorer.problem.known_best)


async def test_an_answer_is_scored_by_its_citations_and_words(tmp_path: Path) -> None:
    async with opened(tmp_path, files_of("musique")) as scorer:
        whole = "support: 0, 2\nanswer: golden harbour\n"
        assert await scorer.vector(whole) == [1, 1, 1, 1, 1]
        assert fitness(scorer.problem, await scorer.score(whole)) == pytest.approx(1.0)
        part = await scorer.score("<support>1, 2</support><answer>Silver Harbour</answer>")
        # One of two words in common: F1 1/2. One hop of two, two that the question lacks.
        assert [part.scores[name] for name in scorer.problem.objective_names] == [0, 1, 1, 1, 0.5]
        assert fitness(scorer.problem, part) == pytest.approx((3 + 3 * 0.5) / 7)
        assert part.feedback == (
            "Cited and needed: 2. Cited and not needed: 1. Needed and not cited: 1."
            " The answer shares words with the correct answer."
        )
        assert (await scorer.score("support: 1")).outcome is Outcome.INVALID


async def test_names_are_scored_one_by_one(tmp_path: Path) -> None:
    async with opened(tmp_path, files_of("eureqa")) as scorer:
        text = "<entity_A>ada bern</entity_A><entity_C>Portveld</entity_C>"
        assert await scorer.vector(text) == [1, 0, 0, 0, 0]
        said = (await scorer.score(text)).feedback
        assert "Right: entity_A. Wrong: entity_C. Not named: entity_B, entity_D, entity_E." in said
        assert "Norland" not in said


async def test_calls_are_scored_and_told_part_by_part(tmp_path: Path) -> None:
    async with opened(tmp_path, files_of("toolrl")) as scorer:
        assert await scorer.vector(f"<think>x</think><tool_call>{WANTED}</tool_call>") == [1, 1, 1, 1]
        call = json.dumps({"name": "get_weather", "parameters": {"city": "Port Veld", "days": 2, "unit": "C"}})
        part = await scorer.score(f"<think>x</think><tool_call>{call}</tool_call>")
        assert part.feedback == (
            "The form of the reply is right. Call 1, 'get_weather': the right tool, 'city' is right,"
            " 'days' has another value, 'unit' is not wanted."
        )
        assert (await scorer.score("call it")).outcome is Outcome.INVALID


async def test_programs_are_run_test_by_test(tmp_path: Path) -> None:
    async with opened(tmp_path, files_of("livecodebench")) as scorer:
        assert await scorer.vector("print(sum(map(int, input().split())))") == [1, 1]
        assert await scorer.vector("print('10.0')") == [1, 0]
        evaluation = await scorer.score(
            "a, b = input().split()\nif a == '5':\n    raise ValueError('no')\nprint('3.0')"
        )
        assert [evaluation.scores[name] for name in scorer.problem.objective_names] == [0, 0]
        assert evaluation.cases == {"test_1": 0, "test_2": 0}
        assert "0 of 2 tests passed." in evaluation.feedback
        assert "Test 1, input '5 5\\n': the program failed: 'ValueError: no'." in evaluation.feedback
        assert "Test 2, input '20 20\\n': it gave '3.0\\n', which is not the expected output." in evaluation.feedback
        assert "40" not in evaluation.feedback
        assert await scorer.vector("x = (") == [0, 0]


async def test_a_program_is_not_shown_what_is_wanted_of_it(tmp_path: Path) -> None:
    thief = "import os\nprint(open(os.getcwd().partition('/cells/')[0] + '/problem/question.json').read())"
    async with opened(tmp_path, files_of("livecodebench")) as scorer:
        assert "PermissionError: " in (await scorer.score(thief)).feedback


async def test_functions_are_called_with_the_arguments_of_the_test(tmp_path: Path) -> None:
    files = {"problem.toml": problem_toml("livecodebench"), "question.json": json.dumps(CALLING)}
    right = "class Solution:\n    def reversedList(self, numbers: List[int]) -> List[int]:\n        print('hm')\n"
    async with opened(tmp_path, files) as scorer:
        assert await scorer.vector(right + "        return tuple(reversed(numbers))\n") == [1]
        assert await scorer.vector(right + "        return numbers\n") == [0]
        assert await scorer.vector("def reversedList(numbers):\n    return sorted(numbers, reverse=True)\n") == [1]


async def test_a_program_that_does_not_end_fails_its_test_alone(tmp_path: Path) -> None:
    async with opened(tmp_path, files_of("livecodebench")) as scorer:
        slow = "text = input()\nwhile text.startswith('20'):\n    pass\nprint(sum(map(int, text.split())))"
        evaluation = await scorer.score(slow)
        assert [evaluation.scores[name] for name in scorer.problem.objective_names] == [1, 0]
        assert "it took more than 6 seconds" in evaluation.feedback
