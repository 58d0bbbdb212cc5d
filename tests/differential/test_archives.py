"""Cells of grids and tessellations, and dominated novelty, beside pyribs."""

import numpy as np
import pytest

from evolve.archives import Axis, DominatedNoveltyArchive, add
from evolve.archives.centroids import nearest
from evolve.problem import Measure
from tests.differential.cases import CASES
from tests.differential.libraries import ribs
from tests.unit.individuals import individual

pytestmark = pytest.mark.differential


def test_cells_of_a_grid() -> None:
    for number in range(CASES):
        rng = np.random.default_rng(number)
        bins, low = int(rng.integers(1, 200)), float(rng.integers(-5, 5))
        high = low + (bins if number % 2 else float(rng.random() * 10 + 0.1))
        values = np.concatenate([low + rng.random(50) * (high - low), rng.random(5) * 40 - 20])
        # Those on the borders of bins where the bins are of width 1.
        values = np.append(values, np.arange(bins) + low) if number % 2 else values
        theirs = ribs.GridArchive(solution_dim=1, dims=[bins], ranges=[(low, high)], epsilon=0.0)
        found = Axis(Measure(name="m", bins=bins, low=low, high=high)).bins(values)
        assert found.tolist() == theirs.index_of(values[:, None]).tolist()


def test_cells_of_a_tessellation() -> None:
    for number in range(CASES // 10):
        rng = np.random.default_rng(number)
        width = int(rng.integers(1, 5))
        centres, points = rng.random((50, width)), rng.random((200, width))
        theirs = ribs.CVTArchive(solution_dim=1, centroids=centres, ranges=[(0.0, 1.0)] * width)
        found, expected = nearest(points, centres), theirs.index_of(points)
        far = [np.linalg.norm(points - centres[cells], axis=1) for cells in (found, expected)]
        assert far[0] == pytest.approx(far[1], rel=1e-12)


def test_dominated_novelty_of_a_population() -> None:
    for number in range(CASES // 10):
        rng = np.random.default_rng(number)
        size, k, width = int(rng.integers(2, 25)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
        names = [f"m{place}" for place in range(width)]
        archive = DominatedNoveltyArchive(1, [Measure(name=name, low=0.0, high=1.0) for name in names], size, k)
        theirs = ribs.DNSArchive(solution_dim=1, measure_dim=width, capacity=size, k_neighbors=k)
        for age in range(3 * size):
            point, fitness = rng.random(width), float(rng.random())
            add(archive, individual(f"i{age}", fitness, measures=dict(zip(names, point.tolist(), strict=True))))
            theirs.add([[age]], [fitness], [point])
        kept = {f"i{int(age)}" for age in theirs.data("solution")[:, 0]}
        assert {member.candidate_id for member in archive.members} == kept
