"""Numbers beside the members of a population, in contiguous rows at the same places."""

import numpy as np

from evolve.multiobjective.scalarization import Floats


class Rows:
    """A row for each member of a population; as there, the last takes the place of one that is removed."""

    def __init__(self, width: int) -> None:
        self._array = np.zeros((16, width))
        self._count = 0

    @property
    def values(self) -> Floats:
        """The rows, (n, width), to read and to write."""
        return self._array[: self._count]

    def append(self, row: Floats) -> None:
        """Add a row behind the others."""
        if self._count == len(self._array):
            self._array = np.concatenate([self._array, np.zeros_like(self._array)])
        self._array[self._count] = row
        self._count += 1

    def refill(self, rows: Floats) -> None:
        """Hold these rows and no others."""
        self._array, self._count = np.zeros((max(16, len(rows)), self._array.shape[1])), len(rows)
        self._array[: len(rows)] = rows

    def remove(self, place: int) -> None:
        """Remove a row; the last one takes its place."""
        self._count -= 1
        self._array[place] = self._array[self._count]
