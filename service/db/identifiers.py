"""Ids as people give them: whole, or any beginning of at least six characters that names one thing."""

import re
from collections.abc import Sequence

from sqlalchemy import Connection, Select

from service.errors import AmbiguousIdError, NotFoundError

_MIN_LENGTH = 6
_SHOWN = 5
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
    column = ids.selected_columns[0]
    query = ids.where(column >= beginning, column < _after(beginning)).order_by(column).limit(_SHOWN + 1)
    found = list(connection.execute(query).scalars())
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


def _after(beginning: str) -> str:
    """The first text that sorts behind every text with this beginning."""
    return beginning[:-1] + chr(ord(beginning[-1]) + 1)
