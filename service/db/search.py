"""A text in the sources of a run's programs: found a portion at a time, in the sources of that run alone."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row

from service.db import programs
from service.db.identifiers import chunks
from service.db.row_mappers import AnySelect

# By one call, which is some tenths of a second of one core.
MAX_LOOKED_THROUGH = 10_000


def search(
    connection: Connection, portions: Sequence[AnySelect], text: str, limit: int
) -> tuple[list[str], Row[Any] | None]:
    """Ids of candidates with a text in their sources, and the row that was reached; None: all were looked through.

    A program is read once however many candidates it is of. It is compared here: the database holds it packed.

    Args:
        portions: select `id` and `program_id` of candidates one after the other, in the order wanted.
        text: as it stands in a file, letters of either case.
        limit: stop after so many.
    """
    rows: list[Row[Any]] = []
    for portion in portions:
        rows += connection.execute(portion.limit(MAX_LOOKED_THROUGH + 1 - len(rows))).all()
    found: list[str] = []
    for row, holds in _looked_through(connection, rows[:MAX_LOOKED_THROUGH], text):
        if holds:
            found.append(row.id)
        if len(found) == limit:
            return found, None if row is rows[-1] else row
    return found, rows[MAX_LOOKED_THROUGH - 1] if len(rows) > MAX_LOOKED_THROUGH else None


def _looked_through(connection: Connection, rows: Sequence[Row[Any]], text: str) -> Iterator[tuple[Row[Any], bool]]:
    wanted = text.lower()
    known: dict[str, bool] = {}
    ahead = chunks([row.program_id for row in rows if row.program_id is not None])
    for row in rows:
        while row.program_id is not None and row.program_id not in known:
            chunk = next(ahead)
            known |= dict.fromkeys(chunk, False)
            for program_id, program in programs.load(connection, chunk).items():
                known[program_id] = any(wanted in content.lower() for _, content in program.files)
        yield row, known.get(row.program_id, False)
