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
    """Requests of a server, everybody's: what it computes, and what waits for room in its batch."""

    running: float
    waiting: float


class ConcurrencyController:
    """Grows by additions and shrinks by a share, as flows do that share a line (Chiu and Jain, 1989); a pure machine.

    Whoever shares a server sees the same queue: all give up the same share of what they have and win the same number
    back, which brings them together. The share is the part of the requests that is too much (as in DCTCP, RFC 8257), up
    to a half, so that little is given up for a little. A few requests may wait: a batch that always finds the next one
    runs without gaps. Until the first wait it grows by half at a time.

    Args:
        ceiling: the most calls; until a server has said anything, the limit is at most `FIRST_CALLS`.
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
        """The server does not say what waits: the ceiling alone holds."""
        self._calls, self._found, self._told = float(self._ceiling), True, False

    def miss(self) -> None:
        """The server could not be asked: what it said last holds on, and the ceiling where it never said anything."""
        if not self._told:
            self.free()

    def take(self, load: ConcurrencyLoad, *, now: int, maximum: int) -> None:
        """Learn how the server fares.

        Args:
            load: what it says.
            now: our calls under way.
            maximum: the most of them since the last time.
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
