"""Archives: what an island keeps. `add` says what happened."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evolve.configuration import ArchiveConfig
from evolve.pareto import crowding
from evolve.population import Population, fitness_of
from evolve.problem import Measure, Problem
from evolve.proposal import Individual
from evolve.scalarization import Floats


class Status(StrEnum):
    """What `add` did: the first three keep the individual."""

    NEW_CELL = "new_cell"
    IMPROVED = "improved"
    ADDED = "added"
    DOMINATED = "dominated"
    FULL = "full"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Insertion:
    """The outcome of `add`.

    Attributes:
        displaced: ids of the members that left for it.
    """

    status: Status
    displaced: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether the individual is a member now."""
        return self.status in {Status.NEW_CELL, Status.IMPROVED, Status.ADDED}


class Archive(Protocol):
    """A bounded store of evaluated individuals."""

    @property
    def members(self) -> Population:
        """What it holds now; read only."""

    def add(self, individual: Individual) -> Insertion:
        """Offer an individual; the archive decides."""


class TopArchive:
    """The k fittest. Among equals the newest stays, so that a search drifts over plateaus."""

    def __init__(self, width: int, size: int) -> None:
        self.members = Population(width)
        self._size = size

    def add(self, individual: Individual) -> Insertion:
        """Keep it while there is room, else in place of the worst member unless that is fitter."""
        if individual.candidate_id in self.members:
            return Insertion(status=Status.DUPLICATE)
        displaced: tuple[str, ...] = ()
        if len(self.members) >= self._size:
            worst = self.members.worst()
            if fitness_of(individual) < fitness_of(worst):
                return Insertion(status=Status.FULL)
            displaced = (self.members.remove(worst.candidate_id).candidate_id,)
        self.members.add(individual)
        return Insertion(status=Status.IMPROVED if displaced else Status.ADDED, displaced=displaced)


class ParetoArchive:
    """Individuals none of which dominates another; beyond its size the most crowded one leaves (NSGA-II, Deb 2002)."""

    def __init__(self, width: int, size: int) -> None:
        self.members = Population(width)
        self._size = size

    def add(self, individual: Individual) -> Insertion:
        """Keep it unless a member is at least as good in every objective."""
        if individual.candidate_id in self.members:
            return Insertion(status=Status.DUPLICATE)
        rewards, reward = self.members.rewards, np.asarray(individual.rewards)
        if bool(np.any(np.all(rewards >= reward, axis=1))):
            return Insertion(status=Status.DOMINATED)
        beaten = [self.members[int(place)].candidate_id for place in np.flatnonzero(np.all(rewards <= reward, axis=1))]
        for candidate_id in beaten:
            self.members.remove(candidate_id)
        self.members.add(individual)
        if len(self.members) > self._size:
            crowded = self._most_crowded()
            self.members.remove(crowded)
            if crowded == individual.candidate_id:
                return Insertion(status=Status.FULL)
            beaten.append(crowded)
        return Insertion(status=Status.IMPROVED if beaten else Status.ADDED, displaced=tuple(beaten))

    def _most_crowded(self) -> str:
        return self.members[int(np.argmin(crowding(self.members.rewards)))].candidate_id


