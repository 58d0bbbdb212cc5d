"""Results of OpenEvolve's evaluators, read as OpenEvolve 0.4.0 reads them (`metrics_utils.get_fitness_score`)."""

import math
from typing import Any

import pytest

from evolve.configuration import RunConfig
from evolve.evaluation import Evaluation, Outcome, fitness, read_result
from evolve.problem import EvaluatorSpec, Integrity, Measure, Problem
from evolve.program import Program
from evolve.proposal import Candidate
from evolve.search.scoring import CandidateScorer
from service.sandbox.reply import read_reply

SEED = Program.of({"initial_program.py": "x = 1\n"})


def problem(*measures: str, lenient: bool = True) -> Problem:
    return Problem(
        name="theirs",
        seeds=(SEED,),
        evaluator=EvaluatorSpec(integrity=Integrity.SHARED, lenient=lenient),
        measures=tuple(Measure(name=name) for name in measures),
    )


@pytest.mark.parametrize(
    ("result", "measures", "worth"),
    [
        ({"combined_score": 0.0, "error": "No module named 'jax'"}, (), 0.0),
        ({"combined_score": 0.5, "mse": math.inf}, (), 0.5),
        ({"combined_score": 0.5, "mse": math.nan}, (), 0.5),
        ({"combined_score": 0.5, "big": 10**400}, (), 0.5),
        ({"quality": 0.5, "valid": True}, (), 0.5),
        ({"quality": 0.5, "also": 0.25, "speed": 8.0}, ("speed",), 0.375),
        ({"a": 0.5, "b": math.nan}, (), 0.5),
        ({"a": 0.5, "told": "text"}, (), 0.5),
        ({"combined_score": "0.75", "a": 0.1}, (), 0.75),
        ({"combined_score": "good", "a": 0.1}, (), 0.1),
        ({"combined_score": None, "a": 0.1}, (), 0.1),
        ({"score": 0.25}, ("score",), 0.25),
        ({"cases": 0.5}, (), 0.5),
        ({"error": 0.0}, (), 0.0),
    ],
)
def test_a_result_has_openevolves_fitness(result: dict[str, Any], measures: tuple[str, ...], worth: float) -> None:
    found = read_result(result, problem(*measures))
    assert found.outcome == Outcome.OK, found.reason
    assert fitness(problem(*measures), found) == worth


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"combined_score": math.nan}, "the score combined_score is nan"),
        ({"a": math.inf}, "the score a is inf"),
        ({"told": "text", "valid": True}, "no numeric score"),
        ({"error": "it broke"}, "the evaluator says: it broke"),
        ([1.0], "instead of a dict of scores"),
    ],
)
def test_a_result_without_a_finite_fitness_is_invalid(result: Any, said: str) -> None:
    found = read_result(result, problem())
    assert found.outcome == Outcome.INVALID
    assert said in found.reason


def test_texts_and_flags_are_feedback() -> None:
    found = read_result({"combined_score": 0.0, "error": "it broke", "valid": False}, problem())
    assert found.feedback.splitlines() == ["error: it broke", "valid: False"]
    assert found.scores == {"combined_score": 0.0}


def test_a_strict_evaluator_is_read_as_before() -> None:
    strict = problem(lenient=False)
    assert read_result({"combined_score": 0.0, "error": "it broke"}, strict).outcome == Outcome.INVALID
    assert read_result({"combined_score": 0.5, "mse": math.inf}, strict).outcome == Outcome.INVALID
    assert fitness(strict, read_result({"quality": 0.5, "valid": True}, strict)) == 0.75
    text = read_result({"combined_score": "0.75", "a": 0.1}, strict)
    assert (text.outcome, text.reason) == (Outcome.INVALID, "combined_score is the text '0.75' instead of a number")


@pytest.mark.parametrize(("lenient", "outcome"), [(True, Outcome.OK), (False, Outcome.STAGE)])
def test_a_program_below_a_threshold_keeps_the_scores_of_its_stages(lenient: bool, outcome: Outcome) -> None:
    reason = "stopped after stage 1: combined_score is 0.3, and 0.5 is needed to go on"
    reply = {"outcome": "stage", "reason": reason, "result": {"combined_score": 0.3}}
    found = read_reply(reply, problem(lenient=lenient))
    assert (found.outcome, found.scores) == (outcome, {"combined_score": 0.3})
    assert reason in (found.feedback if lenient else found.reason)


def individual_measures(found: Evaluation, *measures: str) -> dict[str, float]:
    candidate = Candidate(
        id="cnd_1", proposal_number=0, position=0, island=0, program=SEED, fingerprint="f", parents=()
    )
    return dict(CandidateScorer(problem(*measures), RunConfig()).individual(candidate, found).measures)


def test_the_built_in_measure_score_is_the_fitness() -> None:
    found = read_result({"combined_score": 0.5, "other": 3.0}, problem("score"))
    assert individual_measures(found, "score") == {"score": 0.5}


def test_an_evaluator_that_measures_a_built_in_itself_is_believed() -> None:
    found = read_result({"combined_score": 0.5, "complexity": 7.0}, problem("complexity", "score"))
    assert individual_measures(found, "complexity", "score") == {"complexity": 7.0, "score": 0.5}
