"""Intervals over training seeds and mazes, against closed forms and tables."""

import math

import numpy as np
import pytest

from evolve.statistics.binomial import exact_bounds
from evolve.statistics.intervals import Estimate
from training.study.intervals import difference, mean, ratio

# Quantiles of Student's t, 97.5 %, by degrees of freedom: from tables.
STUDENT = {2: 4.302653, 4: 2.776445, 199: 1.971957}


def half(estimate: Estimate) -> float:
    return (estimate.high - estimate.low) / 2


def test_with_one_seed_the_interval_is_that_of_a_mean_over_mazes() -> None:
    values = np.random.default_rng(0).normal(60, 10, (1, 200))
    found = mean(values)
    assert found.value == pytest.approx(values.mean())
    assert half(found) == pytest.approx(STUDENT[199] * values.std(ddof=1) / np.sqrt(200), rel=1e-5)


def test_an_interval_covers_that_over_seeds_and_that_over_mazes() -> None:
    rng = np.random.default_rng(1)
    seeds, mazes = rng.normal(0, 2.0, (5, 1)), rng.normal(0, 0.5, (1, 200))
    assert half(mean(seeds + mazes)) == pytest.approx(STUDENT[4] * seeds.std(ddof=1) / np.sqrt(5), rel=1e-5)
    assert half(mean(seeds / 1e6 + mazes)) == pytest.approx(STUDENT[199] * mazes.std(ddof=1) / np.sqrt(200), rel=1e-5)


def test_three_seeds_that_agree_in_sign_alone_tell_nothing() -> None:
    """A percentile bootstrap over three seeds draws their range: [0.002, 0.022], above zero."""
    found = difference(np.repeat([[0.002], [0.015], [0.022]], 100, axis=1), np.zeros((3, 100)))
    assert found.value == pytest.approx(0.013)
    assert half(found) == pytest.approx(STUDENT[2] * np.std([0.002, 0.015, 0.022], ddof=1) / np.sqrt(3), rel=1e-5)
    assert found.low < 0 < found.high
    assert found.p_value > 0.05


def test_differences_are_paired() -> None:
    values = np.random.default_rng(2).random((3, 40))
    found = difference(values + 0.1, values)
    assert (found.value, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))


def test_a_p_value_fits_its_interval() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        found = difference(rng.normal(0.05, 0.1, (4, 1)) + rng.normal(0, 0.2, (4, 30)), np.zeros((4, 30)))
        assert (found.p_value < 0.05) == (found.low > 0 or found.high < 0)


def test_one_training_says_nothing_about_a_method() -> None:
    found = difference(np.ones((1, 50)), np.zeros((1, 50)))
    assert (found.value, found.low, found.high, found.p_value) == (1.0, -math.inf, math.inf, 1.0)
    times = ratio(np.ones((1, 50)), np.full((1, 50), 0.5))
    assert times is not None
    assert (times.value, times.low, times.high) == (2.0, 0.0, math.inf)


def test_equal_tables_do_not_differ() -> None:
    nothing = np.zeros((2, 10))
    assert difference(nothing, nothing).p_value == 1.0
    assert difference(nothing + 1, nothing).p_value == 0.0


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    # By SciPy, binomtest with the exact method.
    [(0, 100, 0.0, 0.036217), (100, 100, 0.963783, 1.0), (3, 100, 0.006230, 0.085176), (1, 2, 0.012579, 0.987421)],
)
def test_counts_have_exact_bounds(count: int, of: int, low: float, high: float) -> None:
    assert exact_bounds(count, of) == pytest.approx((low, high), abs=1e-6)


def test_nothing_solved_leaves_room_for_what_was_not_seen() -> None:
    found = mean(np.zeros((3, 100)))
    assert (found.low, found.high) == pytest.approx((0.0, 0.036217), abs=1e-6)
    some = np.zeros((3, 100))
    some[0, 0] = 1.0  # a third of a maze, in the mean
    assert mean(some).low == 0.0
    assert mean(some).high >= exact_bounds(1, 100)[1]


def test_bounds_of_shares_stay_shares() -> None:
    found = mean(np.repeat([[0.0], [0.5], [1.0]], 20, axis=1))
    assert (found.low, found.high) == (0.0, 1.0)


def test_ratios_are_paired() -> None:
    values = np.random.default_rng(3).random((3, 40))
    found = ratio(1.5 * values, values)
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((1.5, 1.5, 1.5))


def test_there_is_no_ratio_to_nothing() -> None:
    assert ratio(np.ones((2, 5)), np.zeros((2, 5))) is None


def test_a_ratio_to_what_might_be_nothing_has_no_upper_bound() -> None:
    rare = np.zeros((3, 20))
    rare[0, 0] = 1.0
    found = ratio(np.ones((3, 20)), rare)
    assert found is not None
    assert found.value == pytest.approx(60.0)
    assert np.isinf(found.high)
    assert 0 < found.low < 60


def test_the_bounds_of_a_ratio_are_those_that_a_test_of_the_difference_rejects() -> None:
    rng = np.random.default_rng(8)
    values, others = rng.normal(2, 0.3, (6, 1)) + np.zeros((6, 9)), rng.normal(1, 0.1, (6, 1)) + np.zeros((6, 9))
    found = ratio(values, others)
    assert found is not None
    for bound in (found.low, found.high):
        assert difference(values, bound * others).p_value == pytest.approx(0.05, abs=1e-6)


def test_an_interval_is_above_another_only_if_they_do_not_touch() -> None:
    low, high = Estimate(value=0.1, low=0.0, high=0.2), Estimate(value=0.3, low=0.2, high=0.4)
    assert not high.above(low)
    assert Estimate(value=0.3, low=0.21, high=0.4).above(low)


def test_the_same_table_has_the_same_interval() -> None:
    values = np.random.default_rng(4).random((3, 30))
    assert mean(values) == mean(values.copy())


@pytest.mark.parametrize("values", [np.zeros(3), np.zeros((0, 4)), np.zeros((2, 0))])
def test_what_is_no_table_is_refused(values: np.ndarray) -> None:
    with pytest.raises(ValueError, match="table"):
        mean(values)
