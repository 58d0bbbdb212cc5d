"""Contributions agree with the volume that is left when a point leaves."""

import sys
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.multiobjective import exact_hypervolume
from evolve.multiobjective.contribution import contributions, draw_contributor
from evolve.multiobjective.pareto import front, hypervolume
from evolve.multiobjective.scalarization import Floats


def matrices(minimum: int, maximum: int, rows: int = 14) -> st.SearchStrategy[Floats]:
    """Rewards on a small grid, so that ties, equal rows and dominated ones are common."""
    return st.integers(minimum, maximum).flatmap(
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
    assert draw_contributor(np.empty((0, 5)), np.random.default_rng(1)) is None
    assert draw_contributor(np.full((2, 5), 1.0), np.random.default_rng(1)) is None


def test_more_than_three_objectives_are_not_computed() -> None:
    with pytest.raises(ValueError, match="4 objectives are not computed"):
        contributions([[1.0] * 4], [0.0] * 4)


def distinct_front(points: Floats) -> Floats:
    rows = np.unique(points[(points > 0).all(axis=1)], axis=0)
    return rows[front(rows)]


@given(matrices(2, 3, rows=8), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_rows_are_drawn_in_proportion_to_their_contributions(points: Floats, seed: int) -> None:
    rows, rng, draws = distinct_front(points), np.random.default_rng(seed), 300
    exact = contributions(rows, np.zeros(points.shape[1]))
    drawn = [draw_contributor(rows, rng) for _ in range(draws if exact.sum() > 0 else 0)]
    found = np.bincount([row for row in drawn if row is not None], minlength=len(rows))
    expected = exact / exact.sum() * draws if exact.sum() > 0 else exact
    assert None not in drawn
    assert (np.abs(found - expected) <= 6 * np.sqrt(expected) + 6).all()


@pytest.mark.parametrize("k", [5, 12])
def test_arms_of_a_star_are_drawn_alike(k: int) -> None:
    """With 12 objectives the boxes of the arms are smaller together than the box around them."""
    rows, rng = np.where(np.eye(k) > 0, 1.0, 0.5), np.random.default_rng(2)
    counts = np.bincount([row for _ in range(2000) if (row := draw_contributor(rows, rng)) is not None], minlength=k)
    assert counts.sum() == 2000
    assert (np.abs(counts - 2000 / k) <= 5 * np.sqrt(2000 / k)).all()


def test_every_row_of_a_large_front_is_drawn_in_the_end() -> None:
    """Of 200 members a fixed set of 4,096 points once left more than half without any."""
    directions, rng = np.random.default_rng(0).random((200, 4)), np.random.default_rng(1)
    rows = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    exact = exact_hypervolume.contributions(rows)
    assert exact is not None
    counts = np.bincount([row for _ in range(6000) if (row := draw_contributor(rows, rng)) is not None], minlength=200)
    expected = exact / exact.sum() * counts.sum()
    assert (counts[expected > 3] > 0).mean() > 0.95
    assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 5).all()


@given(matrices(4, 6, rows=6))
@settings(deadline=None)
def test_volumes_of_many_objectives_are_those_of_inclusion_and_exclusion(points: Floats) -> None:
    rows = distinct_front(points)
    whole, lost = exact_hypervolume.volume(rows), exact_hypervolume.contributions(rows)
    assert lost is not None
    assert whole == pytest.approx(included(rows))
    assert lost == pytest.approx([included(rows) - included(np.delete(rows, place, 0)) for place in range(len(rows))])


def test_without_moocore_and_beyond_its_rows_nothing_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(1).random((1 + max(exact_hypervolume.CONTRIBUTION_ROWS.values()), 4))
    assert exact_hypervolume.contributions(rows) is None
    assert exact_hypervolume.volume(np.ones((1, 7))) is None
    assert exact_hypervolume.volume(np.ones((1, 4))) == 1.0
    monkeypatch.setitem(sys.modules, "moocore", None)
    assert exact_hypervolume.volume(np.ones((1, 4))) is None
    assert exact_hypervolume.contributions(np.ones((1, 4))) is None


def included(rows: Floats) -> float:
    """The volume of the union of boxes, by inclusion and exclusion."""
    subsets = chain.from_iterable(combinations(rows, size) for size in range(1, len(rows) + 1))
    return float(sum((-1.0) ** (len(subset) + 1) * np.min(subset, axis=0).prod() for subset in subsets))
