"""Bans of a run: those that stand, and the changes by which people ban candidates and lift bans."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from evolve.change_events import BanLifted, CandidateBanned, RequestedChange
from evolve.event_types import EventKind
from service.errors import ConflictError
from service.ports import ENDED, ResultReader, RunReader, RunRecord
from service.projections.candidates import evaluated_candidate

_KINDS = (str(EventKind.CANDIDATE_BANNED), str(EventKind.BAN_LIFTED))


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingBan:
    """A ban that was not lifted; `at` is when the search made it, None: not yet."""

    ban: CandidateBanned
    at: datetime | None


def standing_bans(reader: RunReader, run: RunRecord, waiting: Sequence[RequestedChange] = ()) -> dict[str, StandingBan]:
    """The bans of a run by candidate, those that wait for its search among them."""
    found: dict[str, StandingBan] = {}
    made = [(entry.event.data, entry.at) for entry in reader.events(run.id, kinds=_KINDS)]
    for data, at in (*made, *((change.data, None) for change in waiting)):
        if isinstance(data, CandidateBanned):
            earlier = found.get(data.candidate_id)
            if not data.narrows(earlier.ban if earlier else None):
                found[data.candidate_id] = StandingBan(ban=data, at=at)
        elif isinstance(data, BanLifted):
            found.pop(data.candidate_id, None)
    return found


def covering(reader: RunReader, bans: Iterable[StandingBan], candidate_id: str) -> list[StandingBan]:
    """Those of some bans by which a candidate is banned: its own, and those of what it descends from."""
    return [
        one
        for one in bans
        if one.ban.candidate_id == candidate_id
        or (one.ban.descendants and reader.path(one.ban.candidate_id, candidate_id))
    ]


def ban_change(
    reader: ResultReader, run: RunRecord, named: str, change_id: str, by: str, *, descendants: bool
) -> RequestedChange:
    """The change by which a person bans a candidate.

    Raises:
        NotFoundError: the run has no such candidate.
        ConflictError: the run has ended, or the candidate is not evaluated.
    """
    refuse_ended(run)
    candidate_id = evaluated_candidate(reader, run, named).id
    ban = CandidateBanned(change_id=change_id, by=by, candidate_id=candidate_id, descendants=descendants)
    return RequestedChange(data=ban)


def lift_change(
    reader: RunReader, run: RunRecord, named: str, waiting: Sequence[RequestedChange], change_id: str, by: str
) -> RequestedChange:
    """The change by which a person lifts a ban.

    Raises:
        NotFoundError: the run has no such candidate.
        ConflictError: the run has ended, or the candidate is not banned itself.
    """
    refuse_ended(run)
    candidate_id = evaluated_candidate(reader, run, named).id
    if candidate_id not in standing_bans(reader, run, waiting):
        raise ConflictError(f"candidate {candidate_id} has no ban of its own that could be lifted")
    return RequestedChange(data=BanLifted(change_id=change_id, by=by, candidate_id=candidate_id))


def refuse_ended(run: RunRecord) -> None:
    """Refuse a change of a run that has ended.

    Raises:
        ConflictError: it has.
    """
    if run.state in ENDED:
        raise ConflictError(f"run {run.id} has ended, it is {run.state}: fork it, or start another")
