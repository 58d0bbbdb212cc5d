"""Intervals of means over runs."""

import math

import numpy as np
import pytest

from evolve.statistics import intervals


def test_too_few_values_have_no_interval() -> None:
    values = np.random.default_rng(0).random(60)
    assert [intervals.mean_over_runs(values[:count]) is None for count in (0, 1, 5, 6)] == [True, True, True, False]
    found = [
        intervals.lead(values[:count], values[:other]) is None for count, other in ((1, 60), (3, 3), (3, 5), (4, 4))
    ]
    assert found == [True, True, False, False]


def test_the_interval_of_many_values_is_that_of_the_central_limit() -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, 400)
    found = intervals.mean_over_runs(values)
    assert found is not None
    reach = 1.96 * values.std(ddof=1) / math.sqrt(400)
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((values.mean() - reach, values.mean() + reach), abs=0.1 * reach)


def test_the_lead_of_many_values_is_that_of_the_central_limit() -> None:
    rng = np.random.default_rng(2)
    values, others = rng.normal(3.0, 2.0, 300), rng.normal(2.0, 1.0, 200)
    found = intervals.lead(values, others)
    assert found is not None
    reach = 1.96 * math.sqrt(values.var(ddof=1) / 300 + others.var(ddof=1) / 200)
    middle = values.mean() - others.mean()
    assert (found.low, found.high) == pytest.approx((middle - reach, middle + reach), abs=0.1 * reach)


def test_equal_values_leave_no_room_and_the_draws_are_always_the_same() -> None:
    assert intervals.mean_over_runs([2.0] * 6) == intervals.Estimate(value=2.0, low=2.0, high=2.0)
    values = np.random.default_rng(3).random(9)
    assert intervals.mean_over_runs(values) == intervals.mean_over_runs(values)


def test_two_equal_groups_are_drawn_apart() -> None:
    values = np.random.default_rng(4).random(12)
    found = intervals.lead(values, values)
    assert found is not None
    assert found.low < -0.05 < 0.05 < found.high


@pytest.mark.parametrize("count", [6, 10])
def test_of_few_runs_the_interval_still_covers_the_mean(count: int) -> None:
    rng = np.random.default_rng(5)
    found = [intervals.mean_over_runs(rng.normal(0.0, 1.0, count)) for _ in range(600)]
    covered = np.mean([one is not None and one.low <= 0 <= one.high for one in found])
    # Plain percentiles cover 0.87 of 6 and 0.91 of 10; three standard errors of 600 trials are 0.03.
    assert covered > 0.92


def test_of_few_runs_apart_the_interval_covers_the_difference() -> None:
    rng = np.random.default_rng(6)
    found = [intervals.lead(rng.normal(0.0, 1.0, 4), rng.normal(0.0, 1.0, 4)) for _ in range(600)]
    assert np.mean([one is not None and one.low <= 0 <= one.high for one in found]) > 0.92


def test_fewer_pairs_than_six_tell_nothing() -> None:
    # All of one sign come by chance with probability 2 / 2^n: 1 in 16 with five, 1 in 32 with six.
    assert [intervals.enough_pairs(count) for count in (1, 5, 6, 10)] == [False, False, True, True]


def test_fewer_runs_apart_than_a_permutation_needs_tell_nothing() -> None:
    # One of the two outermost of C(n + m, n) ways: 2 in 20 with three each, 2 in 70 with four.
    found = [intervals.enough_apart(*counts) for counts in ((1, 30), (1, 40), (3, 3), (3, 5), (4, 4))]
    assert found == [False, True, False, True, True]
