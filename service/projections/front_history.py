"""Which evaluations were ever on the Pareto front of a run: since when each, and until when."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.multiobjective.pareto import dominated

BLOCK = 1024
ALIVE = -1

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontSpans:
    """The members of the front at every time.

    Attributes:
        places: of the evaluations that no earlier one dominated, rising.
        until: the place of the first later one that dominated each; -1: none has.
    """

    places: Places
    until: Places


class FrontHistory:
    """The front of a run after each of its evaluations, caught up with as it grows."""

    def __init__(self) -> None:
        self._places, self._until = np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
        self._read = 0

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return self._places.nbytes + self._until.nbytes

    def state(self) -> list[Any]:
        """All that was taken in, as `restore` takes it."""
        return [self._read, array("q", self._places.tobytes()), array("q", self._until.tobytes())]

    def restore(self, state: Sequence[Any]) -> None:
        """Take up what was saved."""
        self._read, places, until = state
        self._places, self._until = np.array(places, dtype=np.intp), np.array(until, dtype=np.intp)

    def catch_up(self, scores: Floats) -> FrontSpans:
        """Take in the scores that are new, (n, k), of all evaluations so far; larger is better, NaN is not valid."""
        for begin in range(self._read, len(scores), BLOCK):
            block = np.arange(begin, min(begin + BLOCK, len(scores)))
            self._take(scores, block[np.isfinite(scores[block]).all(axis=1)])
        self._read = len(scores)
        return FrontSpans(places=self._places, until=self._until)

    def _take(self, scores: Floats, block: Places) -> None:
        at = np.flatnonzero(self._until == ALIVE)
        alive = self._places[at]
        # An older member that dominates what dominates a row dominates the row: these alone can end anything.
        new = block[~dominated(scores[block], scores[alive])]
        ended = np.flatnonzero(dominated(scores[alive], scores[new]))
        self._until[at[ended]] = _first_better(scores, alive[ended], new)
        first = _first_better(scores, new, new)
        kept = (first == ALIVE) | (first > new)
        self._places = np.concatenate([self._places, new[kept]])
        self._until = np.concatenate([self._until, first[kept]])


def _first_better(scores: Floats, rows: Places, others: Places) -> Places:
    """For each row the first of some others that dominates it, in their order; -1: none does."""
    found, rivals = np.full(len(rows), ALIVE, dtype=np.intp), scores[others].T
    for place, row in enumerate(scores[rows]):
        # Column by column: numpy is slow over an axis of a few numbers.
        equal_or_better, better = np.ones(len(others), dtype=bool), np.zeros(len(others), dtype=bool)
        for mine, theirs in zip(row, rivals, strict=True):
            equal_or_better &= theirs >= mine
            better |= theirs > mine
        better &= equal_or_better
        if better.any():
            found[place] = others[int(better.argmax())]
    return found
