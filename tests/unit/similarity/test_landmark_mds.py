"""Positions in a plane: exact where a plane has room for the distances, and in order where it has not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.program import Program
from evolve.similarity.landmark_mds import LandmarkMap, Landmarks, LineRuns, rank_correlation
from evolve.similarity.novelty import distance as jaccard_distance
from evolve.similarity.similarity import runs


def between(points: np.ndarray) -> np.ndarray:
    """The Euclidean distances of points from one another."""
    across, along = np.moveaxis(points[:, None] - points[None], 2, 0)
    lengths: np.ndarray = np.hypot(across, along)
    return lengths


TEXTS = st.lists(st.text(alphabet="ab +\n\t(\u2028\x1c\r", max_size=40), min_size=1, max_size=4)


@given(texts=TEXTS)
def test_runs_read_line_by_line_are_those_of_the_whole_text(texts: list[str]) -> None:
    words = LineRuns()
    for text in texts:
        program = Program.of({"a.py": text, "b.py": text[::-1]})
        np.testing.assert_array_equal(words.of(program), runs(program, "tokens", "python"))


def test_distances_to_landmarks_are_jaccard_distances() -> None:
    texts = ["x = 1\n", "x = 1\ny = 2\n", "def f():\n    return 3\n", "", "z"]
    programs = [Program.of({"main.py": text}) for text in texts]
    found = [LineRuns().of(program) for program in programs]
    landmarks = Landmarks(found[:3])
    expected = [[jaccard_distance(program, landmark) for landmark in programs[:3]] for program in programs]
    np.testing.assert_allclose(landmarks.distances(found), expected, atol=1e-12)


def test_points_of_a_plane_are_found_again() -> None:
    points = np.random.default_rng(3).normal(size=(60, 2))
    distances = between(points)
    found = LandmarkMap(distances[:12, :12])
    placed = found.place(distances[:, :12])
    np.testing.assert_allclose(between(placed), distances, atol=1e-6)
    np.testing.assert_allclose(placed[:12], found.positions, atol=1e-6)
    assert (found.positions[0] - found.positions.mean(axis=0) <= 1e-9).all()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_landmarks_place_all_at_finite_positions(count: int) -> None:
    distances = 1.0 - np.eye(count)
    placed = LandmarkMap(distances).place(np.full((4, count), 0.5))
    assert placed.shape == (4, 2)
    assert np.isfinite(placed).all()


def test_equal_programs_lie_in_one_place() -> None:
    found = LandmarkMap(np.zeros((5, 5)))
    np.testing.assert_allclose(between(found.place(np.zeros((3, 5)))), 0.0, atol=1e-6)


@given(numbers=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=30))
def test_rank_correlation_is_that_of_the_ranks(numbers: list[tuple[int, int]]) -> None:
    columns = [np.array(column, dtype=float) for column in zip(*numbers, strict=True)]
    found = rank_correlation(*columns)
    ranks = [[sum(b < a for b in column) + (sum(b == a for b in column) - 1) / 2 for a in column] for column in columns]
    if any(len(set(one)) == 1 for one in ranks):
        assert found is None
    else:
        assert found == pytest.approx(np.corrcoef(np.array(ranks))[0, 1])


def test_rank_correlation_asks_for_the_order_alone() -> None:
    values = np.arange(10.0)
    assert rank_correlation(values, np.exp(values)) == pytest.approx(1.0)
    assert rank_correlation(values, -(values**3)) == pytest.approx(-1.0)
