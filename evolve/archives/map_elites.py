"""MAP-Elites: what is best of each cell of the measure space."""

from collections.abc import Sequence

import numpy as np

from evolve.archives.archive import Insertion, Status
from evolve.archives.pareto import CROWDING, enter_front, truncation_of
from evolve.archives.partition import Cell, Partition
from evolve.archives.population import Population, fitness_of
from evolve.proposal import Individual

KEPT = {Status.NEW_CELL, Status.IMPROVED, Status.ADDED}


class CellArchive:
    """MAP-Elites (Mouret and Clune 2015): the fittest individual of each cell; or a small Pareto front in each.

    With a front it is MOME (Pierrot, Richard, Beguir and Cully 2022): a cell holds individuals none of which dominates
    another, and beyond its size one leaves: by default the most crowded one, as Janmohamed, Pierrot and Cully (2023)
    have it.

    Attributes:
        partition: of the measure space.
    """

    def __init__(self, width: int, partition: Partition, front: int = 1, truncation: str = CROWDING) -> None:
        self.members = Population(width)
        self.partition = partition
        self._front = front
        self._truncation = truncation_of(truncation, width)
        self._cells: dict[Cell, list[str]] = {}

    def add(self, individual: Individual) -> Insertion:
        """Offer an individual to its cell; all are placed anew first when a running range must grow."""
        if individual.candidate_id in self.members:
            return Insertion(status=Status.DUPLICATE)
        grew = [axis.cover(individual.measures[axis.name]) for axis in self.partition.axes]
        displaced = self._place_anew() if any(grew) else []
        status, leaving = self._enter(individual)
        displaced += [self.members.remove(candidate_id).candidate_id for candidate_id in leaving]
        if status in KEPT:
            self.members.add(individual)
        return Insertion(status=status, displaced=tuple(displaced))

    @property
    def cells(self) -> dict[Cell, tuple[str, ...]]:
        """Filled cells with the ids of those that each holds."""
        return {cell: tuple(held) for cell, held in self._cells.items()}

    def _enter(self, individual: Individual) -> tuple[Status, list[str]]:
        """Let an individual compete for its cell: what becomes of it, and who leaves the cell."""
        held = self._cells.setdefault(self.partition.cell(individual.measures), [])
        status, places = self._compete(individual, held) if held else (Status.NEW_CELL, [])
        leaving = [held[place] for place in places]
        if status in KEPT:
            held[:] = [candidate_id for candidate_id in held if candidate_id not in leaving]
            held.append(individual.candidate_id)
        return status, leaving

    def _compete(self, individual: Individual, held: Sequence[str]) -> tuple[Status, list[int]]:
        if self._front > 1:
            places = [self.members.place(candidate_id) for candidate_id in held]
            scores, ages = self.members.signed_scores[places], self.members.ages[places]
            return enter_front(scores, ages, np.asarray(individual.signed_scores), self._front, self._truncation)
        if fitness_of(self.members.get(held[0])) > fitness_of(individual):
            return Status.DOMINATED, []
        return Status.IMPROVED, [0]

    def _place_anew(self) -> list[str]:
        """Place every member anew, the least fit first, so that the fitter takes a cell; of equals the earlier."""
        self._cells = {}
        lost: list[str] = []
        for individual in reversed(self.members.best(len(self.members))):
            status, leaving = self._enter(individual)
            lost += leaving if status in KEPT else [individual.candidate_id]
        for candidate_id in lost:
            self.members.remove(candidate_id)
        return lost
