"""A run in columns: what its evaluations gave, one by one, and what came beside them; caught up with as it goes on."""

import math
from array import array
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evolve.evaluation import Outcome, signed_scores
from evolve.event_types import IslandMigrated, IslandReset, ProposalAnswered, ProposalFailed
from evolve.events import EventKind
from evolve.multiobjective.pareto import dominated, front
from evolve.payloads import Bill, bills
from evolve.proposal import Usage
from service.ports import LoggedEvent, RunReader, RunRecord, ScoredCandidate
from service.projections.candidates import objectives_of
from service.projections.column_parts import CodedColumn, OutcomeTally
from service.projections.costs import ASKING, Costs
from service.projections.front_history import FrontHistory, FrontSpans
from service.projections.measures import partition_of
from service.projections.money import added
from service.projections.policy_spending import PolicySpending
from service.projections.program_map import ProgramPositions
from service.projections.volume_history import VolumeHistory

_BYTES_OF_A_SUM = 80
BESIDE = (str(EventKind.CANDIDATE_DUPLICATE), str(EventKind.CANDIDATE_REJECTED))
# What was written before a proposal failed is paid for as well.
PAID = (str(EventKind.PROPOSAL_ANSWERED), str(EventKind.PROPOSAL_FAILED))
MARKS = (
    str(EventKind.ISLAND_MIGRATED),
    str(EventKind.ISLAND_RESET),
    str(EventKind.RUN_PAUSED),
    str(EventKind.RUN_RESUMED),
    str(EventKind.BUDGET_EXTENDED),
    str(EventKind.HINT_GIVEN),
    str(EventKind.PROGRAM_INSERTED),
    str(EventKind.CANDIDATE_BANNED),
    str(EventKind.BAN_LIFTED),
    str(EventKind.PRIORITY_GIVEN),
    str(EventKind.PRIORITY_LIFTED),
    str(EventKind.SETTINGS_CHANGED),
)
MAX_SCORES, MAX_MARKS = 64, 2000
BYTES_OF_AN_ID, BYTES_OF_A_MARK = 180, 200  # the place that an id leads to included

# What columns are saved as: those that an event changes by itself, as they are. Raise the number with every change of
# what events are folded into.
FORMAT = 7
_PLAIN = (
    "sequence", "ids", "numbers", "positions", "islands", "parents", "sequences", "spent",
    "cancelled_numbers", "cancelled_positions", "_fitness", "_at", "_rewards", "_signed_scores", "_values", "_seconds",
    "_paid", "_answered", "_tokens", "_best", "_last_scored", "_last_beside",
)  # fmt: skip

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


_TALLIED = tuple(OutcomeTally.__slots__)


class ColumnMark(NamedTuple):
    """What happened to a run between its evaluations: an island was reset (`to_island`), a run was paused."""

    sequence: int
    kind: str
    at: datetime
    from_island: int | None
    to_island: int | None


