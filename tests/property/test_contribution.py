"""Contributions agree with the volume that is left when a point leaves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.contribution import contributions, contributions_sampled
from evolve.pareto import front, hypervolume
from evolve.scalarization import Floats


def matrices(least: int, most: int, rows: int = 14) -> st.SearchStrategy[Floats]:
    """Rewards on a small grid, so that ties, equal rows and dominated ones are common."""
    return st.integers(least, most).flatmap(
        lambda k: st.lists(st.lists(st.integers(0, 6), min_size=k, max_size=k), min_size=1, max_size=rows).map(
            lambda values: np.array(values, dtype=np.float64)
        )
    )


def left_out(points: Floats, reference: Floats) -> list[float]:
    """By how much the front's volume falls without each row; rows behind the front play no part."""
    mask = front(points)
    whole = hypervolume(points[mask], reference)
    return [
        whole - hypervolume(points[mask & (np.arange(len(points)) != number)], reference) if mask[number] else 0.0
        for number in range(len(points))
    ]


@given(matrices(1, 3), st.integers(-1, 3))
def test_a_contribution_is_what_the_front_loses(points: Floats, floor: int) -> None:
    reference = np.full(points.shape[1], float(floor))
    assert contributions(points, reference) == pytest.approx(left_out(points, reference))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_large_fronts_of_any_shape(k: int) -> None:
    rng = np.random.default_rng(k)
    for power in (0.5, 1.0, 2.0):
        points = rng.random((60, k)) + 1e-3
        points /= (points**power).sum(axis=1, keepdims=True) ** (1 / power)
        assert contributions(points, np.zeros(k)) == pytest.approx(left_out(points, np.zeros(k)))


def test_nothing_contributes_nothing() -> None:
    assert contributions(np.empty((0, 3)), np.zeros(3)).tolist() == []
    assert contributions_sampled(np.zeros((2, 5)), np.ones(5), np.random.default_rng(1)).tolist() == [0, 0]


def test_more_than_three_objectives_are_sampled() -> None:
    with pytest.raises(ValueError, match="4 objectives are sampled"):
        contributions([[1.0] * 4], [0.0] * 4)


@given(matrices(2, 3), st.integers(0, 2**32 - 1))
def test_sampled_contributions_are_within_their_error_of_the_exact_ones(points: Floats, seed: int) -> None:
    reference, samples = np.zeros(points.shape[1]), 4000
    exact = contributions(points, reference)
    box = points[(points > 0).all(axis=1)].max(axis=0, initial=0.0).prod()
    found = contributions_sampled(points, reference, np.random.default_rng(seed), samples)
    share = exact / box if box else exact
    error = box * np.sqrt(share * (1 - share) / samples)
    assert (np.abs(found - exact) <= 6 * error + 12 * box / samples).all()


def test_arms_of_a_star_in_five_objectives_contribute_their_share_of_the_box() -> None:
    points = np.where(np.eye(5) > 0, 1.0, 0.5)
    found = contributions_sampled(points, np.zeros(5), np.random.default_rng(2), 200_000)
    # Each alone has its outer half: 0.5 x 0.5^4.
    assert found == pytest.approx(np.full(5, 0.5**5), rel=0.08)
