"""No call to PostgreSQL waits for ever: not for a host that died, nor for a server that stands still."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, overload

import psycopg
from psycopg.abc import RV, Params, PQGen, Query
from sqlalchemy import Connection, Engine, event, exc
from sqlalchemy.pool import ConnectionPoolEntry

# Longer than the server waits for a lock, and than any statement of everyday work takes.
CALL_SECONDS = 60.0
# What copies a database or changes its schema.
LONG_CALL_SECONDS = 6 * 3600.0
# A connection whose server answered so short a time ago is not tried before its next use.
TRUSTED_SECONDS = 0.5
# A host that vanished is given up after 20 to 25 seconds, whether it owes us an answer or the receipt of a question.
TCP = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 20_000}


class DeadlineConnection(psycopg.Connection[Any]):
    """A connection whose every conversation with the server has a deadline.

    Attributes:
        call_seconds: how long one may take; then the connection is closed, for nobody knows in what state it is.
        answered_at: when the last one ended, by the steady clock.
    """

    call_seconds = CALL_SECONDS
    answered_at = float("-inf")

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Take a conversation to its end.

        Raises:
            OperationalError: the server did not answer in time.
        """
        seconds = self.call_seconds if timeout is None else min(timeout, self.call_seconds)
        try:
            said = super().wait(gen, interval, seconds)
        except psycopg.errors._WaitTimeout as error:  # noqa: SLF001 - no public name, and its parent says too little
            self.pgconn.finish()
            raise psycopg.OperationalError(f"the server did not answer within {seconds:g} seconds") from error
        self.answered_at = time.monotonic()
        return said


class ResultColumns(Sequence[psycopg.Column]):
    """The columns of a result, each described when it is asked for.

    SQLAlchemy looks at them once for a statement that it knows, and else only whether there are any.
    """

    def __init__(self, cursor: "CopyCursor", size: int) -> None:
        self._cursor, self._size = cursor, size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> psycopg.Column: ...
    @overload
    def __getitem__(self, place: slice) -> list[psycopg.Column]: ...
    def __getitem__(self, place: int | slice) -> psycopg.Column | list[psycopg.Column]:
        if isinstance(place, slice):
            return [self[index] for index in range(*place.indices(self._size))]
        return psycopg.Column(self._cursor, range(self._size)[place])


class CopyCursor(psycopg.Cursor[Any]):
    """A cursor that takes `COPY ... FROM STDIN` with rows, so that it goes the way of every other statement."""

    @property
    def description(self) -> Sequence[psycopg.Column] | None:  # type: ignore[override] # a list, which is made whole
        """The columns of the result; None: it has none."""
        result = self.pgresult
        return ResultColumns(self, result.nfields) if result and result.nfields else super().description

    def executemany(self, query: Query, params_seq: Iterable[Params], *, returning: bool = False) -> None:
        """Execute a statement with each of these rows, or copy all of them."""
        if not (isinstance(query, str) and query.startswith("COPY ")):
            super().executemany(query, params_seq, returning=returning)
            return
        with self.copy(query) as copy:
            for row in params_seq:
                copy.write_row(row)  # type: ignore[arg-type]  # rows of a COPY are sequences


def guard(engine: Engine, call_seconds: float | None) -> None:
    """Give every connection of an engine a deadline for its calls, and try those that rested; None: the usual one."""
    seconds = CALL_SECONDS if call_seconds is None else call_seconds

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: object, _record: object, words: list[Any], keys: dict[str, Any]) -> DeadlineConnection:
        return DeadlineConnection.connect(*words, cursor_factory=CopyCursor, **keys)

    @event.listens_for(engine, "checkout")
    def renew(connection: DeadlineConnection, _record: ConnectionPoolEntry, _proxy: object) -> None:
        connection.call_seconds = seconds
        if time.monotonic() - connection.answered_at > TRUSTED_SECONDS:
            try:
                engine.dialect.do_ping(connection)  # type: ignore[arg-type] # what the driver gives is what it takes
            except psycopg.Error as error:  # all that are as old go with it, and a new one comes
                raise exc.InvalidatePoolError("the server has ended the connection") from error


def extend(connection: Connection) -> None:
    """Let the calls of a connection take hours, until it is given back."""
    driver = connection.connection.driver_connection
    if isinstance(driver, DeadlineConnection):
        driver.call_seconds = LONG_CALL_SECONDS
