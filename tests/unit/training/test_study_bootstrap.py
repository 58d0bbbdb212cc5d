"""Intervals over training seeds and mazes, against closed forms."""

import numpy as np
import pytest

from evolve.statistics.intervals import DRAWS, Estimate
from training.study.bootstrap import difference, mean, ratio

NORMAL = 1.959964  # 97.5 % quantile of the normal distribution


def half(estimate: Estimate) -> float:
    return (estimate.high - estimate.low) / 2


def test_with_one_seed_the_interval_is_that_of_a_mean_over_mazes() -> None:
    values = np.random.default_rng(0).normal(0.6, 0.1, (1, 200))
    found = mean(values)
    assert found.value == pytest.approx(values.mean())
    assert half(found) == pytest.approx(NORMAL * values.std() / np.sqrt(200), rel=0.06)


def test_seeds_and_mazes_both_add_their_variance() -> None:
    """For a table of row plus column, draws vary by var(rows) / rows + var(columns) / columns."""
    rng = np.random.default_rng(1)
    seeds, mazes = rng.normal(0, 0.2, (30, 1)), rng.normal(0, 0.5, (1, 150))
    expected = np.sqrt(seeds.var() / 30 + mazes.var() / 150)
    assert half(mean(seeds + mazes)) == pytest.approx(NORMAL * expected, rel=0.06)


def test_seeds_that_differ_widen_the_interval_though_mazes_do_not() -> None:
    apart = mean(np.repeat([[0.2], [0.5], [0.8]], 50, axis=1))
    assert apart.value == pytest.approx(0.5)
    # One draw in 27 holds the first seed alone, which is more than 2.5 %.
    assert [apart.low, apart.high] == pytest.approx([0.2, 0.8])


def test_differences_are_paired() -> None:
    values = np.random.default_rng(2).random((3, 40))
    found = difference(values + 0.1, values)
    assert (found.value, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))


def test_a_p_value_is_that_of_a_test_of_the_mean() -> None:
    """With one seed, of the z test over mazes, up to the chance of the draws."""
    values = np.random.default_rng(5).normal(0, 0.1, (1, 400))
    values += 2.2 * values.std() / 20 - values.mean()  # 2.2 standard errors above zero
    assert difference(values, np.zeros_like(values)).p_value == pytest.approx(0.0278, rel=0.35)
    assert difference(np.zeros_like(values), values).p_value == pytest.approx(0.0278, rel=0.35)


def test_a_p_value_is_never_zero_and_at_most_one() -> None:
    nothing = np.zeros((2, 10))
    assert difference(nothing, nothing).p_value == 1.0
    assert difference(nothing + 1, nothing).p_value == pytest.approx(2 / (DRAWS + 1))


def test_ratios_are_paired() -> None:
    values = np.random.default_rng(3).random((3, 40))
    found = ratio(1.5 * values, values)
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((1.5, 1.5, 1.5))


def test_there_is_no_ratio_to_nothing() -> None:
    assert ratio(np.ones((2, 5)), np.zeros((2, 5))) is None


def test_a_ratio_to_next_to_nothing_has_no_upper_bound() -> None:
    rare = np.zeros((1, 20))
    rare[0, 0] = 1.0
    found = ratio(np.ones((1, 20)), rare)
    assert found is not None
    assert found.value == pytest.approx(20.0)
    # A draw leaves the one maze out with a chance of (19/20)^20, a third.
    assert np.isinf(found.high)
    assert np.isfinite(found.low)


def test_an_interval_is_above_another_only_if_they_do_not_touch() -> None:
    low, high = Estimate(value=0.1, low=0.0, high=0.2), Estimate(value=0.3, low=0.2, high=0.4)
    assert not high.above(low)
    assert Estimate(value=0.3, low=0.21, high=0.4).above(low)


def test_the_same_table_has_the_same_interval() -> None:
    values = np.random.default_rng(4).random((3, 30))
    assert mean(values) == mean(values.copy())
    assert DRAWS >= 1000


@pytest.mark.parametrize("values", [np.zeros(3), np.zeros((0, 4)), np.zeros((2, 0))])
def test_what_is_no_table_is_refused(values: np.ndarray) -> None:
    with pytest.raises(ValueError, match="table"):
        mean(values)
