"""Decisions of a run's search on changes that somebody asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from evolve.change_events import CHANGE_KINDS, ChangeData, ChangeRefused, RequestedChange
from service.errors import NotFoundError
from service.ports import RunReader, RunRecord

PENDING, ACCEPTED, REFUSED = "pending", "accepted", "refused"
_KINDS = tuple(map(str, CHANGE_KINDS))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRequest:
    """A change that was asked for.

    Attributes:
        run: as it was then.
        change_id: of the change.
    """

    run: RunRecord
    change_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDecision:
    """How the search of a run decided on a change.

    Attributes:
        change_id: of the change.
        kind: of its event, as it was asked for.
        state: pending, accepted or refused.
        reason: why it was refused; empty: it was not.
        at: when the search decided; None: not yet.
    """

    change_id: str
    kind: str
    state: str
    reason: str = ""
    at: datetime | None = None


def find_decision(
    reader: RunReader, run_id: str, change_id: str, waiting: Sequence[RequestedChange], after: int = 0
) -> SearchDecision:
    """The decision on a change.

    Args:
        reader: of the run.
        run_id: of the run.
        change_id: of the change.
        waiting: the changes that wait for the search, read before this is called: an event takes its change away.
        after: sequence number behind which the event of the decision is.

    Raises:
        NotFoundError: nobody asked the run for it.
    """
    for logged in reader.events(run_id, after, kinds=_KINDS):
        data = logged.event.data
        if isinstance(data, ChangeData) and data.change_id == change_id:
            refusal = data if isinstance(data, ChangeRefused) else None
            return SearchDecision(
                change_id=change_id,
                kind=refusal.requested if refusal else str(data.kind),
                state=REFUSED if refusal else ACCEPTED,
                reason=refusal.reason if refusal else "",
                at=logged.at,
            )
    for change in waiting:
        if change.data.change_id == change_id:
            return SearchDecision(change_id=change_id, kind=str(change.data.kind), state=PENDING)
    raise NotFoundError(f"the run {run_id} has no change {change_id}: list its changes")
