"""Priorities of a run: those that stand, and the changes by which people give candidates priority and lift it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from evolve.change_events import CandidateBanned, PriorityGiven, PriorityLifted, RequestedChange
from evolve.configuration import BASELINES
from evolve.evaluation import Outcome
from evolve.event_types import EventKind, ProposalCreated
from service.errors import ConflictError
from service.ports import RunReader, RunRecord
from service.projections.bans import StandingBan, covering, refuse_ended, standing_bans
from service.projections.candidates import evaluated_candidate

MAX_READ = 20_000  # proposals that are read to count those with a priority
_KINDS = (str(EventKind.PRIORITY_GIVEN), str(EventKind.PRIORITY_LIFTED), str(EventKind.CANDIDATE_BANNED))
_PROPOSED = (str(EventKind.PROPOSAL_CREATED),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPriority:
    """A priority that was not lifted or used up.

    Attributes:
        change: its event.
        at: when the search made it; None: not yet.
        left: proposals that are still to start from its candidate.
    """

    change: PriorityGiven
    at: datetime | None
    left: int


def proposals_with_priority(reader: RunReader, run_id: str, change: PriorityGiven, sequence: int) -> list[int]:
    """Numbers of the proposals that a priority chose the parent of.

    Args:
        reader: of the run.
        run_id: its id.
        change: the priority.
        sequence: of its event.
    """
    numbers: list[int] = []
    for entry in reader.events(run_id, sequence, MAX_READ, kinds=_PROPOSED):
        created = entry.event.data
        assert isinstance(created, ProposalCreated), "the class of this kind"
        if created.priority == change.change_id:
            numbers.append(created.proposal_number)
            if len(numbers) == change.proposals:
                break
    return numbers


def standing_priorities(
    reader: RunReader, run: RunRecord, waiting: Sequence[RequestedChange] = ()
) -> list[RunPriority]:
    """The priorities of a run, the oldest first, those that wait for its search among them."""
    found: dict[str, tuple[RunPriority, int]] = {}
    made = [(entry.event.data, entry.at, entry.sequence) for entry in reader.events(run.id, kinds=_KINDS)]
    for data, at, sequence in (*made, *((change.data, None, 0) for change in waiting)):
        if isinstance(data, PriorityGiven):
            found.pop(data.candidate_id, None)
            found[data.candidate_id] = RunPriority(change=data, at=at, left=data.proposals), sequence
        elif isinstance(data, PriorityLifted):
            found.pop(data.candidate_id, None)
        elif isinstance(data, CandidateBanned):
            ban = StandingBan(ban=data, at=at)
            found = {name: one for name, one in found.items() if not covering(reader, [ban], name)}
    counted = [
        replace(one, left=one.left - len(proposals_with_priority(reader, run.id, one.change, sequence)))
        if sequence
        else one
        for one, sequence in found.values()
    ]
    return [one for one in counted if one.left]


def priority_change(
    reader: RunReader,
    run: RunRecord,
    named: str,
    waiting: Sequence[RequestedChange],
    change_id: str,
    by: str,
    *,
    proposals: int,
) -> RequestedChange:
    """The change by which a person gives a candidate priority.

    Raises:
        NotFoundError: the run has no such candidate.
        ConflictError: the run has ended or selects no parents, or the candidate is not valid, or is banned.
    """
    refuse_ended(run)
    strategy = str(run.config.get("strategy", ""))
    if strategy in BASELINES:
        raise ConflictError(f"the strategy {strategy} chooses no parents: it takes no priority")
    candidate = evaluated_candidate(reader, run, named)
    if candidate.outcome != Outcome.OK:
        raise ConflictError(f"candidate {candidate.id} is not valid, so nothing can start from it")
    if covering(reader, standing_bans(reader, run, waiting).values(), candidate.id):
        raise ConflictError(f"candidate {candidate.id} is banned: lift its ban first")
    given = PriorityGiven(change_id=change_id, by=by, candidate_id=candidate.id, proposals=proposals)
    return RequestedChange(data=given)


def lift_priority_change(
    reader: RunReader, run: RunRecord, named: str, waiting: Sequence[RequestedChange], change_id: str, by: str
) -> RequestedChange:
    """The change by which a person lifts the priority of a candidate.

    Raises:
        NotFoundError: the run has no such candidate.
        ConflictError: the run has ended, or the candidate has no priority.
    """
    refuse_ended(run)
    candidate_id = evaluated_candidate(reader, run, named).id
    if all(one.change.candidate_id != candidate_id for one in standing_priorities(reader, run, waiting)):
        raise ConflictError(f"candidate {candidate_id} has no priority that could be lifted")
    return RequestedChange(data=PriorityLifted(change_id=change_id, by=by, candidate_id=candidate_id))
