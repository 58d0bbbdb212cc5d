"""The clock of an installation: that of its PostgreSQL, however wrong the clocks of the machines around it are."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import Connection, func, select

from service.db.columns import UtcDateTime

# How far apart two good clocks drift within it is far below what times are told to.
ASK_AGAIN_SECONDS = 10.0
# An answer that took longer says too little of the time at which it came.
MAX_ASKING_SECONDS = 1.0

_Steady = Callable[[], float]


class DatabaseClock:
    """The time that a database told last, carried on by the steady clock of this machine.

    Until a database has told its time, and with one that has none of its own, it is the time of this machine.

    Args:
        steady: seconds that never go back.
        machine: the time of this machine.
    """

    def __init__(
        self, steady: _Steady = time.monotonic, machine: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._steady, self._machine = steady, machine
        self._told: tuple[float, float] | None = None

    def now(self) -> datetime:
        """The current time, aware, UTC."""
        told = self._told
        if told is None:
            return self._machine()
        at, epoch = told
        return datetime.fromtimestamp(epoch + self._steady() - at, UTC)

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return self._steady()

    def follow(self, ask: Callable[[], datetime]) -> None:
        """Ask a database for its time, unless it was asked a moment ago.

        Args:
            ask: returns the time of the database; what it raises is handed on.
        """
        began = self._steady()
        if self._told is not None and began - self._told[0] < ASK_AGAIN_SECONDS:
            return
        found = ask()
        ended = self._steady()
        if self._told is None or ended - began <= MAX_ASKING_SECONDS:
            self._told = ended, found.timestamp()


def server_time(connection: Connection) -> datetime:
    """The time of a PostgreSQL, within a transaction as well."""
    found: datetime = connection.execute(select(func.clock_timestamp(type_=UtcDateTime()))).scalar_one()
    return found
