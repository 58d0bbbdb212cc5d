import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.multiobjective.scalarization import MANY, dirichlet, normalise, scalarise, soft_argmax

SEEDS = st.integers(0, 2**32 - 1)
NUMBERS = st.floats(-1e300, 1e300)


@given(SEEDS, st.integers(1, 8), st.floats(0.01, 100))
def test_weights_lie_on_the_simplex(seed: int, k: int, alpha: float) -> None:
    weights = dirichlet(np.random.default_rng(seed), k, alpha, count=3)
    assert (weights >= 0).all()
    assert weights.sum(axis=1) == pytest.approx(np.ones(3))


@given(st.lists(NUMBERS, min_size=1, max_size=9), NUMBERS, NUMBERS)
def test_normalised_rewards_keep_their_order_inside_the_unit_interval(values: list[float], a: float, b: float) -> None:
    low, high = sorted((a, b))
    shares = normalise([[value] for value in sorted(values)], [low], [high])[:, 0]
    assert ((shares >= 0) & (shares <= 1)).all()
    assert (np.diff(shares) >= 0).all()


@given(SEEDS, st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=9))
def test_a_weighted_sum_lies_within_the_rewards(seed: int, rewards: list[list[float]]) -> None:
    weights = dirichlet(np.random.default_rng(seed), 3)
    sums = scalarise(rewards, weights)
    assert (sums >= np.min(rewards, axis=1) - 1e-12).all()
    assert (sums <= np.max(rewards, axis=1) + 1e-12).all()


@given(SEEDS, st.lists(NUMBERS, min_size=1, max_size=12), st.sampled_from([1, MANY]), st.floats(0, 1e6))
def test_a_draw_repeats_and_is_an_index(seed: int, values: list[float], times: int, temperature: float) -> None:
    drawn = soft_argmax(values * times, np.random.default_rng(seed), temperature)
    assert drawn == soft_argmax(values * times, np.random.default_rng(seed), temperature)
    assert 0 <= drawn < len(values) * times
