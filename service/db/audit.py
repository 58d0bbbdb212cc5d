"""The audit log on a database."""

from sqlalchemy import insert, select

from service.db.account_models import AuditRow
from service.db.engine import Database
from service.ports import AuditEntry


class SqlAuditLog:
    """The port AuditLog on SQLite or PostgreSQL.

    What is written in a unit is taken back with it: write what was refused after the unit's end.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, entry: AuditEntry) -> None:
        """Append an entry."""
        with self._database.write() as connection:
            connection.execute(insert(AuditRow), [{name: getattr(entry, name) for name in AuditEntry.__slots__}])

    def entries(self, tenant: str, before: str = "", limit: int = 50) -> list[AuditEntry]:
        """Entries of a tenant, newest first."""
        query = select(*AuditRow.__table__.c).where(AuditRow.tenant == tenant)
        if before:
            query = query.where(AuditRow.id < before)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(AuditRow.id.desc()).limit(limit)).mappings()
            return [AuditEntry(**row) for row in rows]
