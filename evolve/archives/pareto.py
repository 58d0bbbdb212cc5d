"""Pareto archives: individuals none of which dominates another."""

import numpy as np

from evolve.archives.archive import Insertion, Status
from evolve.pareto import crowding
from evolve.population import Population
from evolve.proposal import Individual
from evolve.scalarization import Floats


class ParetoArchive:
    """Individuals none of which dominates another; beyond its size the most crowded one leaves (NSGA-II, Deb 2002)."""

    def __init__(self, width: int, size: int) -> None:
        self.members = Population(width)
        self._size = size

    def add(self, individual: Individual) -> Insertion:
        """Keep it unless a member is at least as good in every objective, or all others are less crowded."""
        if individual.candidate_id in self.members:
            return Insertion(status=Status.DUPLICATE)
        status, places = enter_front(self.members.signed_scores, np.asarray(individual.signed_scores), self._size)
        displaced = tuple(self.members[place].candidate_id for place in places)
        for candidate_id in displaced:
            self.members.remove(candidate_id)
        if status in {Status.ADDED, Status.IMPROVED}:
            self.members.add(individual)
        return Insertion(status=status, displaced=displaced)


def enter_front(held: Floats, offered: Floats, size: int) -> tuple[Status, list[int]]:
    """Offer a row to a front of at most so many, (n, k): what becomes of it, and which rows leave."""
    if bool(np.any(np.all(held >= offered, axis=1))):
        return Status.DOMINATED, []
    leaving = [int(row) for row in np.flatnonzero(np.all(held <= offered, axis=1))]
    if not leaving and len(held) >= size:
        crowded = int(np.argmin(crowding(np.vstack([held, offered]))))
        if crowded == len(held):
            return Status.FULL, []
        leaving = [crowded]
    return Status.IMPROVED if leaving else Status.ADDED, leaving
