"""Tasks on their way: what is more than scoring is not to be taken for it by those who know no more."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from evolve.evaluation import Outcome, ScoringRequest, Trace
from service.errors import UsageError
from service.queue.wire import SCHEMA, evaluation_from_json, evaluation_to_json, task_from_json, task_to_json
from tests.contract.queueing import GOOD, task


def said(scoring: ScoringRequest) -> dict[str, Any]:
    return dict(json.loads(task_to_json(replace(task(), scoring=scoring))))


@pytest.mark.parametrize(
    "scoring", [ScoringRequest(), ScoringRequest(early_stop_threshold=1.5), ScoringRequest(traced=True)]
)
def test_a_worker_of_before_may_score_with_all_repeats(scoring: ScoringRequest) -> None:
    assert said(scoring)["schema"] == SCHEMA


@pytest.mark.parametrize("scoring", [ScoringRequest(holdout=True), ScoringRequest(draw=1)])
def test_a_worker_of_before_refuses_what_it_would_score_as_in_a_search(scoring: ScoringRequest) -> None:
    assert said(scoring)["schema"] == SCHEMA + 1


def test_a_task_carries_the_trace_of_its_submitter_where_there_is_one() -> None:
    traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    sent = replace(task(), traceparent=traceparent)
    assert task_from_json(task_to_json(sent)).traceparent == traceparent
    assert "traceparent" not in said(ScoringRequest())
    assert task_from_json(task_to_json(replace(task(), traceparent="x" * 500))).traceparent == "x" * 55
    with pytest.raises(UsageError):
        task_from_json(json.dumps(said(ScoringRequest()) | {"traceparent": 7}))


def test_a_task_of_before_is_scored_as_in_a_search() -> None:
    old = {
        key: value
        for key, value in said(ScoringRequest()).items()
        if key not in {"early_stop_threshold", "holdout", "draw", "traced"}
    }
    assert task_from_json(json.dumps(old)).scoring == ScoringRequest()


@pytest.mark.parametrize(
    "wrong",
    [
        {"early_stop_threshold": "much"},
        {"early_stop_threshold": 1e300},
        {"draw": -1},
        {"draw": True},
        {"draw": 1 << 40},
    ],
)
def test_a_task_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        task_from_json(json.dumps(said(ScoringRequest()) | wrong))


def test_a_worker_that_does_not_say_how_often_it_scored_is_taken_at_its_word() -> None:
    told = json.loads(evaluation_to_json(GOOD))
    assert evaluation_from_json(json.dumps(told)).repeats == GOOD.repeats
    del told["repeats"]
    assert evaluation_from_json(json.dumps(told)) == replace(GOOD, repeats=0)


def test_a_worker_of_before_gives_no_answer() -> None:
    told = json.loads(evaluation_to_json(GOOD))
    assert evaluation_from_json(json.dumps(told)).answer == "42"
    del told["answer"]
    assert evaluation_from_json(json.dumps(told)) == replace(GOOD, answer=None)


TRACE = Trace(printed={"both": "hello"}, artifacts={"plan": "one"}, feedback="go on", imports={"numpy": 0.25})


def test_a_trace_comes_back_as_it_was_given() -> None:
    given = replace(GOOD, trace=TRACE)
    assert evaluation_from_json(evaluation_to_json(given)) == given
    assert evaluation_from_json(evaluation_to_json(GOOD)).trace is None


@pytest.mark.parametrize("trace", ["text", {"printed": 1}, {"printed": {"both": 7}}, {"imports": {"numpy": "long"}}])
def test_a_trace_that_no_worker_gives_is_not_taken(trace: Any) -> None:
    whole = asdict(TRACE) | trace if isinstance(trace, dict) else trace
    told = json.loads(evaluation_to_json(GOOD)) | {"trace": whole}
    assert evaluation_from_json(json.dumps(told)).outcome is Outcome.LOST


@pytest.mark.parametrize("answer", [42, "", "x" * 1001, ["a"]])
def test_an_answer_that_no_worker_gives_is_not_taken(answer: object) -> None:
    told = json.loads(evaluation_to_json(GOOD)) | {"answer": answer}
    found = evaluation_from_json(json.dumps(told))
    assert (found.outcome, found.answer) == (Outcome.LOST, None)
