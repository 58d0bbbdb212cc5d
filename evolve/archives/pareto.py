"""Pareto archives: individuals none of which dominates another."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from evolve.archives.archive import Insertion, Status
from evolve.archives.population import Population
from evolve.multiobjective.contribution import EXACT, contributions
from evolve.multiobjective.pareto import crowding
from evolve.multiobjective.scalarization import Floats, normalise
from evolve.proposal import Individual

# The row that leaves a front of (n, k), whose last row is the one that is offered; with the ages of the others.
Ages = NDArray[np.int64]
Truncation = Callable[[Floats, Ages], int]
CROWDING, HYPERVOLUME = "crowding", "hypervolume"
MARGIN = 0.1  # of the range of an objective, from the worst row to the reference point


class ParetoArchive:
    """Individuals none of which dominates another; beyond its size one leaves, by default the most crowded one."""

    def __init__(self, width: int, size: int, truncation: str = CROWDING) -> None:
        self.members = Population(width)
        self._size = size
        self._truncation = truncation_of(truncation, width)

    def offer(self, individual: Individual) -> Insertion:
        """Keep it unless a member is at least as good in every objective, or it is the one that leaves a full front."""
        if individual.candidate_id in self.members:
            return Insertion(status=Status.DUPLICATE)
        held, offered = self.members.signed_scores, np.asarray(individual.signed_scores)
        status, places = enter_front(held, self.members.ages, offered, self._size, self._truncation)
        return Insertion(status=status, displaced=tuple(self.members[place].candidate_id for place in places))

    def apply(self, individual: Individual, insertion: Insertion) -> None:
        """Do as decided."""
        self.members.exchange(individual, kept=insertion.kept, displaced=insertion.displaced)

    def remove(self, candidate_id: str) -> None:
        """Remove a member."""
        self.members.remove(candidate_id)


def enter_front(
    held: Floats, ages: Ages, offered: Floats, size: int, truncation: Truncation
) -> tuple[Status, list[int]]:
    """Offer a row to a front of at most so many, (n, k): what becomes of it, and which rows leave.

    Args:
        ages: (n,), when each row came: the lower, the older.
    """
    if bool(np.any(np.all(held >= offered, axis=1))):
        return Status.DOMINATED, []
    leaving = [int(row) for row in np.flatnonzero(np.all(held <= offered, axis=1))]
    if not leaving and len(held) >= size:
        truncated = truncation(np.vstack([held, offered]), ages)
        if truncated == len(held):
            return Status.FULL, []
        leaving = [truncated]
    return Status.IMPROVED if leaving else Status.ADDED, leaving


def truncation_of(name: str, width: int) -> Truncation:
    """The rule of a name; crowding where there are more objectives than contributions are computed for.

    A library that may be there or not computes those of more, but every replay must keep the same members.
    """
    return _TRUNCATIONS[name if width <= EXACT else CROWDING]


def _crowded_member(rows: Floats, ages: Ages) -> int:
    """By crowding distance (NSGA-II, Deb et al. 2002); of equals the first row."""
    del ages
    return int(np.argmin(crowding(rows)))


def _min_contributor(rows: Floats, ages: Ages) -> int:
    """By the volume that the front would lose with each row (SMS-EMOA, Beume, Naujoks and Emmerich 2007).

    As there, the reference point follows the worst of the rows, but by a share of each objective's range, since scores
    have no scale of their own: the ends of an objective have finite contributions. Of equals the
    row that is offered leaves, else the newest.
    """
    shares = normalise(rows, rows.min(axis=0), rows.max(axis=0))
    found = contributions(shares, np.full(rows.shape[1], -MARGIN))
    minimum = np.flatnonzero(found == found.min())
    offered = len(rows) - 1
    return offered if minimum[-1] == offered else int(minimum[np.argmax(ages[minimum])])


_TRUNCATIONS: Mapping[str, Truncation] = {CROWDING: _crowded_member, HYPERVOLUME: _min_contributor}
