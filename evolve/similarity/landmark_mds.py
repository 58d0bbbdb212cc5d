"""Positions of programs in a plane, so that those with similar tokens lie near each other."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from evolve.program import Program
from evolve.similarity.novelty import tokens_of
from evolve.similarity.similarity import Runs, codes_of, join_runs

Floats = NDArray[np.float64]

STEPS = 10
_MAX_LINES = 200_000
_AT_ONCE = 1024
_NEAREST = 1e-9


class LineRuns:
    """Runs of three tokens of many programs, as `similarity.runs`; lines that several programs share are read once."""

    def __init__(self) -> None:
        self._codes: dict[str, Runs] = {}

    def of(self, program: Program) -> Runs:
        """The runs of a program, sorted, none twice."""
        found = [np.zeros(0, dtype=np.uint64)]
        for _, text in program.files:
            lines = text.split("\n")  # no token reaches beyond its line
            found.append(join_runs(np.concatenate([self._line(line) for line in lines])))
        return np.unique(np.concatenate(found))

    def _line(self, line: str) -> Runs:
        known = self._codes.get(line)
        if known is None:
            if len(self._codes) >= _MAX_LINES:
                self._codes.clear()
            known = self._codes[line] = codes_of(tokens_of(line))
        return known


class Landmarks:
    """Programs that others are compared with: the Jaccard distance of their runs, exactly.

    Args:
        runs: of each, sorted, none twice.
    """

    def __init__(self, runs: Sequence[Runs]) -> None:
        self._vocabulary = np.unique(np.concatenate([np.zeros(0, dtype=np.uint64), *runs]))
        self._members = np.zeros((len(self._vocabulary), len(runs)), dtype=bool)
        self._sizes = np.array([len(one) for one in runs])
        for place, one in enumerate(runs):
            self._members[np.searchsorted(self._vocabulary, one), place] = True

    @property
    def nbytes(self) -> int:
        """Bytes that they take."""
        return self._vocabulary.nbytes + self._members.nbytes

    def distances(self, runs: Iterable[Runs]) -> Floats:
        """From some programs to all landmarks, (n, landmarks)."""
        return np.array([self._row(one) for one in runs]).reshape(-1, len(self._sizes))

    def _row(self, runs: Runs) -> Floats:
        at = np.searchsorted(self._vocabulary, runs)
        there = at < len(self._vocabulary)
        at, runs_there = at[there], runs[there]
        common: Floats = self._members[at[self._vocabulary[at] == runs_there]].sum(axis=0)
        union = len(runs) + self._sizes - common
        shares: Floats = np.divide(common, union, out=np.ones(len(union)), where=union > 0)
        return 1.0 - shares


class LandmarkMap:
    """A plane in which distances are about those of the programs.

    The landmarks lie where classical scaling has them, which SMACOF then improves (de Leeuw and Mair, 2009). Every
    other program is placed by its distances to the landmarks alone: where landmark scaling has it (de Silva and
    Tenenbaum, "Sparse multidimensional scaling using landmark points", 2004), which the same majorisation improves
    with the landmarks fixed. The cost is linear in the number of programs.

    Args:
        distances: of the landmarks from one another, (n, n). The first one lies to the left and below.
    """

    def __init__(self, distances: Floats) -> None:
        count = len(distances)
        squares = distances**2
        centred = squares - squares.mean(axis=0)
        values, vectors = np.linalg.eigh(-(centred - centred.mean(axis=1, keepdims=True)) / 2)
        order = np.argsort(values)[::-1][:2]
        values, vectors = np.maximum(values[order], 0.0), vectors[:, order]
        stretch = np.sqrt(values)
        self._means = squares.mean(axis=0)
        self._inverse = vectors * np.divide(1.0, stretch, out=np.zeros(len(stretch)), where=stretch > _NEAREST)
        positions = np.zeros((count, 2))
        positions[:, : len(order)] = vectors * stretch
        for _ in range(STEPS):
            positions = _moved(positions, positions, distances)
        turn = _principal_axes(positions)
        self._inverse = self._inverse @ turn[: len(order)]
        self.positions = positions @ turn

    def place(self, distances: Floats) -> Floats:
        """Positions of programs by their distances to the landmarks, (n, 2)."""
        found = [self._place(distances[at : at + _AT_ONCE]) for at in range(0, len(distances), _AT_ONCE)]
        return np.concatenate([np.zeros((0, 2)), *found])

    def _place(self, distances: Floats) -> Floats:
        positions: Floats = (self._means - distances**2) @ self._inverse / 2
        for _ in range(STEPS):
            positions = _moved(positions, self.positions, distances)
        return positions


def _principal_axes(positions: Floats) -> Floats:
    """What turns a plane so that positions differ most across, and the first of them lies to the left and below."""
    centred = positions - positions.mean(axis=0)
    turn = np.linalg.svd(centred)[2].T
    return np.asarray(turn * np.where(centred[0] @ turn > 0, -1.0, 1.0))


def _moved(positions: Floats, landmarks: Floats, distances: Floats) -> Floats:
    """One step of majorisation (the Guttman transform): where the landmarks, each at its distance, would have them."""
    across = positions[:, :1] - landmarks[:, 0]
    up = positions[:, 1:] - landmarks[:, 1]
    wanted = distances / np.maximum(np.hypot(across, up), _NEAREST)
    moves = np.stack([(across * wanted).mean(axis=1), (up * wanted).mean(axis=1)], axis=1)
    return np.asarray(landmarks.mean(axis=0) + moves)


def rank_correlation(one: Floats, other: Floats) -> float | None:
    """Spearman's, of pairs of numbers: 1 for the same order, 0 for none. None: all numbers of one are equal."""
    ranks = [_ranks(numbers) - (len(numbers) - 1) / 2 for numbers in (one, other)]
    norm = float(np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()))
    return float(ranks[0] @ ranks[1]) / norm if norm else None


def _ranks(numbers: Floats) -> Floats:
    """From 0; equal numbers have the mean of their ranks."""
    _, which, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    last = np.cumsum(counts) - 1
    return np.asarray((last - (counts - 1) / 2)[which])
