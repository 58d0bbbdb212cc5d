"""Ids as people give them, whole or any beginning of at least six characters, and in portions for statements."""

import re
from collections.abc import Iterator, Sequence

from sqlalchemy import ColumnElement, Connection, LargeBinary, Select, and_, literal, select, union_all

from service.db.compact_ids import CompactId, is_whole, ranges
from service.errors import AmbiguousIdError, NotFoundError

_MIN_LENGTH = 6
_SHOWN = 5
# PostgreSQL takes up to about so many ids from the index, and reads all of a table of 100,000 rows for more.
_CHUNK = 200
_PREFIXES = {"run": "run_", "candidate": "cnd_", "proposal": "prp_", "batch": "bat_"}
_WORD = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)


def resolve(connection: Connection, ids: Select[str], noun: str, beginning: str, hint: str) -> str:
    """The one id that begins so.

    Args:
        connection: in a transaction.
        ids: selects the ids that are there.
        noun: what they name.
        beginning: as it was given.
        hint: how to find those that exist.

    Raises:
        NotFoundError: no id begins so.
        AmbiguousIdError: several do, or it is too short to tell.
    """
    if beginning and "_" not in beginning:  # of the id behind its prefix
        beginning = _PREFIXES.get(noun, "") + beginning
    if not _WORD.fullmatch(beginning):
        raise NotFoundError(f"there is no {noun} {beginning[:60]!r}: {hint}")
    found = _beginning_with(connection, ids, beginning)
    if beginning in found:
        return beginning
    if len(beginning) < _MIN_LENGTH:
        raise AmbiguousIdError(f"{beginning!r} is too short to name a {noun}: give at least {_MIN_LENGTH} characters")
    if not found:
        raise NotFoundError(f"there is no {noun} {beginning}: {hint}")
    if len(found) > 1:
        more = ", ..." if len(found) > _SHOWN else ""
        raise AmbiguousIdError(f"{beginning} begins several ids, give more of it: {', '.join(found[:_SHOWN])}{more}")
    return found[0]


def wellformed(ids: Sequence[str]) -> list[str]:
    """Those that could be whole ids, each once, in order; what no database could hold is not asked for."""
    return [word for word in dict.fromkeys(ids) if _WORD.fullmatch(word)]


def chunks(ids: Sequence[str]) -> Iterator[list[str]]:
    """Distinct ids in portions that a statement takes."""
    distinct = list(dict.fromkeys(ids))
    for start in range(0, len(distinct), _CHUNK):
        yield distinct[start : start + _CHUNK]


def _beginning_with(connection: Connection, ids: Select[str], beginning: str) -> list[str]:
    column = ids.selected_columns[0]
    if not isinstance(column.type, CompactId):
        query = ids.where(column >= beginning, column < _after(beginning)).order_by(column).limit(_SHOWN + 1)
        return list(connection.execute(query).scalars())
    if is_whole(beginning) and (whole := connection.execute(ids.where(column == beginning)).scalar()):
        return [whole]
    # One after the other and not one or the other: each is a range of the index.
    parts = [ids.where(_within(column, *ends)).order_by(column).limit(_SHOWN + 1) for ends in ranges(beginning)]
    merged = union_all(*(select(part.subquery().c[0]) for part in parts))
    return [found for found in connection.execute(merged).scalars() if found.startswith(beginning)][: _SHOWN + 1]


def _within(column: ColumnElement[str], low: bytes, high: bytes) -> ColumnElement[bool]:
    return and_(column >= literal(low, LargeBinary), column < literal(high, LargeBinary))


def _after(beginning: str) -> str:
    """The first text that sorts behind every text with this beginning."""
    return beginning[:-1] + chr(ord(beginning[-1]) + 1)
