"""Lineage: who descends from whom, how often each was built upon and what came of it; a fold of a run's events."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Places = NDArray[np.intp]
_Number = TypeVar("_Number", np.int64, np.float64)
DIGITS = 3  # significant ones of each reward by which outcomes are told apart
_PARENT, _OUTCOME, _VISITS, _IN_FLIGHT, _CHILDREN, _EXPANSIONS = range(6)
_SEEN, _AIRBORNE = range(2)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageRecord:
    """How one candidate stands.

    Attributes:
        parent: the first of its parents; None for a seed.
        visits: proposals that started from it, failed ones included.
        in_flight: those of them whose policy has not ended, or whose candidates are not all scored.
        children: of its candidates, those that were evaluated.
        expansions: visits to it and to whatever descends from it.
        best: the highest fitness among itself and what descends from it; minus infinity where none has one.
        seen: how often its outcome was met in the run: as a result, and as the start of a proposal.
    """

    parent: str | None
    visits: int
    in_flight: int
    children: int
    expansions: int
    best: float
    seen: int


@dataclass(slots=True)
class _Flight:
    row: int
    awaited: int
    others: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageColumns:
    """A lineage in columns, by row: what a snapshot holds of it.

    Attributes:
        ids: of the candidates.
        counts, best, fitness: as the lineage has them.
        outcomes: each outcome that was met, in the order of their numbers.
        met: how often each was met, and how often it is in flight.
        flights: number, row, what is awaited, and the rows of further parents, of each proposal that is not over.
        others: rows that have further parents, with these.
        proposals, observations: as the lineage has them.
    """

    ids: list[str]
    counts: Counts
    best: NDArray[np.float64]
    fitness: NDArray[np.float64]
    outcomes: list[tuple[float, ...]]
    met: Counts
    flights: list[tuple[int, int, int, tuple[int, ...]]]
    others: list[tuple[int, tuple[int, ...]]]
    proposals: int
    observations: int


class Lineage:
    """The standings of all that was evaluated in a run, in arrays by row; a candidate's row never changes.

    Attributes:
        proposals: how many there were.
        observations: how often any outcome was met.
    """

    def __init__(self) -> None:
        self.proposals = 0
        self.observations = 0
        self._ids: list[str] = []
        self._rows: dict[str, int] = {}
        self._counts: Counts = np.zeros((16, 6), dtype=np.int64)
        self._best = np.zeros(16)
        self._fitness = np.zeros(16)
        self._outcomes: dict[tuple[float, ...], int] = {}
        self._met: Counts = np.zeros((16, 2), dtype=np.int64)
        self._flights: dict[int, _Flight] = {}
        self._others: dict[int, tuple[int, ...]] = {}
        self._unspread: list[int] = []

    def propose(self, number: int, parent: str, *others: str) -> None:
        """A proposal starts from a candidate; `others` are its further parents."""
        row = self._rows[parent]
        self._flights[number] = _Flight(row, 1, tuple(self._rows[other] for other in others))
        self._unspread.append(row)
        self.proposals += 1
        self._counts[row, _VISITS] += 1
        self._counts[row, _IN_FLIGHT] += 1
        outcome = self._counts[row, _OUTCOME]
        if outcome >= 0:
            self._met[outcome] += 1  # seen once more, and airborne
            self.observations += 1

    def await_score(self, number: int) -> None:
        """A proposal has a candidate to be scored."""
        if number:
            self._flights[number].awaited += 1

    def settle(self, number: int) -> None:
        """One thing less is awaited of a proposal: the end of its policy, or the fate of a candidate."""
        if not number:
            return
        dispatcher = self._flights[number]
        dispatcher.awaited -= 1
        if not dispatcher.awaited:
            del self._flights[number]
            self._counts[dispatcher.row, _IN_FLIGHT] -= 1
            outcome = self._counts[dispatcher.row, _OUTCOME]
            if outcome >= 0:
                self._met[outcome, _AIRBORNE] -= 1

    def evaluate(self, candidate_id: str, number: int, fitness: float | None, rewards: Sequence[float]) -> None:
        """A candidate of a proposal (0: a seed) was evaluated; it has no fitness when it failed."""
        row, parent = len(self._ids), self._flights[number].row if number else -1
        if row == len(self._best):
            self._counts, self._best = _doubled(self._counts), _doubled(self._best)
            self._fitness = _doubled(self._fitness)
        self._ids.append(candidate_id)
        self._rows[candidate_id] = row
        outcome = -1 if fitness is None else self._meet(rewards)
        self._counts[row] = (parent, outcome, 0, 0, 0, 0)
        self._best[row] = -np.inf
        self._fitness[row] = -np.inf if fitness is None else fitness
        if parent >= 0:
            self._counts[parent, _CHILDREN] += 1
            if self._flights[number].others:
                self._others[row] = self._flights[number].others
        if fitness is not None:
            self._credit(row, fitness)

    def parents_of(self, number: int) -> list[str]:
        """The parents in a proposal that is not over, the first one first; none for the seeds."""
        if not number:
            return []
        dispatcher = self._flights[number]
        return [self._ids[row] for row in (dispatcher.row, *dispatcher.others)]

    def descendants(self, candidate_id: str) -> list[str]:
        """All that was evaluated and descends from it over parents and crossover, in order."""
        start = self._rows[candidate_id]
        within = {start}
        for row in range(start + 1, len(self._ids)):  # a child's row is behind those of its parents
            if int(self._counts[row, _PARENT]) in within or not within.isdisjoint(self._others.get(row, ())):
                within.add(row)
        return [self._ids[row] for row in sorted(within - {start})]

    def credit_without(self, candidate_ids: Collection[str]) -> None:
        """Find anew what is best among each and its descendants, where some count for nothing."""
        count = len(self._ids)
        best = self._fitness.copy()
        best[[self._rows[candidate_id] for candidate_id in candidate_ids]] = -np.inf
        for row in range(count - 1, -1, -1):  # a parent's row is before those of its children
            parent = int(self._counts[row, _PARENT])
            if parent >= 0 and best[row] > best[parent]:
                best[parent] = best[row]
        self._best = best

    def fitness(self, candidate_id: str) -> float | None:
        """What a candidate was credited with; None: it failed, or came while it was banned."""
        fitness = float(self._fitness[self._rows[candidate_id]])
        return None if fitness == -np.inf else fitness

    def __contains__(self, candidate_id: str) -> bool:
        """Whether a candidate was evaluated."""
        return candidate_id in self._rows

    def rows(self, candidate_ids: Sequence[str]) -> Places:
        """Rows of candidates that were evaluated."""
        return np.array([self._rows[candidate_id] for candidate_id in candidate_ids], dtype=np.intp)

    def standing(self, candidate_id: str) -> LineageRecord:
        """How a candidate stands that was evaluated."""
        row = self.rows([candidate_id])
        parent = int(self._counts[row[0], _PARENT])
        return LineageRecord(
            parent=self._ids[parent] if parent >= 0 else None,
            visits=int(self.visits(row)[0]),
            in_flight=int(self.in_flight(row)[0]),
            children=int(self.children(row)[0]),
            expansions=int(self.expansions(row)[0]),
            best=float(self.best(row)[0]),
            seen=int(self.seen(row)[0]),
        )

    def __len__(self) -> int:
        """How many were evaluated."""
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        """All that was evaluated, in order."""
        return iter(self._ids)

    def visits(self, rows: Places) -> Counts:
        """Proposals that started from each."""
        return np.asarray(self._counts[rows, _VISITS])

    def in_flight(self, rows: Places) -> Counts:
        """Proposals that started from each and are not over."""
        return np.asarray(self._counts[rows, _IN_FLIGHT])

    def children(self, rows: Places) -> Counts:
        """Evaluated candidates of the proposals that started from each."""
        return np.asarray(self._counts[rows, _CHILDREN])

    def expansions(self, rows: Places) -> Counts:
        """Proposals that started from each, or from whatever descends from it."""
        for start in self._unspread:
            row = start
            while row >= 0:
                self._counts[row, _EXPANSIONS] += 1
                row = int(self._counts[row, _PARENT])
        self._unspread.clear()
        return np.asarray(self._counts[rows, _EXPANSIONS])

    def best(self, rows: Places) -> NDArray[np.float64]:
        """The highest fitness among each and what descends from it."""
        return self._best[rows]

    def seen(self, rows: Places) -> Counts:
        """How often the outcome of each was met; 0 for one that failed."""
        return self._of_outcome(rows, _SEEN)

    def airborne(self, rows: Places) -> Counts:
        """Proposals that are not over and started from the outcome of each."""
        return self._of_outcome(rows, _AIRBORNE)

    @property
    def flights(self) -> int:
        """Proposals that are not over."""
        return len(self._flights)

    def related(self, rows: Places) -> NDArray[np.bool_]:
        """Which are in flight, or are an ancestor or a descendant of one that is."""
        starts, upwards = np.zeros(len(self._ids), dtype=np.bool_), np.zeros(len(self._ids), dtype=np.bool_)
        first = len(self._ids)
        for dispatcher in self._flights.values():
            row = dispatcher.row
            starts[row], first = True, min(first, row)
            while row >= 0 and not upwards[row]:
                upwards[row] = True
                row = int(self._counts[row, _PARENT])
        found = np.asarray(upwards[rows])
        # A parent's row is before those of its children: before the first start there is none to be found.
        places = np.flatnonzero(~found)
        above = self._counts[rows[places], _PARENT]
        while (further := above >= first).any():
            places, above = places[further], above[further]
            found[places] = starts[above]
            above = np.where(starts[above], -1, self._counts[above, _PARENT])
        return found

    def columns(self) -> LineageColumns:
        """A copy of all of it."""
        self.expansions(np.zeros(0, dtype=np.intp))
        count, outcomes = len(self._ids), len(self._outcomes)
        flights = [(number, one.row, one.awaited, one.others) for number, one in self._flights.items()]
        return LineageColumns(
            ids=self._ids.copy(),
            counts=self._counts[:count].copy(),
            best=self._best[:count].copy(),
            fitness=self._fitness[:count].copy(),
            outcomes=list(self._outcomes),
            met=self._met[:outcomes].copy(),
            flights=flights,
            others=list(self._others.items()),
            proposals=self.proposals,
            observations=self.observations,
        )

    def refill(self, columns: LineageColumns) -> None:
        """Hold what these columns hold, and nothing else."""
        self.proposals, self.observations = columns.proposals, columns.observations
        self._ids, self._unspread = columns.ids, []
        self._rows = {candidate_id: row for row, candidate_id in enumerate(columns.ids)}
        self._counts, self._best = _grown(columns.counts), _grown(columns.best)
        self._fitness, self._met = _grown(columns.fitness), _grown(columns.met)
        self._outcomes = {outcome: number for number, outcome in enumerate(columns.outcomes)}
        self._flights = {number: _Flight(row, awaited, others) for number, row, awaited, others in columns.flights}
        self._others = dict(columns.others)

    def _of_outcome(self, rows: Places, what: int) -> Counts:
        outcomes = self._counts[rows, _OUTCOME]
        return np.where(outcomes >= 0, self._met[outcomes, what], 0)

    def _meet(self, rewards: Sequence[float]) -> int:
        key = tuple(float(f"{reward:.{DIGITS}g}") for reward in rewards)
        outcome = self._outcomes.setdefault(key, len(self._outcomes))
        if outcome == len(self._met):
            self._met = _doubled(self._met)
        self._met[outcome, _SEEN] += 1
        self.observations += 1
        return outcome

    def _credit(self, row: int, fitness: float) -> None:
        # An ancestor is never behind what descends from it: above one that gains nothing, none does.
        while row >= 0 and fitness > self._best[row]:
            self._best[row] = fitness
            row = int(self._counts[row, _PARENT])


def _doubled(array: NDArray[_Number]) -> NDArray[_Number]:
    return np.concatenate([array, np.zeros_like(array)])


def _grown(array: NDArray[_Number]) -> NDArray[_Number]:
    """An array with as many rows as one that was doubled as it filled."""
    size = 16
    while size < len(array):
        size *= 2
    return np.concatenate([array, np.zeros((size - len(array), *array.shape[1:]), dtype=array.dtype)])
