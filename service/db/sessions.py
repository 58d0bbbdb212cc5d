"""Sessions that were ended before their time, on a database."""

from datetime import datetime

from sqlalchemy import delete, select

from service.db.account_models import EndedSessionRow
from service.db.columns import is_id
from service.db.engine import Database
from service.db.insertion import add


class SqlSessions:
    """The port Sessions on SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def end(self, session_id: str, at: datetime, until: datetime) -> None:
        """Void a session; repeating changes nothing. What is past its time by now is forgotten."""
        with self._database.write() as connection:
            connection.execute(delete(EndedSessionRow).where(EndedSessionRow.until <= at))
            add(connection, EndedSessionRow, [{"id": session_id, "until": until}])

    def ended(self, session_id: str) -> bool:
        """Whether it was."""
        query = select(EndedSessionRow.id).where(is_id(EndedSessionRow.id, session_id))
        with self._database.read() as connection:
            return connection.execute(query).scalar() is not None
