"""Changes that people want of runs at work, kept until the runs' searches make them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select

from evolve.change_events import ChangeData, PriorityGiven, RequestedChange
from evolve.event_codec import decode, encode
from evolve.events import EventKind
from evolve.program import Program
from service.db.account_models import RunChangeRow
from service.db.identifiers import chunks
from service.db.row_mappers import individuals
from service.errors import ConflictError

MAX_WAITING = 100  # of a run that nobody drives, so that nobody fills the database with what it may never take


def request(connection: Connection, run_id: str, change: RequestedChange) -> None:
    """Keep a change of a run that the caller holds.

    Raises:
        ConflictError: too many wait already.
    """
    waiting = select(func.count()).select_from(RunChangeRow).where(RunChangeRow.run_id == run_id)
    if connection.execute(waiting).scalar_one() >= MAX_WAITING:
        raise ConflictError(f"{MAX_WAITING} changes of run {run_id} wait for its runner: resume it, or try again later")
    row = {
        "run_id": run_id,
        "id": change.data.change_id,
        "kind": str(change.data.kind),
        "payload": encode(change.data),
        "files": dict(change.program.files) if change.program else {},
    }
    connection.execute(insert(RunChangeRow), [row])


def waiting_changes(connection: Connection, run_ids: Sequence[str]) -> Mapping[str, Sequence[RequestedChange]]:
    """The changes of each run that wait, the oldest first, each with the texts that the search needs to make it."""
    found: dict[str, list[RequestedChange]] = defaultdict(list)
    query = select(*RunChangeRow.__table__.c).order_by(RunChangeRow.id)
    for chunk in chunks(run_ids):
        for row in connection.execute(query.where(RunChangeRow.run_id.in_(chunk))):
            found[row.run_id].append(_change(connection, row))
    return found


def forget(connection: Connection, run_id: str, change_ids: Sequence[str]) -> None:
    """Forget changes that were made."""
    mine = (RunChangeRow.run_id == run_id, RunChangeRow.id.in_(change_ids))
    connection.execute(delete(RunChangeRow).where(*mine))


def _change(connection: Connection, row: Row[Any]) -> RequestedChange:
    data = decode(EventKind(row.kind), row.payload)
    assert isinstance(data, ChangeData), "only changes are kept here"
    named = [data.candidate_id] if isinstance(data, PriorityGiven) else []
    return RequestedChange(
        data=data,
        program=Program.of(row.files) if row.files else None,
        individual=next(iter(individuals(connection, row.run_id, named)), None) if named else None,
    )
