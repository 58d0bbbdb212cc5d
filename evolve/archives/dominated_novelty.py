"""Dominated novelty search: local competition without cells."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.archives.archive import Insertion, Status
from evolve.archives.axis import Axis
from evolve.archives.population import Population, fitness_of
from evolve.archives.row_table import Rows
from evolve.multiobjective.scalarization import Floats
from evolve.problem import Measure
from evolve.proposal import Individual

_AT_ONCE = 4_000_000  # distances that are held at once


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrival:
    """How an archive stands with an individual that is offered to it.

    Attributes:
        axes: with their ranges grown to hold it.
        before, nearest: distances of the members to their fitter neighbours in these ranges, without it and with it.
        point, own: its place, and its distances to its own fitter neighbours, (1, k).
    """

    axes: list[Axis]
    before: Floats
    nearest: Floats
    point: Floats
    own: Floats


class DominatedNoveltyArchive:
    """The individuals with the highest dominated novelty (Bahlous-Boldi, Faldor et al. 2025, arXiv:2502.00593).

    The dominated novelty of an individual is its mean distance, in the space of the measures, to the k nearest of those
    that are fitter; infinite for the fittest. Whoever is near a fitter one leaves first, wherever that is: the space
    needs no bounds and no cells. Distances are taken in shares of the measures' ranges. Of equals in fitness the newer
    counts as fitter, so that one alone is the fittest and a plateau is spread over as well.

    A newcomer changes the neighbours of those that are less fit, and one that leaves of those that had it as one:
    only they are measured anew, so that an insertion costs a few passes over the members.
    """

    def __init__(self, width: int, measures: Sequence[Measure], size: int, neighbours: int) -> None:
        self.members = Population(width)
        self._size = size
        self._axes = [Axis(measure) for measure in measures]
        self._points = Rows(len(measures))
        self._nearest = Rows(neighbours)  # distances to the nearest of those that are fitter, in rising order
        self._ages = Rows(1)
        self._clock = 0
        self._asked: tuple[str, int] | None = None  # whom the arrival is of, and of which version of the members
        self._arrival: _Arrival

    def offer(self, individual: Individual) -> Insertion:
        """Keep it while there is room, else in place of the one whose dominated novelty is lowest with it there."""
        if individual.candidate_id in self.members:
            return Insertion(status=Status.DUPLICATE)
        if len(self.members) < self._size:
            return Insertion(status=Status.ADDED)
        arrival = self._arrive(individual)
        place = self._lowest(np.append(novelty(arrival.nearest), novelty(arrival.own)), fitness_of(individual))
        if place == len(self.members):
            return Insertion(status=Status.FULL)
        return Insertion(status=Status.IMPROVED, displaced=(self.members[place].candidate_id,))

    def apply(self, individual: Individual, insertion: Insertion) -> None:
        """Do as decided; a running range grows even where the individual is not kept."""
        if insertion.status is Status.DUPLICATE:
            return
        arrival = self._arrive(individual)
        self._axes = arrival.axes
        self._nearest.values[:] = arrival.nearest if insertion.kept else arrival.before
        if insertion.kept:
            self._nearest.append(arrival.own[0])
            self._points.append(arrival.point)
            self._clock += 1
            self._ages.append(np.array([self._clock]))
            self.members.add(individual)
        for candidate_id in insertion.displaced:
            self._remove(self.members.place(candidate_id))

    def remove(self, candidate_id: str) -> None:
        """Remove a member; running ranges stay."""
        self._remove(self.members.place(candidate_id))

    @property
    def novelty(self) -> Floats:
        """Dominated novelty of the members, (n,)."""
        return novelty(self._nearest.values)

    def _arrive(self, individual: Individual) -> _Arrival:
        """How the members stand with an individual; of the latest that was asked for it is known."""
        asked = (individual.candidate_id, self.members.version)
        if self._asked != asked:
            self._asked, self._arrival = asked, self._find_arrival(individual)
        return self._arrival

    def _find_arrival(self, individual: Individual) -> _Arrival:
        axes = [axis.covering(individual.measures[axis.name]) for axis in self._axes]
        grew = any(new is not old for new, old in zip(axes, self._axes, strict=True))
        everyone = np.arange(len(self.members))
        before = self._measured(everyone, axes) if grew else self._nearest.values
        point = np.array([individual.measures[axis.name] for axis in axes])
        distances = self._distances(point, axes)
        fitter = self.members.fitness > fitness_of(individual)
        return _Arrival(
            axes=axes,
            before=before,
            point=point,
            nearest=_neared(before, np.where(fitter, np.inf, distances)),
            own=self._smallest(np.where(fitter, distances, np.inf)[None, :]),
        )

    def _remove(self, place: int) -> None:
        distances = self._distances(self._points.values[place], self._axes)
        fitness, age = self.members.fitness[place], self._age
        less_fit = (self.members.fitness < fitness) | ((self.members.fitness == fitness) & (age < age[place]))
        bereft = less_fit & (distances <= self._nearest.values[:, -1])
        ids = [self.members[int(row)].candidate_id for row in np.flatnonzero(bereft)]
        self.members.remove(self.members[place].candidate_id)
        for rows in (self._points, self._nearest, self._ages):
            rows.remove(place)
        places = np.array([self.members.place(candidate_id) for candidate_id in ids], dtype=np.intp)
        self._nearest.values[places] = self._measured(places, self._axes)

    @property
    def _age(self) -> Floats:
        return self._ages.values[:, 0]

    def _measured(self, places: NDArray[np.intp], axes: Sequence[Axis]) -> Floats:
        """The fitter neighbours of some members, found anew, (n, k)."""
        found = np.zeros((len(places), self._nearest.values.shape[1]))
        fitness, age = self.members.fitness, self._age
        step = max(1, _AT_ONCE // max(1, len(fitness)))
        for start in range(0, len(places), step):
            some = places[start : start + step]
            equal = fitness == fitness[some, None]
            fitter = (fitness > fitness[some, None]) | (equal & (age > age[some, None]))
            distances = np.stack([self._distances(self._points.values[place], axes) for place in some])
            found[start : start + step] = self._smallest(np.where(fitter, distances, np.inf))
        return found

    def _distances(self, point: Floats, axes: Sequence[Axis]) -> Floats:
        """Distances of a point to the members, in shares of the ranges; a range without width counts for nothing."""
        squares = np.zeros(len(self.members))
        with np.errstate(over="ignore"):  # what is too far for a number is infinitely far
            for axis, column, value in zip(axes, self._points.values.T, point, strict=True):
                if axis.span > 0:
                    squares += ((column - value) / axis.span) ** 2
        return np.asarray(np.sqrt(squares))

    def _smallest(self, distances: Floats) -> Floats:
        """The k smallest of each row, in rising order; infinite where there are fewer."""
        k = self._nearest.values.shape[1]
        if distances.shape[1] < k:
            missing = np.full((len(distances), k - distances.shape[1]), np.inf)
            return np.sort(np.concatenate([distances, missing], axis=1), axis=1)
        return np.sort(np.partition(distances, k - 1, axis=1)[:, :k], axis=1)

    def _lowest(self, found: Floats, fitness: float) -> int:
        """Place of the lowest dominated novelty, the newcomer's last; of equals the least fit, of these the oldest."""
        lowest = np.flatnonzero(found == found.min())
        fits = np.append(self.members.fitness, fitness)[lowest]
        ages = np.append(self._age, np.inf)[lowest]
        return int(lowest[np.lexsort((ages, fits))[0]])


def _neared(before: Floats, distances: Floats) -> Floats:
    """The neighbours of the members with one more at these distances; infinite: it is none to them."""
    nearest = before.copy()
    closer = np.flatnonzero(distances < nearest[:, -1])
    more = np.concatenate([nearest[closer], distances[closer, None]], axis=1)
    nearest[closer] = np.sort(more, axis=1)[:, :-1]
    return nearest


def novelty(nearest: Floats) -> Floats:
    """Mean of the finite distances of each row; infinite where there is none."""
    there = np.isfinite(nearest)
    counts = there.sum(axis=1)
    sums = np.where(there, nearest, 0.0).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)
