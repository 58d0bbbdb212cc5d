import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.multiobjective import pareto
from evolve.multiobjective.pareto import crowding, dominated, front, hypervolume, hypervolume_sampled, ranks
from evolve.multiobjective.scalarization import Floats


def matrices(minimum: int = 1, maximum: int = 4, rows: int = 12) -> st.SearchStrategy[Floats]:
    """Rewards on a small grid, so that ties and equal rows are common."""
    return st.integers(minimum, maximum).flatmap(
        lambda k: st.lists(st.lists(st.integers(0, 4), min_size=k, max_size=k), min_size=1, max_size=rows).map(
            lambda values: np.array(values, dtype=np.float64)
        )
    )


def dominates(a: Floats, b: Floats) -> bool:
    return bool((a >= b).all() and (a > b).any())


def unit_cubes(points: Floats) -> int:
    """Volume above the origin, by counting the cubes of the grid that some point covers."""
    cells = itertools.product(*(range(int(maximum)) for maximum in points.max(axis=0)))
    return sum(1 for cell in cells if any(all(c < p for c, p in zip(cell, point, strict=True)) for point in points))


@given(matrices())
def test_a_front_is_an_antichain_that_dominates_the_rest(points: Floats) -> None:
    mask = front(points)
    inside, outside = points[mask], points[~mask]
    assert not any(dominates(a, b) for a in inside for b in inside)
    assert all(any(dominates(a, b) for a in inside) for b in outside)


@given(matrices(), st.randoms(use_true_random=False))
def test_the_front_does_not_depend_on_the_order(points: Floats, shuffler: object) -> None:
    order = list(range(len(points)))
    shuffler.shuffle(order)  # type: ignore[attr-defined]  # Hypothesis hands out random.Random
    assert front(points[order]).tolist() == front(points)[order].tolist()


@pytest.fixture(scope="module", params=[(1, 0, 0), (2, 1, 1), (256, 32, 32)])
def sizes(request: pytest.FixtureRequest) -> Iterator[None]:
    """From how many rows on sets are divided, also where they are very small."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in zip(("SMALL", "FEW", "STRONG"), request.param, strict=True):
            patch.setattr(pareto, name, value)
        yield


@pytest.mark.usefixtures("sizes")
@given(matrices(1, 5, rows=40))
def test_a_front_is_what_comparing_all_with_all_leaves(points: Floats) -> None:
    assert front(points).tolist() == [not any(dominates(other, point) for other in points) for point in points]


@pytest.mark.usefixtures("sizes")
@given(matrices(1, 5, rows=20), st.data())
def test_who_is_dominated_by_another_set(points: Floats, data: st.DataObject) -> None:
    row = st.lists(st.integers(0, 4), min_size=points.shape[1], max_size=points.shape[1])
    others = np.array(data.draw(st.lists(row, max_size=20)), dtype=np.float64).reshape(-1, points.shape[1])
    expected = [any(dominates(other, point) for other in others) for point in points]
    assert dominated(points, others).tolist() == expected


@pytest.mark.parametrize("width", [2, 3, 4, 6])
def test_large_sets_have_the_front_that_comparing_all_with_all_leaves(width: int) -> None:
    rng = np.random.default_rng(width)
    points = np.abs(rng.normal(size=(1500, width)))
    points[:700] /= np.linalg.norm(points[:700], axis=1, keepdims=True)  # none of these beats another
    points[700:] = np.round(points[700:], 1)
    covers = (points[:, None] >= points).all(axis=2)
    heartbeats = np.asarray(covers & ~covers.T)
    assert (front(points) == ~heartbeats.any(axis=0)).all()
    assert (dominated(points[700:], points[:700]) == heartbeats[:700, 700:].any(axis=0)).all()
    layers = ranks(points)
    assert (layers == np.where(heartbeats, layers[:, None], -1).max(axis=0) + 1).all()


@pytest.mark.parametrize("width", [3, 4, 6])
@pytest.mark.parametrize("noise", [0.002, 0.05, 0.5])
def test_ranks_of_objectives_that_agree_are_those_of_comparing_all_with_all(width: int, noise: float) -> None:
    rng = np.random.default_rng(width)
    points = np.round(rng.random((1200, 1)) + noise * rng.random((1200, width)), 3)
    covers = (points[:, None] >= points).all(axis=2)
    heartbeats = covers & ~covers.T
    layers = ranks(points)
    assert layers.max() > (300 if noise < 0.01 else 5)
    assert (layers == np.where(heartbeats, layers[:, None], -1).max(axis=0) + 1).all()


@given(matrices())
def test_each_rank_is_dominated_by_the_rank_before(points: Floats) -> None:
    found = ranks(points)
    assert (found == 0).tolist() == front(points).tolist()
    for index, rank in enumerate(found):
        dominators = [found[other] for other in range(len(points)) if dominates(points[other], points[index])]
        assert rank == max(dominators, default=-1) + 1


@given(matrices(2, 3))
def test_the_ends_of_each_objective_are_never_crowded(points: Floats) -> None:
    distances = crowding(points)
    assert (distances >= 0).all()
    for column in points.T:
        if column.min() < column.max():
            assert np.isinf(distances[column == column.min()]).any()
            assert np.isinf(distances[column == column.max()]).any()


@given(matrices(1, 3))
def test_hypervolume_counts_the_cubes_that_are_covered(points: Floats) -> None:
    assert hypervolume(points, np.zeros(points.shape[1])) == pytest.approx(unit_cubes(points))


@pytest.mark.parametrize("decimals", [1, 2, 12])
def test_the_volume_of_a_large_front_is_that_of_its_slabs(decimals: int) -> None:
    directions = np.random.default_rng(decimals).random((400, 3))
    points = np.round(directions / np.linalg.norm(directions, axis=1, keepdims=True), decimals)
    heights = np.unique(np.append(points[:, 2], 0.0))
    areas = [hypervolume(points[points[:, 2] >= height][:, :2], [0.0] * 2) for height in heights[1:]]
    assert hypervolume(points, [0.0] * 3) == pytest.approx(float(np.diff(heights) @ areas), rel=1e-12)


@given(matrices(1, 3), st.data())
def test_hypervolume_is_monotone(points: Floats, data: st.DataObject) -> None:
    zero = np.zeros(points.shape[1])
    better = points.copy()
    better[data.draw(st.integers(0, len(points) - 1))] += data.draw(st.integers(0, 3))
    assert hypervolume(better, zero) >= hypervolume(points, zero) - 1e-9
    assert hypervolume(points, zero) >= hypervolume(points[1:], zero) - 1e-9
    assert hypervolume(points[front(points)], zero) == pytest.approx(hypervolume(points, zero))


@given(matrices(4, 5, rows=4), st.integers(0, 2**32 - 1))
def test_the_sampled_volume_lies_between_the_largest_box_and_the_box_around_all(points: Floats, seed: int) -> None:
    estimate = hypervolume_sampled(points, np.zeros(points.shape[1]), np.random.default_rng(seed), 4000)
    box = points.max(axis=0).prod() if (points > 0).all(axis=1).any() else 0.0
    assert estimate <= box + 1e-9
    exact = unit_cubes(points)
    # Six standard deviations of the estimator, at their largest.
    assert estimate == pytest.approx(exact, abs=6 * box * 0.5 / 4000**0.5 + 1e-9)
