"""Lists: pages by keyset, with cursors that are bound to what was asked for."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, TypeVar

from fastapi import Query

from service.api.problem_errors import ApiFault
from service.schemas.problem_details import Code
from service.signer import Signer

DEFAULT_LIMIT, MAX_LIMIT = 50, 200
VERSION = 1  # of cursors: what they hold, and in which form
_Row = TypeVar("_Row")

Limit = Annotated[int, Query(ge=1, description=f"Items on a page. More than {MAX_LIMIT} counts as {MAX_LIMIT}.")]
Cursor = Annotated[str, Query(max_length=4096, description="`next_cursor` of the page before. Empty: the first page.")]
Include = Annotated[str, Query(pattern="^(count)?$", description="`count` adds how many there are in all.")]


class Paging:
    """Where a list goes on.

    Args:
        signer: signs cursors.
        cursor: as the caller gave it.
        limit: as the caller gave it.
        about: what was asked for: a cursor goes on with the same question only.

    Raises:
        ApiFault: the cursor is not one of this list.
    """

    def __init__(self, signer: Signer, cursor: str, limit: int, about: Mapping[str, Any]) -> None:
        self.limit = min(limit, MAX_LIMIT)
        self._signer, self._about = signer, _digest(signer, about)
        self.after: Any = None
        if cursor:
            value = signer.open("cursor", cursor)
            if value is None or (value.get("version"), value["about"]) != (VERSION, self._about):
                raise ApiFault(
                    400,
                    Code.INVALID_CURSOR,
                    "the cursor does not belong to this list, these filters and this version: begin again without one",
                )
            self.after = value["after"]

    def cut(self, rows: Sequence[_Row], place: Callable[[_Row], Any]) -> tuple[Sequence[_Row], str | None]:
        """The page of one row more than fit, and the cursor behind it.

        Args:
            rows: up to `limit` + 1 rows, as they were read with `after`.
            place: where a row stands in the list, as JSON.
        """
        if len(rows) <= self.limit:
            return rows, None
        kept = rows[: self.limit]
        return kept, self.behind(place(kept[-1]))

    def behind(self, place: Any) -> str:
        """The cursor behind a place of the list, as JSON."""
        return self._signer.sign("cursor", {"version": VERSION, "about": self._about, "after": place})


def _digest(signer: Signer, about: Mapping[str, Any]) -> str:
    """The question that a list answers, so that it is recognised and not shown."""
    text = json.dumps(about, default=_plain, sort_keys=True, separators=(",", ":"))
    return signer.digest("cursor-question", text)[:32]


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else asdict(value)
