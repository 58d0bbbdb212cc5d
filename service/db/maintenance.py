"""Pruning: what has had its time leaves the database, in transactions short enough for runs to go on beside them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import ColumnElement, and_, delete, exists, func, inspect, or_, select, tuple_

from service.db import garbage_collection
from service.db.account_models import AuditRow, DeliveryRow, ReevaluationRow, RequestRow, UsageRow
from service.db.columns import Base
from service.db.deletion import SqlDeletions, remove
from service.db.engine import Database
from service.db.intents import SqlRunIntents
from service.db.leases import database_time
from service.db.models import RunRow
from service.db.partition_care import SqlPartitions
from service.errors import ConflictError, NotFoundError
from service.ports import ENDED, Clock, RetentionPolicy

REQUESTS_KEPT = timedelta(hours=24)
DELIVERIES_KEPT = timedelta(days=30)
USAGE_KEPT = timedelta(days=396)  # a year is the longest that may be asked for
CHUNK = 500


def prune(database: Database, clock: Clock, retention: RetentionPolicy, *, dry_run: bool = False) -> dict[str, int]:
    """Remove ended runs past their time with all that is theirs, then what nothing refers to, then what has expired.

    Runs that somebody holds, or whose candidates wait to be evaluated again, are kept. Broken off, it leaves nothing by
    halves, and the next time goes on.

    Args:
        database: where from.
        clock: says what is past its time.
        retention: what is kept.
        dry_run: remove nothing, and count what would be.

    Returns:
        How many of each kind were removed.

    Raises:
        StorageError: the database cannot take it; what was removed before stays removed.
    """
    before = clock.now() - retention.runs
    ended = list(_ended(database, before, clock, retention.keep_labels))
    expired = list(_expired(clock.now(), retention))
    if dry_run:
        counts = {"runs": len(ended), **garbage_collection.count(database, before, [run_id for run_id, _ in ended])}
        return counts | {name: _count(database, model, condition) for name, model, condition in expired}
    unfinished = SqlDeletions(database)
    while unfinished.advance():
        pass
    held = SqlPartitions(database, clock)
    held.prepare()
    gone = [run_id for run_id, tenant in ended if _mark(database, clock, run_id, tenant)]
    held.release()  # now, so that the events of whole weeks need not be deleted row by row
    for run_id in gone:
        for _ in remove(database, run_id):
            pass
    removed = {"runs": len(gone)}
    removed |= garbage_collection.remove(database, before)
    return removed | {name: _remove_rows(database, model, condition) for name, model, condition in expired}


class SqlMaintenance:
    """The port Maintenance on SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def prune(self, retention: RetentionPolicy, *, dry_run: bool) -> dict[str, int]:
        """Remove data that is past its time, and return how many of each kind."""
        return prune(self._database, self._database.clock, retention, dry_run=dry_run)

    def releasable(self, retention: RetentionPolicy) -> dict[str, int]:
        """The partitions of events that a prune would give back to the disk, with the bytes of each."""
        clock = self._database.clock
        ended = _ended(self._database, clock.now() - retention.runs, clock, retention.keep_labels)
        return SqlPartitions(self._database).releasable({run_id for run_id, _ in ended})

    def back_up(self, target: Path) -> str:
        """Write a backup to a new file, and return the revision. An older SQLite database is not upgraded by it."""
        from service.db.backup import backup

        return backup(self._database, target, self._database.clock)

    def restore(self, path: Path) -> dict[str, int]:
        """Fill the database, which is empty, from a backup. Return how many rows each table has now."""
        from service.db.backup import restore

        return restore(self._database, path)


def past(before: datetime, now: datetime) -> ColumnElement[bool]:
    """Whether the time of a run is over: it ended before one time, and nobody holds it or wants anything of it now."""
    return and_(
        RunRow.state.in_(sorted(ENDED)),
        func.coalesce(RunRow.finished_at, RunRow.last_at) < before,
        or_(RunRow.lease_owner.is_(None), RunRow.lease_expires_at <= now),
        ~exists().where(ReevaluationRow.run_id == RunRow.id),
    )


def _ended(database: Database, before: datetime, clock: Clock, keep: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Id and tenant of the runs whose time is over, oldest first."""
    query = select(RunRow.id, RunRow.tenant, RunRow.labels).order_by(RunRow.created_at, RunRow.id)
    with database.read() as connection:
        rows = connection.execute(query.where(past(before, database_time(connection, clock)))).all()
    for run_id, tenant, labels in rows:
        if not _bears(labels, keep):
            yield run_id, tenant


def _bears(labels: Mapping[str, str], wanted: Sequence[str]) -> bool:
    return any(word in labels or word in {f"{key}={value}" for key, value in labels.items()} for word in wanted)


def _mark(database: Database, clock: Clock, run_id: str, tenant: str) -> bool:
    try:
        SqlRunIntents(database, tenant, clock).delete(run_id)
    except (ConflictError, NotFoundError):  # somebody took it up, or removed it, meanwhile
        return False
    return True


def _expired(now: datetime, retention: RetentionPolicy) -> Iterator[tuple[str, type[Base], ColumnElement[bool]]]:
    yield "idempotency_keys", RequestRow, RequestRow.created_at < now - REQUESTS_KEPT
    settled = (DeliveryRow.state != "pending") & (DeliveryRow.created_at < now - DELIVERIES_KEPT)
    yield "webhook_deliveries", DeliveryRow, settled
    yield "usage", UsageRow, UsageRow.hour < now - USAGE_KEPT
    if retention.audit is not None:
        yield "audit", AuditRow, AuditRow.at < now - retention.audit


def _count(database: Database, model: type[Base], condition: ColumnElement[bool]) -> int:
    with database.read() as connection:
        return connection.execute(select(func.count()).select_from(model).where(condition)).scalar_one()


def _remove_rows(database: Database, model: type[Base], condition: ColumnElement[bool]) -> int:
    key = tuple_(*inspect(model).primary_key)
    statement = delete(model).where(key.in_(select(*inspect(model).primary_key).where(condition).limit(CHUNK)))
    removed = 0
    while True:
        with database.write() as connection:
            count = connection.execute(statement).rowcount
        removed += count
        if count < CHUNK:
            return removed
