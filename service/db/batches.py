"""Batches of runs on a database."""

from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, delete, func, insert, select

from service.db.account_models import BatchRow
from service.db.engine import Database
from service.db.identifiers import chunks, resolve
from service.db.models import RunRow
from service.db.presence import there
from service.ports import ALL_BATCHES, BatchFilter, BatchRecord


class SqlBatchStore:
    """The port BatchStore on SQLite or PostgreSQL; the states are counted from the runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, batch: BatchRecord) -> None:
        """Store a batch without runs."""
        row = {
            "id": batch.id,
            "tenant": batch.tenant,
            "name": batch.name,
            "request": dict(batch.request),
            "created_at": batch.created_at,
        }
        with self._database.write() as connection:
            connection.execute(insert(BatchRow), [row])

    def get(self, tenant: str, batch_id: str) -> BatchRecord:
        """One batch, by its id or a beginning of it.

        Raises:
            NotFoundError: the tenant has none.
            AmbiguousIdError: the beginning is that of several, or too short to tell.
        """
        ids = select(BatchRow.id).where(BatchRow.tenant == tenant)
        with self._database.read() as connection:
            whole = resolve(connection, ids, "batch", batch_id, "list the batches")
            query = select(*BatchRow.__table__.c).where(BatchRow.tenant == tenant, BatchRow.id == whole)
            (found,) = _records(connection, connection.execute(query).mappings().all())
        return found

    def batches(
        self, tenant: str, before: str = "", limit: int = 50, only: BatchFilter = ALL_BATCHES
    ) -> list[BatchRecord]:
        """Batches of a tenant, newest first."""
        query = select(*BatchRow.__table__.c).where(BatchRow.tenant == tenant)
        if before:
            query = query.where(BatchRow.id < before)
        if only.name:
            query = query.where(BatchRow.name == only.name)
        if only.created_after:
            query = query.where(BatchRow.created_at >= only.created_after)
        if only.created_before:
            query = query.where(BatchRow.created_at < only.created_before)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(BatchRow.id.desc()).limit(limit)).mappings().all()
            return _records(connection, rows)

    def remove(self, tenant: str, batch_id: str) -> None:
        """Remove a batch that has no runs any more, by its whole id."""
        with self._database.write() as connection:
            connection.execute(delete(BatchRow).where(BatchRow.tenant == tenant, BatchRow.id == batch_id))


def _records(connection: Connection, rows: Sequence[RowMapping]) -> list[BatchRecord]:
    states: dict[tuple[str | None, str], dict[str, int]] = {}
    for chunk in chunks([row["id"] for row in rows]):
        query = (
            select(RunRow.batch_id, RunRow.tenant, RunRow.state, func.count())
            .where(RunRow.batch_id.in_(chunk), there)
            .group_by(RunRow.batch_id, RunRow.tenant, RunRow.state)
        )
        for batch_id, tenant, state, count in connection.execute(query):
            states.setdefault((batch_id, tenant), {})[state] = count
    return [BatchRecord(**row, states=states.get((row["id"], row["tenant"]), {})) for row in rows]