class Axis:
    """One axis of a grid: a fixed range, or the running range of what was seen, doubled as it grows."""

    def __init__(self, measure: Measure) -> None:
        self.name = measure.name
        self._bins = measure.bins
        self._fixed = measure.low is not None
        self._low = measure.low
        self._high = measure.high

    @property
    def range(self) -> tuple[float, float] | None:
        """What the axis spans now; None: nothing was seen, and no range is declared."""
        return None if self._low is None or self._high is None else (self._low, self._high)

    def bin(self, value: float) -> int:
        """Bin of a value; what lies outside the range falls into the outermost bin."""
        if self._low is None or self._high is None or self._low == self._high:
            return 0
        share = (value - self._low) / (self._high - self._low)
        return min(self._bins - 1, max(0, math.floor(share * self._bins)))

    def bins(self, values: Floats) -> NDArray[np.intp]:
        """Bins of many values, (n,), each as `bin` gives it."""
        if self._low is None or self._high is None or self._low == self._high:
            return np.zeros(len(values), dtype=np.intp)
        with np.errstate(over="ignore", invalid="ignore"):  # a range may be wider than the largest number
            share = (values - self._low) / (self._high - self._low)
            placed = np.floor(np.nan_to_num(share) * self._bins)
        return np.asarray(np.clip(placed, 0, self._bins - 1), dtype=np.intp)

    def cover(self, value: float) -> bool:
        """Grow a running range to hold a value; whether it grew.

        The range at least doubles each time, so that a grid is re-binned a logarithmic number of times.
        """
        if self._low is None or self._high is None:
            self._low = self._high = value
            return True
        if self._fixed or self._low <= value <= self._high:
            return False
        span = self._high - self._low
        if value > self._high:
            self._high = max(value, self._high + span)
        else:
            self._low = min(value, self._low - span)
        return True

    def cover_all(self, values: Floats) -> None:
        """Grow a running range to hold values, one after the other."""
        place = 0
        while place < len(values):
            self.cover(float(values[place]))
            if self._fixed or self._low is None or self._high is None:
                return
            rest = values[place:]
            outside = (rest < self._low) | (rest > self._high)
            if not outside.any():
                return
            place += int(outside.argmax())


class GridArchive:
    """MAP-Elites (Mouret and Clune 2015): the fittest individual of each cell of a grid over the measures."""

    def __init__(self, width: int, measures: Sequence[Measure]) -> None:
        self.members = Population(width)
        self._axes = [Axis(measure) for measure in measures]
        self._cells: dict[tuple[int, ...], str] = {}

    def add(self, individual: Individual) -> Insertion:
        """Keep it when its cell is empty or holds nothing fitter; re-bin first when a running range must grow."""
        if individual.candidate_id in self.members:
            return Insertion(status=Status.DUPLICATE)
        grew = [axis.cover(individual.measures[axis.name]) for axis in self._axes]
        displaced = self._rebin() if any(grew) else []
        cell = self._cell(individual)
        holder = self._cells.get(cell)
        if holder is not None and fitness_of(self.members.get(holder)) > fitness_of(individual):
            return Insertion(status=Status.DOMINATED, displaced=tuple(displaced))
        if holder is not None:
            displaced.append(self.members.remove(holder).candidate_id)
        self._cells[cell] = individual.candidate_id
        self.members.add(individual)
        status = Status.NEW_CELL if holder is None else Status.IMPROVED
        return Insertion(status=status, displaced=tuple(displaced))

    @property
    def cells(self) -> dict[tuple[int, ...], str]:
        """Filled cells, by bin on each axis, with the id of the individual that holds each."""
        return dict(self._cells)

    def _cell(self, individual: Individual) -> tuple[int, ...]:
        return tuple(axis.bin(individual.measures[axis.name]) for axis in self._axes)

    def _rebin(self) -> list[str]:
        """Place every member anew; where two meet, the fitter stays (the earlier member among equals)."""
        self._cells = {}
        losers = [
            individual.candidate_id
            for individual in self.members.best(len(self.members))
            if self._cells.setdefault(self._cell(individual), individual.candidate_id) != individual.candidate_id
        ]
        for candidate_id in losers:
            self.members.remove(candidate_id)
        return losers


def open_archive(problem: Problem, config: ArchiveConfig) -> Archive:
    """The archive a configuration asks for; `auto` fits the problem: grid, Pareto or top-k."""
    width = len(problem.objective_names)
    kind = config.kind
    if kind == "auto":
        kind = "grid" if problem.measures else "pareto" if width > 1 else "top"
    if kind == "grid":
        return GridArchive(width, problem.measures or (Measure(name="complexity"), Measure(name="novelty")))
    return ParetoArchive(width, config.size) if kind == "pareto" else TopArchive(width, config.size)
