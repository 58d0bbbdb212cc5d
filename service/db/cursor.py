"""The cursor of connections to PostgreSQL."""

from collections.abc import Iterable
from typing import Any

import psycopg
from psycopg.abc import Params, Query


class PatientCursor(psycopg.Cursor[Any]):
    """Sends the rows of a statement one after another, each a statement of its own to the server.

    psycopg would send them as one conversation. A process that stands still in the middle of one counts as busy there,
    not as idle in a transaction, so that no timeout ends it: it would hold its locks for as long as it stands still,
    and no other could take its leases over.
    """

    _total: int | None = None

    @property
    def rowcount(self) -> int:
        """Rows that the last statement changed, all its parameters together."""
        return super().rowcount if self._total is None else self._total

    def execute(self, *words: Any, **options: Any) -> Any:
        """As psycopg's."""
        self._total = None
        return super().execute(*words, **options)

    def executemany(self, query: Query, params_seq: Iterable[Params], *, returning: bool = False) -> None:
        """As psycopg's, but for results, of which only the last row's are kept."""
        del returning
        total = 0
        for params in params_seq:
            self.execute(query, params, prepare=True)
            total += max(0, self.rowcount)
        self._total = total
