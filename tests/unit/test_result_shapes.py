"""A number, a pair of a score and more, and tables within a result are read in one place, wherever they come from."""

import pytest

from evolve.evaluation import Outcome, fitness, read_result
from evolve.problem import EvaluatorSpec, Integrity, Objective, Problem
from evolve.program import Program

SEED = Program.of({"a.py": "x = 1\n"})


def problem(*names: str, lenient: bool = False) -> Problem:
    objectives = tuple(Objective(name=name, low=0.0, high=10.0) for name in names)
    spec = EvaluatorSpec(integrity=Integrity.SHARED, lenient=lenient)
    return Problem(name="p", seeds=(SEED,), evaluator=spec, objectives=objectives)


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize(
    ("result", "scores", "feedback"),
    [
        (3, {"gain": 3.0}, ""),
        ([3.5, {"size": 2}], {"gain": 3.5, "size": 2.0}, ""),
        ((3.5, {"why": "short"}), {"gain": 3.5}, "why: short"),
        ([3.5, "too short"], {"gain": 3.5}, "too short"),
        ([3.5, None], {"gain": 3.5}, ""),
        ([{"gain": 1.0}, {"gain": 9.0, "size": 2}], {"gain": 1.0, "size": 2.0}, ""),
        ({"gain": 1.0, "public": {"a": 2, "b": {"c": 3}}}, {"gain": 1.0, "public.a": 2.0, "public.b.c": 3.0}, ""),
        ({"gain": 1.0, "public": {"a": 2, "b": "text"}}, {"gain": 1.0, "public.a": 2.0}, "public.b: text"),
        ({"gain": 1.0, "notes": {"b": "text"}}, {"gain": 1.0}, "notes: {'b': 'text'}"),
        ({"gain": 1.0, "artifacts": {"log": 3}}, {"gain": 1.0}, "log: 3"),
        ({"gain": 1.0, "public.a": 5.0, "public": {"a": 2}}, {"gain": 1.0, "public.a": 5.0}, ""),
    ],
)
def test_results_of_other_shapes(lenient: bool, result: object, scores: object, feedback: str) -> None:
    found = read_result(result, problem("gain", lenient=lenient))
    assert (found.outcome, found.scores, found.feedback) == (Outcome.OK, scores, feedback), found.reason


@pytest.mark.parametrize("lenient", [False, True])
def test_tables_within_leave_the_mean_of_metrics_alone(lenient: bool) -> None:
    scalar = problem(lenient=lenient)
    assert fitness(scalar, read_result({"a": 1.0, "b": {"c": 9.0}}, scalar)) == 1.0
    assert fitness(scalar, read_result({"public": {"a": 1.0, "b": 3.0}}, scalar)) == 2.0
    beside = read_result({"combined_score": 1.0, "b": {"c": 9.0}}, scalar)
    assert (fitness(scalar, beside), beside.scores["b.c"]) == (1.0, 9.0)


@pytest.mark.parametrize("result", [3, [3, {}], [1, 2], [1], "3", None, [True, [1]]])
def test_what_names_no_score_is_refused(result: object) -> None:
    found = read_result(result, problem("gain", "loss"))
    assert found.outcome is Outcome.INVALID
    assert found.reason.startswith("the evaluator returned")
