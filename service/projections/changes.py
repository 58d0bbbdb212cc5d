"""Changes that people made of a run, each with its effect."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from evolve.change_events import (
    ChangeData,
    ChangeRefused,
    HintGiven,
    InsightsWritten,
    PriorityGiven,
    ProgramInserted,
    RequestedChange,
)
from evolve.event_types import EventData, EventKind, ProposalCreated
from evolve.search.insights import PERSON
from service.ports import CandidateRecord, LoggedEvent, RunReader, RunRecord
from service.projections.columns import Columns, Places
from service.projections.priorities import proposals_with_priority
from service.projections.progress_curve import best_so_far

KINDS = (
    str(EventKind.HINT_GIVEN),
    str(EventKind.INSIGHTS_WRITTEN),
    str(EventKind.PROGRAM_INSERTED),
    str(EventKind.CANDIDATE_BANNED),
    str(EventKind.BAN_LIFTED),
    str(EventKind.PRIORITY_GIVEN),
    str(EventKind.PRIORITY_LIFTED),
    str(EventKind.SETTINGS_CHANGED),
    str(EventKind.CHANGE_REFUSED),
)
MAX_CHANGES = 100
MAX_FOLLOWING = 100  # evaluations after a change of the whole search that are compared with those before
MAX_DESCENDANTS = 1000
MAX_INFORMED = 10_000  # proposals that are looked through for one hint or one version of insights
_PROPOSED = (str(EventKind.PROPOSAL_CREATED),)
_POSITIONS = 1 << 24  # more than a proposal has answers


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEffect:
    """A change with its effect.

    Attributes:
        change: its event.
        at: when the search made it; None: not yet.
        candidate: that of an inserted program.
        proposals: with a hint or an edit of insights in their prompts, from the candidate of a priority, or that
            brought an inserted program and what descends from it; of a change of the whole search those whose
            candidates were evaluated next, at most 100 evaluations.
        evaluations: of the candidates of these proposals.
        valid: those of them with the outcome ok.
        improvements: those of them that became the best of the run.
        best_fitness: the highest of them; None: none is valid.
        evaluations_before: of as many candidates right before the first of them, as far as the run had so many; for a
            hint of an island, of this island.
        valid_before: those with the outcome ok.
        improvements_before: those that became the best of the run.
    """

    change: ChangeData
    at: datetime | None
    candidate: CandidateRecord | None = None
    proposals: int = 0
    evaluations: int = 0
    valid: int = 0
    improvements: int = 0
    best_fitness: float | None = None
    evaluations_before: int = 0
    valid_before: int = 0
    improvements_before: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeChange:
    """A change, with what its effect is counted of.

    Attributes:
        at: when the search made it; None: not yet.
        sequence: of its event.
        proposals: numbers of those that it is about; None: it is about other things.
        family: the candidate of an inserted program and what descends from it; empty: there is none.
    """

    change: ChangeData
    at: datetime | None
    sequence: int = 0
    proposals: Sequence[int] | None = None
    family: Sequence[CandidateRecord] = ()


def read_changes(reader: RunReader, run: RunRecord, waiting: Sequence[RequestedChange]) -> list[MadeChange]:
    """The newest changes of a run, the newest first, those that wait for its runner before all.

    Read the columns of the run after it: a candidate with an outcome is counted then.
    """
    events = [entry for entry in reader.events(run.id, kinds=KINDS) if _of_people(entry.event.data)][-MAX_CHANGES:]
    found = [_made(reader, run, logged) for logged in reversed(events)]
    known = {one.change.change_id for one in found}  # an event may be newer than the changes that were read
    coming = [change.data for change in reversed(waiting) if str(change.data.kind) in KINDS]
    wanted = [MadeChange(change=change, at=None) for change in coming]
    return [*(one for one in wanted if one.change.change_id not in known), *found][:MAX_CHANGES]


def change_effects(changes: Sequence[MadeChange], columns: Columns) -> list[ChangeEffect]:
    """The effects of changes that were read before the columns."""
    evaluations = _Evaluations(columns)
    return [_effect(evaluations, made) for made in changes]


class _Evaluations:
    """The evaluated candidates of a run, in the order of their evaluations."""

    def __init__(self, columns: Columns) -> None:
        fitness = columns.fitness
        best = np.concatenate([[-np.inf], best_so_far(fitness)[:-1]]) if len(fitness) else fitness
        self.fitness, self.valid, self.improving = fitness, ~np.isnan(fitness), fitness > best
        self._numbers = np.array(columns.numbers, dtype=np.int64)
        self._sequences = np.array(columns.sequences, dtype=np.int64)
        self._islands = np.array(columns.islands, dtype=np.int64)
        self._answers = self._numbers * _POSITIONS + np.array(columns.positions, dtype=np.int64)

    def of_proposals(self, numbers: Sequence[int]) -> Places:
        """Places of the candidates of proposals."""
        return np.flatnonzero(np.isin(self._numbers, numbers))

    def following(self, sequence: int) -> Places:
        """Places of the candidates that were evaluated next after an event."""
        first = int(np.searchsorted(self._sequences, sequence))
        return np.arange(first, min(len(self._sequences), first + MAX_FOLLOWING))

    def before(self, places: Places, island: int | None) -> Places:
        """As many places right before some, or as many as there are: of an island, or of all."""
        first = int(places[0]) if len(places) else 0
        earlier = np.arange(first) if island is None else np.flatnonzero(self._islands[:first] == island)
        return earlier[max(0, len(earlier) - len(places)) :]

    def count_proposals(self, places: Places) -> int:
        """How many proposals the candidates of some places are of."""
        return len(np.unique(self._numbers[places]))

    def of_candidates(self, candidates: Sequence[CandidateRecord]) -> Places:
        """Places of candidates."""
        answers = [one.proposal_number * _POSITIONS + one.position for one in candidates]
        return np.flatnonzero(np.isin(self._answers, answers))


def _made(reader: RunReader, run: RunRecord, logged: LoggedEvent) -> MadeChange:
    change = logged.event.data
    assert isinstance(change, ChangeData), "the base of these kinds"
    made = MadeChange(change=change, at=logged.at, sequence=logged.sequence)
    if isinstance(change, HintGiven | InsightsWritten | PriorityGiven):
        return replace(made, proposals=_chosen(reader, run, change, logged.sequence))
    if isinstance(change, ProgramInserted):
        return replace(made, family=_family(reader, run, logged.sequence))
    return made


def _family(reader: RunReader, run: RunRecord, sequence: int) -> list[CandidateRecord]:
    """The candidate of the program that an event inserted, and its descendants."""
    created = next(iter(_proposals(reader, run, sequence, 1)), None)
    brought = reader.candidates(run.id, (created.proposal_number, -1), 1) if created else []
    return [*brought, *reader.descendants(brought[0].id, MAX_DESCENDANTS)] if brought else []


def _effect(evaluations: _Evaluations, made: MadeChange) -> ChangeEffect:
    change, at, family = made.change, made.at, made.family
    if made.proposals is not None:
        places = evaluations.of_proposals(made.proposals)
        return _counted(evaluations, places, change=change, at=at, proposals=len(made.proposals))
    if family:
        places, count = evaluations.of_candidates(family), len({one.proposal_number for one in family})
        return _counted(evaluations, places, change=change, at=at, candidate=family[0], proposals=count)
    if at is None or isinstance(change, ProgramInserted | ChangeRefused):
        return ChangeEffect(change=change, at=at)
    places = evaluations.following(made.sequence)
    return _counted(evaluations, places, change=change, at=at, proposals=evaluations.count_proposals(places))


def _of_people(change: EventData) -> bool:
    """Whether a person asked for a change: most versions of insights are the run's own."""
    return not isinstance(change, InsightsWritten) or change.source == PERSON


