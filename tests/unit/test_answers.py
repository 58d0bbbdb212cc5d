"""Answers: what of a result is one, when two are the same, and what becomes of one that cannot be compared."""

from typing import Any

import pytest

from evolve.evaluation import ANSWER_CHARACTERS, Evaluation, Outcome, canonical_answer, read_result
from evolve.problem import EvaluatorSpec, Measure, Objective, Problem
from evolve.program import Program
from service.sandbox.reply import combine

SCORE = Objective(name="score")


def problem(*objectives: Objective, measures: tuple[Measure, ...] = ()) -> Problem:
    seeds = (Program.of({"a.py": "x = 1\n"}),)
    return Problem(name="p", seeds=seeds, evaluator=EvaluatorSpec(entry="x"), objectives=objectives, measures=measures)


NAMED, FREE = problem(SCORE), problem()


@pytest.mark.parametrize(
    ("value", "other"),
    [
        ("  New \n York\t", "New York"),
        (1, 1.0),
        (-0.0, 0),
        (10**20, 1e20),
        ([1, {"b": 2.0, "a": " x  y "}], [1.0, {"a": "x y", "b": 2}]),
        ((1, 2), [1, 2]),
        (42, "42"),
    ],
)
def test_equal_answers_are_equal_texts(value: object, other: object) -> None:
    assert canonical_answer(value) == canonical_answer(other) is not None


@pytest.mark.parametrize(("value", "other"), [("a", "A"), (True, 1), ([1, 2], [2, 1]), (0.1, 0.2), ("ab", "a b")])
def test_different_answers_are_different_texts(value: object, other: object) -> None:
    assert canonical_answer(value) != canonical_answer(other)


@pytest.mark.parametrize("value", [None, "", " \n "])
def test_nothing_is_no_answer(value: object) -> None:
    assert canonical_answer(value) is None


def test_an_answer_can_be_stored_and_sent_whatever_a_program_wrote() -> None:
    told = canonical_answer("a\x00b\ud800c")
    assert told == "a\\x00b\\ud800c"
    assert canonical_answer({"\ud800": "\x00"}) == '{"\\\\ud800":"\\\\x00"}'


@pytest.mark.parametrize("value", ["Paris", 42, True, {"x": 1}, [1, 2]])
def test_in_a_problem_with_objectives_an_answer_is_neither_score_nor_feedback(value: object) -> None:
    found = read_result({"score": 1.0, "answer": value, "feedback": "fine"}, NAMED)
    assert found.answer == canonical_answer(value)
    assert (found.scores, found.feedback) == ({"score": 1.0}, "fine")


@pytest.mark.parametrize(
    "named", [problem(Objective(name="answer")), problem(SCORE, measures=(Measure(name="answer", low=0, high=9),))]
)
def test_an_objective_or_a_measure_of_that_name_stays_one(named: Problem) -> None:
    found = read_result({"score": 1.0, "answer": 4.0}, named)
    assert found.answer is None
    assert {**found.scores, **found.measures}["answer"] == 4.0


def test_where_no_objective_is_named_a_number_stays_a_metric() -> None:
    found = read_result({"combined_score": 1.0, "answer": 4}, FREE)
    assert (found.answer, found.scores) == (None, {"combined_score": 1.0, "answer": 4.0})
    flag = read_result({"combined_score": 1.0, "answer": True}, FREE)
    assert (flag.answer, flag.scores["answer"]) == (None, 1.0)


def test_where_no_objective_is_named_a_text_is_feedback_as_ever_and_the_answer() -> None:
    found = read_result({"combined_score": 1.0, "answer": " Paris "}, FREE)
    assert (found.answer, found.feedback) == ("Paris", "answer:  Paris ")


def test_an_answer_that_is_too_long_is_left_out_and_the_feedback_says_so() -> None:
    longest = "x" * ANSWER_CHARACTERS
    assert read_result({"score": 1.0, "answer": longest}, NAMED).answer == longest
    found = read_result({"score": 1.0, "answer": longest + "y", "feedback": "fine"}, NAMED)
    assert (found.outcome, found.answer) == (Outcome.OK, None)
    assert found.feedback == "fine\nThe answer has 1001 characters: beyond 1000 it is not compared with others."


def deep() -> object:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], deep(), {1, 2}, [10**5000]])
def test_what_is_no_json_value_is_no_answer_and_no_failure(value: object) -> None:
    found = read_result({"score": 1.0, "answer": value}, NAMED)
    assert (found.outcome, found.answer) == (Outcome.OK, None)
    assert found.feedback == "The answer is not JSON value, so it is not compared with others."


def test_of_repeats_the_answer_given_most_often_counts() -> None:
    rounds = [Evaluation(outcome=Outcome.OK, answer=answer) for answer in ("a", "b", None, "b", "c")]
    assert combine(rounds).answer == "b"
    assert combine(rounds[:2]).answer == "a"
    assert combine([Evaluation(outcome=Outcome.OK)] * 2).answer is None
