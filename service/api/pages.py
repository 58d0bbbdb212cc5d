"""Lists: pages by keyset, with cursors that are bound to what was asked for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Query

from service.api.faults import ApiFault
from service.schemas.problem_details import Code
from service.seal import Seal

DEFAULT_LIMIT, MOST_LIMIT = 50, 200
_Row = TypeVar("_Row")

Limit = Annotated[int, Query(ge=1, description=f"Items on a page; more than {MOST_LIMIT} are {MOST_LIMIT}.")]
Cursor = Annotated[str, Query(max_length=4096, description="`next_cursor` of the page before; empty: the first page.")]
Include = Annotated[str, Query(pattern="^(count)?$", description="`count` adds how many there are in all.")]


class Paging:
    """Where a list goes on.

    Args:
        seal: signs cursors.
        cursor: as the caller gave it.
        limit: as the caller gave it.
        about: what was asked for: a cursor goes on with the same question only.

    Raises:
        ApiFault: the cursor is not one of this list.
    """

    def __init__(self, seal: Seal, cursor: str, limit: int, about: Mapping[str, Any]) -> None:
        self.limit = min(limit, MOST_LIMIT)
        self._seal, self._about = seal, {key: str(value) for key, value in about.items()}
        self.after: Any = None
        if cursor:
            value = seal.open("cursor", cursor)
            if value is None or value["about"] != self._about:
                raise ApiFault(
                    400, Code.INVALID_CURSOR, "the cursor is none of this list: begin again without one, same filters"
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
        return self._seal.sign("cursor", {"about": self._about, "after": place})