class Columns:
    """A run in columns, by evaluation in the order in which candidates were first scored.

    Evaluations that were cancelled are not among them, since nothing is known of their candidates.

    Attributes:
        run: which; as it was when its columns were begun.
        objectives, names: of the run, and their names.
        partition: the cells of its measures; None: it has none.
        axes: of these, as far as values were seen.
        ids, numbers, positions, islands: of the candidates.
        cancelled_numbers, cancelled_positions: of those whose evaluation was cancelled.
        parents: which evaluation was that of the first parent; -1: none was.
        sequences: of the events that scored them.
        outcomes, operators, policies: by name.
        marks: what happened between them, the newest of it.
        tallies: by (operator, policy, position of the answer); of a seed the last two are empty and -1.
        costs: what asking came to.
        policy_spending: what each policy had spent over time.
        spent: money spent after so many proposals that were paid for, 0 among them; None: that is not known.
        sequence: everything up to this event is in them.
        program_positions: on the map of programs; a map that is not complete is not saved.
    """

    def __init__(self, run: RunRecord) -> None:
        self.run = run
        self.objectives = objectives_of(run)
        self.names = tuple(objective.name for objective in self.objectives)
        self.partition = partition_of(run)
        self.axes = tuple(self.partition.axes) if self.partition else ()
        self.ids: list[str] = []
        self.numbers, self.positions, self.islands = array("q"), array("i"), array("i")
        self.cancelled_numbers, self.cancelled_positions = array("q"), array("i")
        self.parents, self.sequences = array("i"), array("q")
        self.outcomes, self.operators, self.policies = CodedColumn(), CodedColumn(), CodedColumn()
        self.marks: deque[ColumnMark] = deque(maxlen=MAX_MARKS)
        self.tallies: dict[tuple[str, str, int], OutcomeTally] = {}
        self.costs, self.policy_spending = Costs(), PolicySpending()
        self.sequence = 0
        self._width = max(1, len(self.names))
        self._fitness, self._at, self._rewards, self._values = array("d"), array("d"), array("d"), array("d")
        self._signed_scores, self._seconds = array("d"), array("d")
        self._scores: dict[str, array[float]] = {}
        self._beside = {kind: array("d") for kind in BESIDE}
        self._paid, self._answered = array("d"), array("d")
        self._tokens = [array("q"), array("q"), array("q")]
        self.spent: list[str | None] = ["0"]
        self._places: dict[str, int] = {}
        self._best = -math.inf
        self._last_scored = self._last_beside = 0
        self._front, self._front_of = np.zeros(0, dtype=np.intp), 0
        self._front_history, self._volume_history = FrontHistory(), VolumeHistory()
        self.program_positions = ProgramPositions()
        self._covered = 0
        self._cells: Places | None = None

    def __len__(self) -> int:
        """How many were evaluated."""
        return len(self.ids)

    @property
    def size(self) -> int:
        """Bytes that they take, about."""
        reals = [self._fitness, self._at, self._rewards, self._signed_scores, self._values, self._seconds, self._paid]
        reals += [self._answered, *self._scores.values(), *self._beside.values()]
        coded = [column.codes for column in self._coded()]
        wholes = [self.numbers, self.positions, self.islands, self.parents, self.sequences, *coded, *self._tokens]
        wholes += [self.cancelled_numbers, self.cancelled_positions]
        held = sum(len(column) * column.itemsize for column in reals)
        held += sum(len(column) * column.itemsize for column in wholes)
        held += self._volume_history.nbytes
        held += self._front.nbytes + self._front_history.nbytes + (0 if self._cells is None else self._cells.nbytes)
        held += self.costs.size + len(self.spent) * _BYTES_OF_A_SUM
        held += self.policy_spending.size + self.program_positions.size
        return len(self.ids) * BYTES_OF_AN_ID + len(self.marks) * BYTES_OF_A_MARK + held

    @property
    def fitness(self) -> Floats:
        """Of each evaluation; NaN where it was not valid."""
        return np.array(self._fitness)

    @property
    def at(self) -> Floats:
        """When each was, in seconds since 1970."""
        return np.array(self._at)

    @property
    def seconds(self) -> Floats:
        """How long each took."""
        return np.array(self._seconds)

    @property
    def rewards(self) -> Floats:
        """Reward vectors, (n, k); NaN where it was not valid."""
        return np.array(self._rewards).reshape(-1, self._width)

    @property
    def signed_scores(self) -> Floats:
        """Scores of the objectives with the direction's sign, else the fitness, (n, k); NaN where it was not valid."""
        return np.array(self._signed_scores).reshape(-1, self._width)

    @property
    def values(self) -> Floats:
        """On the axes of the grid, (n, axes); NaN where there is none."""
        return np.array(self._values).reshape(len(self.ids), len(self.axes))

    @property
    def scores(self) -> dict[str, Floats]:
        """Scores by name where a run has no objectives, of the first names that were seen; NaN where there is none."""
        return {name: np.array(column) for name, column in self._scores.items()}

    def times(self, kind: EventKind) -> Floats:
        """When events of a kind beside the evaluations were."""
        return np.array(self._beside[str(kind)])

    @property
    def paid(self) -> Floats:
        """When proposals ended that were paid for: those that were answered, and what failed with something written."""
        return np.array(self._paid)

    @property
    def answered(self) -> Floats:
        """When the proposal of each answer was answered; of one that was cut off, the answers are not told."""
        return np.array(self._answered)

    @property
    def tokens(self) -> Sequence[NDArray[np.int64]]:
        """Read, of these from a cache, and written, for each proposal that was paid for."""
        return [np.array(column, dtype=np.int64) for column in self._tokens]

    def catch_up(self, reader: RunReader) -> None:
        """Take in what has happened since the last time. What a candidate was worth never changes after the fact."""
        sequence, _ = reader.sequences([self.run.id]).get(self.run.id, (self.sequence, ""))
        if sequence == self.sequence:
            return
        self.sequence = sequence
        for scored in reader.scored(self.run.id, self._last_scored):
            self._score(scored)
        for logged in reader.events(self.run.id, self._last_beside, kinds=(*BESIDE, *MARKS, *ASKING, *PAID)):
            self._last_beside = logged.sequence
            self.costs.take(logged)
            data = logged.event.data
            if logged.event.kind in MARKS:
                self._mark(logged)
            elif logged.event.kind in BESIDE:
                self._beside[str(logged.event.kind)].append(logged.at.timestamp())
            elif isinstance(data, (ProposalAnswered, ProposalFailed)) and (paid := bills(data)):
                self._pay(logged.at, paid, self.costs.policy_of(data.proposal_number))
            if isinstance(data, ProposalAnswered):
                self._answered.extend([logged.at.timestamp()] * data.answers)
        self.costs.settle(reader, self.run.id)

    def state(self) -> dict[str, Any]:
        """All that was taken in, as `restored` takes it."""
        return {
            "plain": [getattr(self, name) for name in _PLAIN],
            "coded": [[column.names, column.codes] for column in self._coded()],
            "scores": list(self._scores.items()),
            "beside": [self._beside[kind] for kind in BESIDE],
            "marks": [[mark.sequence, mark.kind, mark.at.isoformat(), *mark[3:]] for mark in self.marks],
            "tallies": [[key, [getattr(tally, name) for name in _TALLIED]] for key, tally in self.tallies.items()],
            "costs": self.costs.state(),
            "policy_spending": self.policy_spending.state(),
            "front_history": self._front_history.state(),
            "program_map": self.program_positions.state(),
        }

    @classmethod
    def restored(cls, run: RunRecord, state: Mapping[str, Any]) -> "Columns":
        """The columns of a run from their state; what has happened since is caught up with."""
        columns = cls(run)
        for name, value in zip(_PLAIN, state["plain"], strict=True):
            setattr(columns, name, value)
        for column, (names, codes) in zip(columns._coded(), state["coded"], strict=True):
            column.names, column.codes = names, codes
        columns._scores = dict(state["scores"])
        columns._beside = dict(zip(BESIDE, state["beside"], strict=True))
        for sequence, kind, at, left, reached in state["marks"]:
            columns.marks.append(ColumnMark(sequence, kind, datetime.fromisoformat(at), left, reached))
        columns.tallies = {(*key,): OutcomeTally(*counts) for key, counts in state["tallies"]}
        columns._places = {candidate_id: place for place, candidate_id in enumerate(columns.ids)}
        columns.costs.restore(state["costs"])
        columns.policy_spending.restore(state["policy_spending"])
        columns.program_positions.restore(state["program_map"])
        columns._front_history.restore(state["front_history"])
        return columns

    def _coded(self) -> Sequence[CodedColumn]:
        return self.outcomes, self.operators, self.policies

    def front(self) -> Places:
        """Which evaluations' scores no other dominates, the fittest first; ties by age."""
        scores = self.signed_scores
        new = np.arange(self._front_of, len(scores))
        new = new[np.isfinite(scores[new]).all(axis=1)]
        new = new[front(scores[new])]
        new = new[~dominated(scores[new], scores[self._front])]
        old = self._front[~dominated(scores[self._front], scores[new])]
        self._front, self._front_of = np.concatenate([old, new]), len(scores)
        return self.ranked(self._front)

    def front_spans(self) -> FrontSpans:
        """Which evaluations were ever on the front of all objectives, and until when."""
        return self._front_history.catch_up(self.signed_scores)

    def volumes(self, reference: Floats, taken: Places) -> list[float]:
        """The sampled hypervolume of the rewards above a reference, after so many evaluations each."""
        return self._volume_history.volumes(self.rewards, reference, taken)

    def ranked(self, places: Places) -> Places:
        """Evaluations by fitness, the fittest first; ties by age."""
        numbers, positions = np.array(self.numbers)[places], np.array(self.positions)[places]
        return places[np.lexsort((positions, numbers, -self.fitness[places]))]

    def placed(self) -> tuple[Places, Places]:
        """Which evaluations have all measures, and the cell of each, a row; the axes hold them."""
        values, fitness = self.values, self.fitness
        there = np.isfinite(values).all(axis=1) & ~np.isnan(fitness)
        new = values[self._covered :][there[self._covered :]]
        before = [axis.range for axis in self.axes]
        for axis, column in zip(self.axes, new.T, strict=True):
            axis.cover_all(column)
        self._covered = len(values)
        if self.partition is None:
            return np.zeros(0, dtype=np.intp), np.zeros((0, 0), dtype=np.intp)
        if self._cells is None or before != [axis.range for axis in self.axes]:
            self._cells = self.partition.cells(values[there])
        elif len(new):
            self._cells = np.concatenate([self._cells, self.partition.cells(new)])
        return np.flatnonzero(there), self._cells

    def filled_by(self, ids: Iterable[str]) -> int:
        """How many cells some candidates fill."""
        placed, cells = self.placed()
        wanted = {self._places[candidate_id] for candidate_id in ids if candidate_id in self._places}
        rows = cells[np.isin(placed, list(wanted))]
        return len({tuple(row) for row in rows.tolist()})

    def _score(self, scored: ScoredCandidate) -> None:
        self._last_scored = scored.sequence
        if scored.outcome == Outcome.CANCELLED:
            self.cancelled_numbers.append(scored.proposal_number)
            self.cancelled_positions.append(scored.position)
            return
        valid = scored.outcome == Outcome.OK and scored.fitness is not None
        fitness = scored.fitness if valid and scored.fitness is not None else math.nan
        rewards = scored.rewards if valid and scored.rewards is not None else ()
        self._fitness.append(fitness)
        self._at.append(scored.at.timestamp())
        self._seconds.append(scored.seconds)
        self._rewards.extend(rewards if len(rewards) == self._width else (math.nan,) * self._width)
        signed = signed_scores(self.objectives, scored.scores, fitness) if valid else ()
        self._signed_scores.extend(signed or (math.nan,) * self._width)
        self._values.extend([scored.grid_measures.get(axis.name, math.nan) for axis in self.axes])
        if not self.names:
            self._keep_scores(scored.scores if valid else {})
        self._place(scored)
        self._count(scored, fitness)

    def _place(self, scored: ScoredCandidate) -> None:
        self.numbers.append(scored.proposal_number)
        self.positions.append(scored.position)
        self.islands.append(scored.island)
        self.parents.append(self._places.get(scored.parent_id or "", -1))
        self.sequences.append(scored.sequence)
        self.outcomes.append(scored.outcome)
        self.operators.append(scored.operator)
        self.policies.append(scored.policy)
        self._places[scored.candidate_id] = len(self.ids)
        self.ids.append(scored.candidate_id)

    def _count(self, scored: ScoredCandidate, fitness: float) -> None:
        seed = scored.proposal_number <= 0
        key = (scored.operator, "", -1) if seed else (scored.operator, scored.policy, scored.position)
        tally = self.tallies.get(key)
        if tally is None:
            tally = self.tallies[key] = OutcomeTally()
        tally.evaluations += 1
        tally.seconds += scored.seconds
        if not math.isnan(fitness):
            tally.valid += 1
            tally.fitness += fitness
            if fitness > self._best:
                tally.gain += fitness - self._best if self._best > -math.inf else 0.0
                self._best = fitness
                tally.improvements += 1

    def _keep_scores(self, scores: Mapping[str, float]) -> None:
        for name in scores:
            if name not in self._scores and len(self._scores) < MAX_SCORES:
                self._scores[name] = array("d", [math.nan]) * len(self.ids)
        for name, column in self._scores.items():
            column.append(scores.get(name, math.nan))

    def _mark(self, logged: LoggedEvent) -> None:
        left: int | None = None
        reached: int | None = None
        match logged.event.data:
            case IslandMigrated(from_=left, to=reached):
                pass
            case IslandReset(island=reached):
                pass
        self.marks.append(ColumnMark(logged.sequence, str(logged.event.kind), logged.at, left, reached))

    def _pay(self, at: datetime, paid: Sequence[Bill], asked: str) -> None:
        self.policy_spending.pay(len(self._paid), paid, asked)
        self._paid.append(at.timestamp())
        total = sum((bill.usage for bill in paid), Usage())
        for column, tokens in zip(self._tokens, (total.input, total.cached, total.output), strict=True):
            column.append(tokens)
        self.spent.append(reduce(added, (bill.cost for bill in paid), self.spent[-1]))


def columns_of(reader: RunReader, run: RunRecord) -> Columns:
    """A run in columns, read from its beginning."""
    columns = Columns(run)
    columns.catch_up(reader)
    return columns
