"""The sampled hypervolume of a run after each of its evaluations, caught up with as it grows."""

import numpy as np
from numpy.typing import NDArray

from evolve.multiobjective.pareto import dominated

SAMPLES = 4096
SAMPLES_SEED = 0
ROWS = 64  # evaluations that are compared with all samples at once
UNCOVERED = -1

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


class VolumeHistory:
    """Which evaluation first covered each of some samples of the box, which grows with the best rewards.

    One set of samples serves all moments, so that the curve never falls. A box that grew has other samples, and the
    run is looked at anew.
    """

    def __init__(self) -> None:
        self._top, self._reference = np.zeros(0), np.zeros(0)
        self._samples = np.zeros((0, 0))
        self._first = np.zeros(0, dtype=np.intp)
        self._read = 0

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return self._samples.nbytes + self._first.nbytes

    def volumes(self, rewards: Floats, reference: Floats, taken: Places) -> list[float]:
        """The hypervolume above a reference after so many evaluations each.

        Args:
            rewards: of all evaluations so far, (n, k); larger is better, NaN is not valid.
            reference: of k rewards.
            taken: numbers of evaluations.
        """
        valid: NDArray[np.bool_] = np.asarray(np.isfinite(rewards).all(axis=1))
        top = np.concatenate([reference[None], rewards[valid]]).max(axis=0)
        if not (np.array_equal(top, self._top) and np.array_equal(reference, self._reference)):
            self._begin(top, reference)
        new = self._read + np.flatnonzero(valid[self._read :])
        # What nothing ever covers is most of it, and would be compared with every evaluation.
        left = np.flatnonzero(self._first == UNCOVERED)
        left = left[dominated(self._samples[left], rewards[new])] if len(new) and len(left) else left[:0]
        for begin in range(0, len(new) if len(left) else 0, ROWS):
            left = self._cover(rewards, new[begin : begin + ROWS], left)
        self._read = len(rewards)
        covered = np.sort(self._first[self._first != UNCOVERED])
        box = (top - reference).prod()
        return [float(box * count / SAMPLES) for count in np.searchsorted(covered, taken)]

    def _begin(self, top: Floats, reference: Floats) -> None:
        self._top, self._reference, self._read = top, reference, 0
        drawn = np.random.default_rng(SAMPLES_SEED).random((SAMPLES, len(reference)))
        self._samples = reference + drawn * (top - reference)
        self._first = np.full(SAMPLES, UNCOVERED, dtype=np.intp)

    def _cover(self, rewards: Floats, rows: Places, left: Places) -> Places:
        """Note what some evaluations cover first of the samples left; those that are left then."""
        rows = rows[_unbeaten(rewards[rows])]
        covers = _at_most(self._samples[left], rewards[rows])
        hit = covers.any(axis=1)
        self._first[left[hit]] = rows[covers[hit].argmax(axis=1)]
        return left[~hit]


def _unbeaten(points: Floats) -> NDArray[np.bool_]:
    """Which points no earlier one is at least as good as everywhere: others cover nothing first."""
    beaten: NDArray[np.bool_] = np.asarray(np.tril(_at_most(points, points), -1).any(axis=1))
    return ~beaten


def _at_most(points: Floats, others: Floats) -> NDArray[np.bool_]:
    """Which points, a row each, are at most as good everywhere as which others, a column each."""
    found = np.ones((len(points), len(others)), dtype=np.bool_)
    for mine, theirs in zip(points.T, others.T, strict=True):
        found &= mine[:, None] <= theirs
    return found
