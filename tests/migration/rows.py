"""All rows of a database as JSON and back, whatever its revision.

`python -m tests.migration.rows FILE.db > tests/migration/data/REVISION.json` keeps the rows of a SQLite database that a
version wrote. Do it when tables have come, with a run among them that was killed; take the names of machines out, and
set its lease to a time long past.
"""

import base64
import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from alembic import command
from sqlalchemy import Connection, DateTime, LargeBinary, MetaData, Table, delete, insert, select
from sqlalchemy.types import TypeEngine

import migrations
from service.db import schema
from service.db.engine import connect

DATA = Path(__file__).parent / "data"
FIRST = migrations.REVISIONS[0]
Rows = Mapping[str, list[dict[str, Any]]]


def dump(connection: Connection) -> Rows:
    """Every table's rows, columns that are null left out."""
    return {
        table.name: sorted((_shown(row) for row in connection.execute(select(table)).mappings()), key=json.dumps)
        for table in _tables(connection)
    }


def fill(connection: Connection, rows: Rows) -> None:
    """Put rows into a database of the same revision, in place of those that its revisions brought."""
    tables = _tables(connection)
    for table in reversed(tables):
        connection.execute(delete(table))
    for table in tables:
        for row in rows[table.name]:
            values = {name: _read(table.c[name].type, value) for name, value in row.items()}
            connection.execute(insert(table).values(values))


def fill_at(url: str, revision: str) -> None:
    """Put the rows that the first version wrote into an empty database, and bring it to a revision."""
    kept: Rows = json.loads((DATA / f"{FIRST}.json").read_text())
    opened = connect(url)
    with opened.write() as connection:
        command.upgrade(schema.configuration(connection), FIRST)
        fill(connection, kept)
        command.upgrade(schema.configuration(connection), revision)
    opened.close()


def contents(url: str) -> Rows:
    """The rows of every table of a database."""
    opened = connect(url)
    with opened.read() as connection:
        found = dump(connection)
    opened.close()
    return found


def is_partition(name: str) -> bool:
    """Whether a table is a part of the table `events`, which has its rows."""
    return name.startswith("events_")


def _tables(connection: Connection) -> list[Table]:
    metadata = MetaData()
    metadata.reflect(connection, only=lambda name, _: name != "alembic_version" and not is_partition(name))
    return list(metadata.sorted_tables)


def _shown(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {name: _show(value) for name, value in row.items() if value is not None}


def _show(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)).isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _read(kind: TypeEngine[Any], value: Any) -> Any:
    if isinstance(kind, DateTime):
        return datetime.fromisoformat(value)
    return base64.b64decode(value) if isinstance(kind, LargeBinary) else value


if __name__ == "__main__":
    with connect(sys.argv[1]).read() as opened:
        tables = dump(opened)
    # One row a line, so that a change of one shows as one.
    lines = (f'"{name}": [\n' + ",\n".join(map(json.dumps, held)) + "\n]" for name, held in tables.items())
    print("{" + ",\n".join(lines) + "}")
