"""What the database holds of each tenant, and how much of it is past its time."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, and_, case, func, select

from service.db.engine import Database
from service.db.leases import database_time
from service.db.maintenance import past
from service.db.models import RunRow, Tenant
from service.db.presence import there
from service.db.row_mappers import AnySelect
from service.ports import ENDED, Clock, TenantStorage


class SqlHoldings:
    """The port Holdings on SQLite or PostgreSQL.

    Args:
        clock: says whether a lease still holds.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def by_tenant(self, before: datetime | None) -> Sequence[TenantStorage]:
        """What each tenant has, by name; `before`: what ended earlier is past its time, None: nothing is."""
        with self._database.read() as connection:
            due = RunRow.id.is_(None) if before is None else past(before, database_time(connection, self._clock))
            rows = connection.execute(_by_tenant(due)).mappings().all()
        return [TenantStorage(tenant=row["tenant"], **{name: int(row[name]) for name in _COUNTS}) for row in rows]

    def size_bytes(self) -> int:
        """What the database takes on disk, in all."""
        query = "SELECT pg_database_size(current_database())"
        if self._database.engine.dialect.name == "sqlite":
            query = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        with self._database.read() as connection:
            return int(connection.exec_driver_sql(query).scalar_one())


_COUNTS = tuple(name for name in TenantStorage.__slots__ if name != "tenant")


def _by_tenant(due: ColumnElement[bool]) -> AnySelect:
    return (
        select(
            Tenant.id.label("tenant"),
            func.count(RunRow.id).label("runs"),
            _sum(RunRow.state.in_(sorted(ENDED)), 1).label("ended"),
            func.coalesce(func.sum(RunRow.answers), 0).label("answers"),
            func.coalesce(func.sum(RunRow.evaluations), 0).label("evaluations"),
            _sum(due, 1).label("due_runs"),
            _sum(due, RunRow.answers).label("due_answers"),
        )
        .outerjoin(RunRow, and_(RunRow.tenant == Tenant.id, there))
        .group_by(Tenant.id)
        .order_by(Tenant.id)
    )


def _sum(condition: ColumnElement[bool], value: object) -> ColumnElement[int]:
    return func.coalesce(func.sum(case((condition, value), else_=0)), 0)
