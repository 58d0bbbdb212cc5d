"""Rows that may be there already: the one place that knows how each database skips them."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Executable
from sqlalchemy.dialects import postgresql, sqlite

from service.db.columns import Base


@cache
def insert_once(model: type[Base], dialect: str) -> Executable:
    """An INSERT that leaves a row alone which is there already."""
    if dialect == "postgresql":
        return postgresql.insert(model).on_conflict_do_nothing()
    return sqlite.insert(model).on_conflict_do_nothing()


def add(connection: Connection, model: type[Base], rows: Sequence[Mapping[str, Any]]) -> int:
    """Add rows that are not there yet; how many were added."""
    if not rows:
        return 0
    statement = insert_once(model, connection.dialect.name).execution_options(preserve_rowcount=True)
    return connection.execute(statement, rows).rowcount
