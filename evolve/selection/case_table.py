"""Cases: the per-case results of a population as a table that follows its changes."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from evolve.archives.population import Population

Floats = NDArray[np.float64]


class CaseTable:
    """One row a member, one column a case that at least half of the members have, by name.

    That bounds the table by the results that the members bring, whatever they call their cases. Which columns there are
    depends on the members alone, not on how they came.
    """

    def __init__(self, members: Population) -> None:
        self._members = members
        self._version = 0
        self._held: list[Mapping[str, float]] = []
        self._counts: Counter[str] = Counter()
        self._names: tuple[str, ...] = ()
        self._values: Floats = np.empty((0, 0))

    def read(self) -> tuple[tuple[str, ...], Floats]:
        """Names of the cases, and the results, minus infinity where a member lacks one."""
        if self._version != self._members.version:
            self._follow()
        return self._names, self._values[: len(self._held)]

    def _follow(self) -> None:
        changed = [int(place) for place in self._members.changed_since(self._version)]
        self._version = self._members.version
        count = len(self._members)
        for gone in self._held[count:]:
            self._drop(gone)
        del self._held[count:]
        for place in changed:
            self._hold(place)
        names = tuple(sorted(name for name, times in self._counts.items() if 2 * times >= count))
        if names != self._names or count > len(self._values):
            self._names = names
            self._values = np.empty((max(16, 2 * count), len(names)))
            changed = list(range(count))
        for place in changed:
            held = self._held[place]
            self._values[place] = [held.get(name, -np.inf) for name in names]

    def _hold(self, place: int) -> None:
        cases = self._members[place].evaluation.cases
        if place < len(self._held):
            self._drop(self._held[place])
            self._held[place] = cases
        else:
            self._held.append(cases)
        self._counts.update(cases.keys())

    def _drop(self, cases: Mapping[str, float]) -> None:
        for name in cases:
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name]
