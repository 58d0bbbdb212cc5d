"""Fronts, ranks, crowding, volumes and contributions beside moocore, pymoo and DEAP."""

from itertools import chain, combinations
from types import SimpleNamespace

import numpy as np
import pytest

from evolve.archives.pareto import truncation_of
from evolve.multiobjective.contribution import contributions
from evolve.multiobjective.pareto import crowding, dominated, front, hypervolume, ranks
from evolve.multiobjective.scalarization import Floats
from evolve.statistics import answer_sets
from tests.differential.cases import matrices
from tests.differential.libraries import crowding_metrics, emo, moocore, non_dominated_sorting

pytestmark = pytest.mark.differential

NEAR = 1e-9


@pytest.mark.parametrize("k", [1, 2, 3, 4, 6])
def test_fronts_and_ranks(k: int) -> None:
    for points in matrices(k, 80):
        found = ranks(points)
        assert front(points).tolist() == moocore.is_nondominated(points, maximise=True, keep_weakly=True).tolist()
        assert found.tolist() == moocore.pareto_rank(points, maximise=True).tolist()
        layers = non_dominated_sorting.NonDominatedSorting().do(-points)
        for rank, layer in enumerate(layers):
            assert set(np.flatnonzero(found == rank).tolist()) == set(map(int, layer))
        half = len(points) // 2
        both = moocore.is_nondominated(points, maximise=True, keep_weakly=True)
        alone = moocore.is_nondominated(points[:half], maximise=True, keep_weakly=True) if half else np.zeros(0, bool)
        # Whoever is on the front of one half, and not on that of both, is dominated by the other half.
        assert (dominated(points[:half], points[half:])[alone] == ~both[:half][alone]).all()


@pytest.mark.parametrize("k", [2, 3, 5])
def test_crowding(k: int) -> None:
    for points in matrices(k, 40):
        if any(len(np.unique(column)) < len(column) for column in points.T) or len(points) < 3:
            continue  # how ties are ordered is each library's own
        found = crowding(points) / k
        deap = [SimpleNamespace(fitness=SimpleNamespace(values=tuple(row), crowding_dist=0.0)) for row in points]
        emo.assignCrowdingDist(deap)
        assert found == pytest.approx([one.fitness.crowding_dist for one in deap], rel=NEAR)
        assert found == pytest.approx(crowding_metrics.calc_crowding_distance(points), rel=NEAR)


def volumes(points: Floats) -> tuple[Floats, float]:
    """What the rows gain on a reference point, in shares of the range, as no library is made for products of 1e80."""
    low, high = points.min(axis=0), points.max(axis=0)
    gains = (points - low) / np.where(high > low, high - low, 1.0) + 0.1
    return gains, float(moocore.hypervolume(-gains, ref=np.zeros(points.shape[1])))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_volumes_and_contributions(k: int) -> None:
    for points in matrices(k, 60):
        gains, expected = volumes(points)
        zero = np.zeros(k)
        assert hypervolume(gains, zero) == pytest.approx(expected, rel=NEAR)
        if k > 1:
            distinct = np.unique(gains, axis=0)
            lost = moocore.hv_contributions(-distinct, ref=zero)
            assert contributions(distinct, zero) == pytest.approx(lost, rel=NEAR, abs=NEAR * expected)


@pytest.mark.parametrize("k", [2, 3])
def test_who_leaves_a_front_by_volume_contributes_least(k: int) -> None:
    truncate, compared = truncation_of("hypervolume", k), 0
    for points in matrices(k, 30):
        rows = np.unique(points[front(points)], axis=0)
        if len(rows) < 2:
            continue
        gains, whole = volumes(rows)
        lost = moocore.hv_contributions(-gains, ref=np.zeros(k))
        chosen = truncate(rows, np.arange(len(rows) - 1))
        assert lost[chosen] == pytest.approx(lost.min(), rel=NEAR, abs=NEAR * whole)
        compared += 1
    assert compared > 50


@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_volumes_by_inclusion_and_exclusion(k: int) -> None:
    for points in matrices(k, 6):
        gains, found = volumes(points)
        subsets = chain.from_iterable(combinations(gains, size) for size in range(1, len(gains) + 1))
        expected = sum((-1.0) ** (len(subset) + 1) * np.min(subset, axis=0).prod() for subset in subsets)
        assert found == pytest.approx(expected, rel=1e-8)
        assert answer_sets.exact_volume(gains, np.zeros(k)) == pytest.approx(expected, rel=1e-8)


def test_a_large_front_has_the_volume_that_moocore_finds() -> None:
    directions = np.random.default_rng(7).random((10_000, 3))
    points = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    assert hypervolume(points, np.zeros(3)) == pytest.approx(moocore.hypervolume(-points, ref=np.zeros(3)), rel=1e-12)
    shared = np.random.default_rng(8).random((3_000, 1)) + 0.02 * points[:3_000]
    assert ranks(shared).tolist() == moocore.pareto_rank(shared, maximise=True).tolist()
