"""A version takes the place of another only with an interval that lies above zero, on problems it never saw."""

from datetime import UTC, datetime
from typing import Any

import pytest

from service.errors import UsageError
from service.ports import PolicyEvaluation, PolicyVersion
from service.projections.policy_gate import refusal, summarize_evaluation

BETTER = (0.3, 0.2, 0.4, 0.1, 0.2, 0.3, 0.25, 0.15)


def version(*evaluations: Any) -> PolicyVersion:
    return PolicyVersion(
        tenant="lab",
        policy="walker",
        version=3,
        state="candidate",
        base="",
        settings={},
        bundle_hash="",
        training={},
        card="",
        evaluations=evaluations,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def evaluated(gaps: Any, against: int = 2) -> dict[str, Any]:
    return summarize_evaluation(
        PolicyEvaluation(
            against=against,
            metric="best@64",
            problems=[f"maze {place}" for place in range(len(gaps))],
            values=[0.5 + gap for gap in gaps],
            baseline=[0.5] * len(gaps),
        )
    )


def test_an_evaluation_is_paired_by_problem() -> None:
    found = evaluated(BETTER)
    assert found["difference"] == pytest.approx(sum(BETTER) / 8)
    assert 0 < found["low"] < found["difference"] < found["high"]
    assert (found["mean"], found["baseline_mean"]) == (pytest.approx(0.5 + sum(BETTER) / 8), 0.5)


def test_a_first_version_has_nothing_to_be_worse_than() -> None:
    assert refusal(version(), None) == ""


def test_a_version_that_was_not_evaluated_against_the_promoted_one_is_refused() -> None:
    assert "was not evaluated against walker@2" in refusal(version(evaluated(BETTER, against=1)), 2)


def test_a_better_version_passes() -> None:
    assert refusal(version(evaluated(BETTER)), 2) == ""


@pytest.mark.parametrize("gaps", [[-gap for gap in BETTER], [0.5, -0.4, 0.3, -0.3, 0.2, -0.2, 0.3, -0.1], [0.0] * 8])
def test_a_version_that_may_be_worse_is_refused_with_its_figures(gaps: list[float]) -> None:
    found = evaluated(gaps)
    said = refusal(version(found), 2)
    assert f"differs by {found['difference']:+.3f} [{found['low']:+.3f}, {found['high']:+.3f}] on 8" in said


def test_the_newest_evaluation_decides() -> None:
    worse = [-gap for gap in BETTER]
    assert refusal(version(evaluated(BETTER), evaluated(worse)), 2) != ""
    assert refusal(version(evaluated(worse), evaluated(BETTER)), 2) == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"problems": ["a"] * 8}, "twice"),
        ({"baseline": [0.0] * 7}, "same length"),
        ({"problems": list("abcde"), "values": [1.0] * 5, "baseline": [0.0] * 5}, "at least 6"),
    ],
)
def test_values_that_cannot_be_paired_are_refused(changes: Any, said: str) -> None:
    fields: dict[str, Any] = {
        "against": 2,
        "metric": "best",
        "problems": list("abcdefgh"),
        "values": [1.0] * 8,
        "baseline": [0.0] * 8,
    }
    with pytest.raises(UsageError, match=said):
        summarize_evaluation(PolicyEvaluation(**(fields | changes)))