def _chosen(
    reader: RunReader, run: RunRecord, change: HintGiven | InsightsWritten | PriorityGiven, sequence: int
) -> list[int]:
    """The proposals that a change is about."""
    if isinstance(change, HintGiven):
        return _hinted(reader, run, change, sequence)
    if isinstance(change, InsightsWritten):
        return _informed(reader, run, change, sequence)
    return proposals_with_priority(reader, run.id, change, sequence)


def _informed(reader: RunReader, run: RunRecord, insights: InsightsWritten, sequence: int) -> list[int]:
    """The proposals with a version of insights: they follow it until another takes its place."""
    numbers: list[int] = []
    for created in _proposals(reader, run, sequence, MAX_INFORMED) if insights.text else ():
        if created.insights == insights.change_id:
            numbers.append(created.proposal_number)
        elif not (created.change or created.writes):
            break
    return numbers


def _hinted(reader: RunReader, run: RunRecord, hint: HintGiven, sequence: int) -> list[int]:
    """The proposals with a hint: they follow it until they are used up or another takes its place.

    Between them are programs of people, written prompts, and proposals of islands with another hint or none.
    """
    if not hint.text:
        return []
    numbers: list[int] = []
    end = next((one.sequence for one in _later_hints(reader, run, sequence) if _replaces(one.event.data, hint)), None)
    for logged, created in _logged_proposals(reader, run, sequence, MAX_INFORMED):
        if len(numbers) == hint.proposals or (end is not None and logged.sequence > end):
            break
        if created.hint == hint.change_id:
            numbers.append(created.proposal_number)
    return numbers


def _later_hints(reader: RunReader, run: RunRecord, sequence: int) -> Iterator[LoggedEvent]:
    return reader.events(run.id, sequence, kinds=(str(EventKind.HINT_GIVEN),))


def _replaces(later: EventData, hint: HintGiven) -> bool:
    return isinstance(later, HintGiven) and later.island in (None, hint.island)


def _proposals(reader: RunReader, run: RunRecord, sequence: int, limit: int) -> Iterator[ProposalCreated]:
    return (created for _, created in _logged_proposals(reader, run, sequence, limit))


def _logged_proposals(
    reader: RunReader, run: RunRecord, sequence: int, limit: int
) -> Iterator[tuple[LoggedEvent, ProposalCreated]]:
    for entry in reader.events(run.id, sequence, limit, kinds=_PROPOSED):
        created = entry.event.data
        assert isinstance(created, ProposalCreated), "the class of this kind"
        yield entry, created


def _counted(
    evaluations: _Evaluations,
    places: Places,
    *,
    change: ChangeData,
    at: datetime | None,
    proposals: int,
    candidate: CandidateRecord | None = None,
) -> ChangeEffect:
    valid, improving = evaluations.valid, evaluations.improving
    known = evaluations.fitness[places][valid[places]]
    earlier = evaluations.before(places, change.island if isinstance(change, HintGiven) else None)
    return ChangeEffect(
        change=change,
        at=at,
        candidate=candidate,
        proposals=proposals,
        evaluations=len(places),
        valid=len(known),
        improvements=int(improving[places].sum()),
        best_fitness=float(known.max()) if len(known) else None,
        evaluations_before=len(earlier),
        valid_before=int(valid[earlier].sum()),
        improvements_before=int(improving[earlier].sum()),
    )
