"""Quotas and usage of tenants on a database."""

from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update

from service.db.columns import is_id
from service.db.engine import Database
from service.db.models import RunRow, Tenant
from service.db.reader import LIVE
from service.db.usage import hours_around, total
from service.errors import NotFoundError
from service.ports import Quotas, UsageRecord


class SqlAccounts:
    """The port Accounts on SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def quotas(self, tenant: str) -> Quotas:
        """The limits of a tenant.

        Raises:
            NotFoundError: no such tenant.
        """
        with self._database.read() as connection:
            stored = connection.execute(select(Tenant.quotas).where(is_id(Tenant.id, tenant))).scalar()
        if stored is None:
            raise _missing(tenant)
        return Quotas(**{name: stored.get(name) for name in Quotas.__slots__})

    def hold(self, tenant: str) -> None:
        """Let nobody else count a tenant's usage in order to add to it, until the unit under way ends.

        Raises:
            NotFoundError: no such tenant.
        """
        held = select(Tenant.id).where(is_id(Tenant.id, tenant)).with_for_update(key_share=True)
        with self._database.write() as connection:
            if connection.execute(held).scalar() is None:
                raise _missing(tenant)

    def set_quotas(self, tenant: str, quotas: Quotas) -> None:
        """Set them.

        Raises:
            NotFoundError: no such tenant.
        """
        statement = update(Tenant).where(is_id(Tenant.id, tenant)).values(quotas=quotas.as_json())
        with self._database.write() as connection:
            if connection.execute(statement).rowcount != 1:
                raise _missing(tenant)

    def active_runs(self, tenant: str) -> int:
        """How many runs of a tenant have not ended."""
        query = select(func.count()).where(RunRow.tenant == tenant, RunRow.state.in_(LIVE))
        with self._database.read() as connection:
            return connection.execute(query).scalar_one()

    def usage(self, tenant: str, since: datetime, until: datetime) -> UsageRecord:
        """What was used in the whole hours that a span touches; the record names their beginning and their end.

        Evaluations and tokens of deleted runs stay counted, cancelled evaluations are not.
        """
        begin, end = hours_around(since, until)
        with self._database.read() as connection:
            found: dict[str, Any] = dict(connection.execute(total(tenant, begin, end)).mappings().one())
        seconds = float(found.pop("evaluation_seconds"))
        counts = {name: int(value) for name, value in found.items()}  # PostgreSQL adds integers up to decimals
        return UsageRecord(
            tenant=tenant,
            since=begin,
            until=end,
            evaluation_seconds=seconds,
            active_runs=self.active_runs(tenant),
            **counts,
        )


def _missing(tenant: str) -> NotFoundError:
    return NotFoundError(f"there is no tenant {tenant[:60]!r}")
