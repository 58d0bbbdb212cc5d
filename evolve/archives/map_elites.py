"""MAP-Elites: what is best of each cell of the measure space."""

from collections.abc import Collection, Sequence

import numpy as np

from evolve.archives.archive import Insertion, Status
from evolve.archives.pareto import CROWDING, enter_front, truncation_of
from evolve.archives.partition import Cell, Partition
from evolve.archives.population import Population, fitness_of
from evolve.proposal import Individual

Cells = dict[Cell, list[str]]
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
        self._cells: Cells = {}

    def offer(self, individual: Individual) -> Insertion:
        """Let it compete for its cell; all are placed anew first when a running range must grow."""
        if individual.candidate_id in self.members:
            return Insertion(status=Status.DUPLICATE)
        partition, cells, lost = self._grown(individual)
        status, leaving = self._compete(individual, cells.get(partition.cell(individual.measures), ()))
        return Insertion(status=status, displaced=(*lost, *leaving))

    def apply(self, individual: Individual, insertion: Insertion) -> None:
        """Do as decided; a running range grows even where the individual is not kept."""
        if insertion.status is Status.DUPLICATE:
            return
        self.partition, self._cells, _ = self._grown(individual)
        if insertion.kept:
            self._settle(self._cells, self.partition, individual, insertion.displaced)
        self.members.exchange(individual, kept=insertion.kept, displaced=insertion.displaced)

    def remove(self, candidate_id: str) -> None:
        """Remove a member; a cell that holds nobody else becomes empty, and a running range stays."""
        cell = self.partition.cell(self.members.remove(candidate_id).measures)
        self._cells[cell].remove(candidate_id)
        if not self._cells[cell]:
            del self._cells[cell]

    @property
    def cells(self) -> dict[Cell, tuple[str, ...]]:
        """Filled cells with the ids of those that each holds."""
        return {cell: tuple(held) for cell, held in self._cells.items()}

    def _compete(self, individual: Individual, held: Sequence[str]) -> tuple[Status, list[str]]:
        """Let an individual compete for a cell that holds these: what becomes of it, and who leaves the cell."""
        if not held:
            return Status.NEW_CELL, []
        if self._front > 1:
            places = [self.members.place(candidate_id) for candidate_id in held]
            scores, ages = self.members.signed_scores[places], self.members.ages[places]
            offered = np.asarray(individual.signed_scores)
            status, leaving = enter_front(scores, ages, offered, self._front, self._truncation)
            return status, [held[place] for place in leaving]
        if fitness_of(self.members.get(held[0])) > fitness_of(individual):
            return Status.DOMINATED, []
        return Status.IMPROVED, [held[0]]

    def _settle(self, cells: Cells, partition: Partition, individual: Individual, leaving: Collection[str]) -> None:
        held = cells.setdefault(partition.cell(individual.measures), [])
        held[:] = [candidate_id for candidate_id in held if candidate_id not in leaving]
        held.append(individual.candidate_id)

    def _grown(self, individual: Individual) -> tuple[Partition, Cells, list[str]]:
        """The partition that covers an individual, the cells of the members there, and who loses its cell by that.

        Where the ranges grow, the least fit is placed first, so that the fitter takes a cell; of equals the earlier.
        """
        partition = self.partition.covering(individual.measures)
        if partition is self.partition:
            return partition, self._cells, []
        cells: Cells = {}
        lost: list[str] = []
        for member in reversed(self.members.best(len(self.members))):
            status, leaving = self._compete(member, cells.get(partition.cell(member.measures), ()))
            if status in KEPT:
                self._settle(cells, partition, member, leaving)
            lost += leaving if status in KEPT else [member.candidate_id]
        return partition, cells, lost
