"""Runs in columns, saved beside their events by the API processes that have read them."""

from functools import cache
from typing import Any

from sqlalchemy import Executable, select
from sqlalchemy.dialects import postgresql, sqlite

from service.db.engine import Database
from service.db.models import RunColumnsRow, RunRow
from service.db.presence import there


class SqlColumnStore:
    """The port ColumnStore on SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self, run_id: str, form: str) -> bytes | None:
        """What was saved of a run in a format; None: nothing."""
        query = select(RunColumnsRow.content).where(RunColumnsRow.run_id == run_id, RunColumnsRow.format == form)
        with self._database.read() as connection:
            return connection.execute(query).scalar()

    def save(self, run_id: str, form: str, sequence: int, content: bytes) -> None:
        """Save a run up to an event, unless more of it is saved, or it is being deleted."""
        row = {"run_id": run_id, "format": form, "sequence": sequence, "content": content}
        with self._database.write() as connection:
            run = select(RunRow.id).where(RunRow.id == run_id, there).with_for_update(key_share=True, read=True)
            if connection.execute(run).scalar() is not None:
                connection.execute(_upsert(connection.dialect.name), row)


@cache
def _upsert(dialect: str) -> Executable:
    insert: Any = postgresql.insert if dialect == "postgresql" else sqlite.insert
    statement = insert(RunColumnsRow)
    given = statement.excluded
    changes = {name: given[name] for name in ("format", "sequence", "content")}
    newer = (RunColumnsRow.format != given.format) | (RunColumnsRow.sequence < given.sequence)
    upsert: Executable = statement.on_conflict_do_update(index_elements=["run_id"], set_=changes, where=newer)
    return upsert
