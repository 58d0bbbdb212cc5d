"""The limit: how many calls at once suit a server that says how many of its requests wait."""

from dataclasses import dataclass

FIRST_CALLS = 4
FIRST_GROWTH = 1.5
MIN_SHARE = 0.5
SPARE = 8  # for each so many requests that run, one may wait
MIN_SPARE = 2.0
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrencyLoad:
    """Requests of a server, of all clients: those in progress, and those waiting for its batch."""

    running: float
    waiting: float


class ConcurrencyController:
    """Additive increase and multiplicative decrease (Chiu and Jain, 1989), as a pure machine.

    All clients of a server see the same queue. Each gives up the same share of its calls and regains the same number,
    which makes them equal. The share is the excess part of the requests (as in DCTCP, RFC 8257), at most a half, so
    small excess costs little. A few requests may wait, because a batch that always finds the next request runs without
    gaps. Until the first wait, the limit grows by half at a time.

    Args:
        ceiling: maximum number of calls. Until the server has reported, the limit is at most `FIRST_CALLS`.
    """

    def __init__(self, ceiling: int) -> None:
        self._ceiling = ceiling
        self._calls = float(min(FIRST_CALLS, ceiling))
        self._found = False
        self._told = False

    @property
    def calls(self) -> int:
        """The present limit, from 1 to the ceiling."""
        return int(self._calls + _ROUNDING)

    def free(self) -> None:
        """The server does not report waiting requests. Only the ceiling applies."""
        self._calls, self._found, self._told = float(self._ceiling), True, False

    def miss(self) -> None:
        """The server could not be asked. Its last report stays valid, or the ceiling if there was none."""
        if not self._told:
            self.free()

    def take(self, load: ConcurrencyLoad, *, now: int, maximum: int) -> None:
        """Take a report of the server.

        Args:
            load: the report.
            now: our calls in flight.
            maximum: maximum number of them since the last report.
        """
        self._told = True
        spare = max(MIN_SPARE, load.running / SPARE)
        if load.waiting > spare:
            self._found = True
            if now <= self.calls:  # else the last cut still takes effect
                share = (load.running + spare) / (load.running + load.waiting)
                self._calls = max(1.0, self._calls * max(MIN_SHARE, share))
        elif maximum >= self.calls:  # else nobody needs more
            # A server that has not even got our calls does not know yet that it is full.
            first = not self._found and load.running + load.waiting >= now
            grown = self._calls * FIRST_GROWTH if first else self._calls + 1
            self._calls = min(grown, float(self._ceiling))
