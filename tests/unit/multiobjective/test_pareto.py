import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike

from evolve.multiobjective.contribution import contributions
from evolve.multiobjective.pareto import crowding, front, hypervolume, hypervolume_sampled, ranks
from evolve.statistics.answer_sets import exact_volume

STAIRS = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [1.0, 1.0], [2.0, 2.0], [0.0, 3.0]])


def test_the_front_holds_whom_nobody_dominates_and_equals_stay_together() -> None:
    assert front(STAIRS).tolist() == [True, True, True, False, True, False]


def test_fronts_of_one_objective_and_of_nothing() -> None:
    assert front([[1.0], [3.0], [3.0], [2.0]]).tolist() == [False, True, True, False]
    assert front(np.empty((0, 2))).tolist() == []


def test_ranks_peel_fronts() -> None:
    assert ranks([*STAIRS, [0.0, 1.0]]).tolist() == [0, 0, 0, 1, 0, 1, 2]
    assert ranks([[1.0], [3.0], [3.0], [2.0]]).tolist() == [2, 0, 0, 1]
    assert ranks(np.empty((0, 3))).tolist() == []


def test_crowding_is_the_sum_of_gaps_in_shares_of_the_range() -> None:
    distances = crowding([[0.0, 10.0], [1.0, 8.0], [4.0, 0.0]])
    assert distances.tolist() == [math.inf, 4 / 4 + 10 / 10, math.inf]
    assert crowding([[0.0, 1.0], [1.0, 1.0], [4.0, 1.0]]).tolist() == [math.inf, 4 / 4, math.inf]
    assert crowding([[1.0, 1.0], [1.0, 1.0]]).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("points", "volume"),
    [
        ([[3.0], [2.0]], 2.0),
        ([[2.0, 3.0]], 2.0),
        ([[2.0, 4.0], [4.0, 2.0]], 5.0),
        ([[2.0, 4.0], [4.0, 2.0], [2.0, 2.0], [2.0, 4.0]], 5.0),
        ([[2.0, 2.0, 2.0]], 1.0),
        # By inclusion and exclusion: three boxes of 4, three pairwise and one common cube of 1.
        ([[2.0, 2.0, 5.0], [2.0, 5.0, 2.0], [5.0, 2.0, 2.0]], 3 * 4 - 3 * 1 + 1),
        ([[1.0, 9.0, 9.0], [0.0, 0.0, 0.0]], 0.0),
        (np.empty((0, 3)), 0.0),
    ],
)
def test_hypervolume_by_hand(points: list[list[float]], volume: float) -> None:
    assert hypervolume(points, np.ones(np.shape(points)[1])) == pytest.approx(volume)


@pytest.mark.parametrize("reference", [[math.nan, 0.0], [-math.inf, 0.0], [0.0], [0.0] * 3, 0.0, [[0.0, 0.0]]])
@pytest.mark.parametrize("measure", [hypervolume, contributions, exact_volume])
def test_a_reference_point_is_finite_and_has_each_objective(measure: Callable[..., object], reference: object) -> None:
    for points in ([[1.0, 2.0]], np.empty((0, 2))):
        with pytest.raises(ValueError, match="the reference point must"):
            measure(points, reference)
    with pytest.raises(ValueError, match="the reference point must"):
        exact_volume([[1.0] * 4], [math.nan] * 4)


def test_more_than_three_objectives_are_sampled() -> None:
    with pytest.raises(ValueError, match="4 objectives is sampled"):
        hypervolume([[1.0] * 4], [0.0] * 4)


def test_the_sampled_volume_is_within_its_error_of_the_exact_one() -> None:
    rng = np.random.default_rng(1)
    points = rng.random((20, 3))
    exact, box = hypervolume(points, [0.0] * 3), points.max(axis=0).prod()
    share = exact / box
    error = box * math.sqrt(share * (1 - share) / 20_000)
    assert hypervolume_sampled(points, [0.0] * 3, rng, 20_000) == pytest.approx(exact, abs=5 * error)


def test_the_sampled_volume_of_one_box_is_exact() -> None:
    rng = np.random.default_rng(1)
    assert hypervolume_sampled([[2.0] * 5], [1.0] * 5, rng, 10) == pytest.approx(1.0)
    assert hypervolume_sampled([[0.0] * 5], [1.0] * 5, rng, 10) == 0


@pytest.mark.parametrize("bad", [[[math.nan, 1.0]], [[math.inf, 1.0]], [1.0, 2.0]])
def test_what_is_no_reward_matrix_is_refused(bad: ArrayLike) -> None:
    with pytest.raises(ValueError, match="rewards must"):
        front(bad)
