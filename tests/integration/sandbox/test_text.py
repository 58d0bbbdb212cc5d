"""Programs that are texts and are not run, and evaluators that stand on the library."""

from pathlib import Path

import pytest

from evolve.evaluation import Outcome
from evolve.problem import EvaluatorSpec
from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.bench import program, sandbox

LENGTH = """
def score(outputs, program):
    if "bad" in program["main.py"]:
        return {"error": "it is bad"}
    return {"score": len(program["main.py"]), "feedback": f"{len(outputs)} outputs"}
"""
LIBRARY = """
import evolve.domains.maze as maze

def score(outputs, program):
    found = maze.walk(maze.read("maze 1x3, at most 2 moves, open rules\\nS . E"), program["main.py"].strip())
    return {"score": found.steps, "feedback": str(found.reached)}
"""
LOOK = """
def solve():
    import sys
    return [path for path in sys.path if "site-packages" not in path and "/lib/python" not in path]
"""


def test_a_text_is_one_of_three_ways_to_score_a_program() -> None:
    assert EvaluatorSpec(text=True).text
    for clash in ({"text": True, "entry": "solve"}, {"text": True, "command": ("x",)}, {}):
        with pytest.raises(Exception, match="text = true"):
            EvaluatorSpec(**clash)  # type: ignore[arg-type] # the pairs are made by hand


async def test_a_text_is_scored_without_being_run(tmp_path: Path) -> None:
    async with sandbox(tmp_path, LENGTH, text=True, entry="") as opened:
        evaluation = await opened.evaluate(program("1 / 0  ((("), "evl_1")
        assert (evaluation.scores, evaluation.feedback) == ({"score": 10.0}, "0 outputs")
        invalid = await opened.evaluate(program("bad"), "evl_2")
        assert (invalid.outcome, invalid.reason) == (Outcome.INVALID, "the evaluator says: it is bad")


@pytest.mark.parametrize("force", [None, IsolationLevel.MEDIUM, IsolationLevel.WEAK, IsolationLevel.NONE])
async def test_an_evaluator_may_stand_on_the_library(tmp_path: Path, force: IsolationLevel | None) -> None:
    preload = ("evolve.domains.maze",)
    async with sandbox(tmp_path, LIBRARY, text=True, entry="", preload=preload, force=force) as opened:
        evaluation = await opened.evaluate(program("RR"), "evl_1")
        assert evaluation.scores == {"score": 2.0}, evaluation.reason
        assert evaluation.feedback == "True"


async def test_the_folder_of_the_library_is_on_no_programs_path(tmp_path: Path) -> None:
    import evolve

    async with sandbox(tmp_path, preload=("evolve.domains.maze",)) as opened:
        evaluation = await opened.evaluate(program(LOOK), "evl_1")
        assert evaluation.ok, evaluation.reason
        assert f"'{Path(evolve.__file__).parents[1]}'" not in evaluation.feedback


async def test_a_command_may_name_the_interpreter_of_the_evaluation(tmp_path: Path) -> None:
    asked = 'import json, sys; print(json.dumps(sys.executable)); open("main.py").read()'
    async with sandbox(tmp_path, command=("{python}", "-c", asked), entry="") as opened:
        evaluation = await opened.evaluate(program("x"), "evl_1")
        assert evaluation.ok, evaluation.reason
        assert "python" in Path(evaluation.feedback.strip("'")).name
