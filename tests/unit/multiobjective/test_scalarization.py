import math

import numpy as np
import pytest

from evolve.multiobjective.scalarization import MANY, dirichlet, normalise, scalarise, soft_argmax


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_dirichlet_weights_have_the_moments_of_the_distribution() -> None:
    for alpha in (0.3, 1.0, 8.0):
        weights = dirichlet(rng(), 4, alpha, count=20_000)
        # Var = (1/k)(1 - 1/k) / (k alpha + 1) for the symmetric Dirichlet.
        assert weights.mean(axis=0) == pytest.approx(np.full(4, 0.25), abs=0.02)
        assert weights.var(axis=0) == pytest.approx(np.full(4, 0.25 * 0.75 / (4 * alpha + 1)), rel=0.1)


def test_one_draw_is_one_vector_and_one_objective_has_all_the_weight() -> None:
    assert dirichlet(rng(), 3).shape == (3,)
    assert dirichlet(rng(), 1).tolist() == [1.0]


def test_rewards_are_normalised_by_their_range_and_clipped() -> None:
    low, high = [0.0, 10.0, 5.0], [2.0, 30.0, 5.0]
    assert normalise([[1.0, 10.0, 5.0], [3.0, 15.0, 9.0]], low, high).tolist() == [[0.5, 0.0, 0.5], [1.0, 0.25, 0.5]]


def test_the_widest_range_does_not_overflow() -> None:
    assert normalise([[0.0]], [-1.7e308], [1.7e308]).tolist() == [[0.5]]


def test_scalarised_rewards_are_weighted_sums() -> None:
    rewards = [[1.0, 2.0], [3.0, 4.0]]
    assert scalarise(rewards, [0.5, 0.5]).tolist() == [1.5, 3.5]
    assert scalarise(rewards, [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]).tolist() == [[1.0, 2.0, 1.5], [3.0, 4.0, 3.5]]


@pytest.mark.parametrize("times", [1, 2 * MANY])
def test_draws_follow_the_softmax(times: int) -> None:
    generator, values = rng(), np.array([0.0, 0.5, 1.0])
    draws = [soft_argmax(np.repeat(values, times), generator, 0.5) // times for _ in range(20_000)]
    expected = np.exp(values / 0.5) / np.exp(values / 0.5).sum()
    assert np.bincount(draws) / 20_000 == pytest.approx(expected, abs=0.02)


def test_all_of_many_equal_values_are_drawn_alike() -> None:
    generator, values = rng(), np.zeros(4 * MANY)
    quarters = [soft_argmax(values, generator, 0.1) // MANY for _ in range(20_000)]
    assert np.bincount(quarters) / 20_000 == pytest.approx(np.full(4, 0.25), abs=0.02)


def test_few_that_are_likely_are_drawn_from_many_that_are_not() -> None:
    """Few enough that most often none of those proposed is accepted: by noise then, with the same probabilities."""
    generator, values = rng(), np.full(50 * MANY, -100.0)
    values[[7, 8 * MANY]] = 1.0, 2.0
    draws = [soft_argmax(values, generator, 1.0) for _ in range(60)]
    assert set(draws) == {7, 8 * MANY}
    assert 25 <= draws.count(8 * MANY) < 60  # 44 of 60 are expected, with a standard deviation of 3.4


@pytest.mark.parametrize("times", [1, MANY])
def test_temperature_zero_takes_the_best_and_breaks_ties_by_chance(times: int) -> None:
    generator = rng()
    assert soft_argmax([1.0, 2.0, 3.0, 2.0] + [0.0] * times, generator, 0) == 2
    assert {soft_argmax([1.0, 1.0] + [0.0] * times, generator, 0) for _ in range(50)} == {0, 1}


@pytest.mark.parametrize("times", [1, MANY])
def test_a_tiny_temperature_is_nearly_greedy(times: int) -> None:
    assert soft_argmax([0.0, 1e300, 5.0] * times, rng(), 5e-324) % 3 == 1


@pytest.mark.parametrize("times", [1, MANY])
def test_what_is_impossible_comes_last(times: int) -> None:
    for _ in range(20):
        assert soft_argmax([-math.inf] * times + [0.0], rng(), 100.0) == times


@pytest.mark.parametrize("times", [1, MANY + 1])
def test_one_is_drawn_where_all_are_impossible(times: int) -> None:
    assert 0 <= soft_argmax([-math.inf] * times, rng(), 1.0) < times


@pytest.mark.parametrize(
    ("values", "temperature"),
    [([math.nan], 1.0), ([0.0, math.nan], 1.0), ([math.inf], 1.0), ([], 1.0), ([1.0], -1.0), ([1.0], math.nan)],
)
def test_values_that_cannot_be_compared_are_refused(values: list[float], temperature: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        soft_argmax(values, rng(), temperature)
