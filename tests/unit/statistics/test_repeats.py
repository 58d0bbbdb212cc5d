"""Repeats: a candidate that clearly falls short is spared the rest, and one at the threshold rarely is."""

import numpy as np
import pytest

from evolve.errors import ProblemError
from evolve.problem import EvaluatorSpec
from evolve.statistics.repeats import chance, enough


def spec(repeats: int = 10, minimum: int = 3, confidence: float = 0.95) -> EvaluatorSpec:
    return EvaluatorSpec(entry="f", repeats=repeats, min_repeats=minimum, repeats_confidence=confidence)


def made(values: np.ndarray, threshold: float, asked: EvaluatorSpec) -> int:
    """How many repeats are made of those that would come."""
    return next(count for count in range(1, len(values) + 1) if enough(asked, values[:count].tolist(), threshold))


def test_values_without_spread_are_below_the_bar_or_not() -> None:
    assert chance([1.0, 1.0], 1.5) == 0.0
    assert chance([1.0, 1.0], 1.0) == 1.0


def test_without_a_bar_or_the_wish_every_repeat_is_made() -> None:
    values = np.zeros(10)
    assert made(values, 5.0, spec(minimum=0)) == 10
    assert made(values, 5.0, spec(minimum=10)) == 10
    assert not enough(spec(), [0.0] * 9, None)
    assert enough(spec(), [0.0] * 10, None)


def test_no_fewer_repeats_are_made_than_the_problem_says() -> None:
    assert [made(np.zeros(10), 5.0, spec(minimum=minimum)) for minimum in (2, 3, 7)] == [2, 3, 7]


def test_one_at_the_bar_loses_repeats_no_more_often_than_the_confidence_says() -> None:
    rng = np.random.default_rng(7)
    races = 2000
    spared = sum(made(rng.normal(size=10), 0.0, spec(confidence=0.9)) < 10 for _ in range(races))
    # All looks together err with at most 0.1; three standard deviations of a share over so many races.
    assert spared / races <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / races)


def test_one_that_is_far_below_the_bar_is_spared_most_repeats_and_one_above_none() -> None:
    rng = np.random.default_rng(8)
    below = [made(rng.normal(size=10), 6.0, spec()) for _ in range(200)]
    above = [made(rng.normal(size=10), -1.0, spec()) for _ in range(200)]
    assert np.mean(below) < 5
    assert np.mean([count == 10 for count in above]) > 0.99


@pytest.mark.parametrize(("minimum", "confidence"), [(1, 0.95), (11, 0.95), (-1, 0.95), (3, 1.0), (3, 0.4)])
def test_a_race_that_cannot_be_run_is_refused(minimum: int, confidence: float) -> None:
    with pytest.raises(ProblemError, match=r"evaluator: (min_repeats|repeats_confidence)"):
        spec(minimum=minimum, confidence=confidence)
