"""A text in the sources of a run's programs: found a portion at a time, in the sources of that run alone."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, String, cast, select

from service.db.models import ProgramRow
from service.db.row_mappers import AnySelect, chunks

# By one call, which is some tenths of a second of one core.
MAX_LOOKED_THROUGH = 10_000
_ESCAPE = "!"
# Programs are stored as JSON in ASCII, which both databases compare without regard to case.
_STORED = cast(ProgramRow.files, String().with_variant(String(collation="C"), "postgresql"))


def search(
    connection: Connection, portions: Sequence[AnySelect], text: str, limit: int
) -> tuple[list[str], Row[Any] | None]:
    """Ids of candidates with a text in their sources, and the row that was reached; None: all were looked through.

    A program is read once however many candidates it is of. The database leaves out what cannot hold the text; what is
    left is compared here, since the databases disagree about letters beyond ASCII and know nothing of JSON's escapes.

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
    wanted, pattern = text.lower(), f"%{_pattern(text)}%"
    known: dict[str, bool] = {}
    ahead = chunks([row.program_id for row in rows if row.program_id is not None])
    for row in rows:
        while row.program_id is not None and row.program_id not in known:
            chunk = next(ahead)
            known |= dict.fromkeys(chunk, False)
            likely = select(ProgramRow.id, ProgramRow.files).where(
                ProgramRow.id.in_(chunk), _STORED.ilike(pattern, escape=_ESCAPE)
            )
            for program_id, files in connection.execute(likely):
                known[program_id] = any(wanted in content.lower() for _, content in files)
        yield row, known.get(row.program_id, False)


def _pattern(text: str) -> str:
    """What the JSON of each text that holds this one is like."""
    return "".join(map(_like, text))


def _like(character: str) -> str:
    stored = json.dumps(character)[1:-1]
    if not character.isascii() and not character.upper() == character == character.lower():
        # Its other case is another escape of as many characters.
        return "\\u____" * (len(stored) // 6)
    return "".join(_ESCAPE + one if one in {_ESCAPE, "%", "_"} else one for one in stored)
