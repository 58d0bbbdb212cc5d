"""The circuit breaker: it pauses calls to a failing policy for a growing time, then tries a single call."""

from collections.abc import Callable
from enum import StrEnum

from service.net.retry import Backoff

TRIAL_SECONDS = 1.0  # until whoever comes during a trial may ask again


class BreakerState(StrEnum):
    """Whether calls are allowed: all, none, or a single trial."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Breaker:
    """Counts consecutive failures and decides whether a call is allowed. A pure state machine over a passed clock.

    Every admitted call ends with exactly one of `succeeded`, `failed` and `abandoned`.

    Args:
        monotonic: seconds that never go back.
        failures: consecutive failures that open it.
        first_seconds: time that it stays open at first. It doubles each time.
        max_seconds: maximum time that it stays open.
    """

    def __init__(
        self,
        monotonic: Callable[[], float],
        *,
        failures: int = 6,
        first_seconds: float = 5.0,
        max_seconds: float = 60.0,
    ) -> None:
        self._monotonic = monotonic
        self._threshold = failures
        self._backoff = Backoff(first_seconds=first_seconds, max_seconds=max_seconds, jitter=0.0)
        self._failures = 0
        self._openings = 0
        self._closed = True
        self._open_until = 0.0
        self._trying = False

    @property
    def state(self) -> BreakerState:
        """Its present state."""
        if self._closed:
            return BreakerState.CLOSED
        return BreakerState.OPEN if self._monotonic() < self._open_until else BreakerState.HALF_OPEN

    @property
    def wait_seconds(self) -> float:
        """Remaining time that it stays open. 0.0 if it is not open."""
        return self._open_until - self._monotonic() if self.state is BreakerState.OPEN else 0.0

    def admit(self) -> float:
        """Ask to make a call: 0.0 lets it out, any other number is the seconds to wait before asking again."""
        state = self.state
        if state is BreakerState.CLOSED:
            return 0.0
        if state is BreakerState.OPEN:
            return self.wait_seconds
        if self._trying:
            return TRIAL_SECONDS
        self._trying = True
        return 0.0

    def succeeded(self) -> None:
        """The call was answered, so any fault is over."""
        self._closed = True
        self._trying = False
        self._failures = self._openings = 0

    def failed(self, retry_after_seconds: float = 0.0) -> None:
        """The call failed. The server may have named a time to retry."""
        state = self.state
        self._failures += 1
        if state is BreakerState.HALF_OPEN or (state is BreakerState.CLOSED and self._failures >= self._threshold):
            self._open(retry_after_seconds)

    def abandoned(self) -> None:
        """The call was given up by its maker and says nothing about the policy."""
        self._trying = False

    def _open(self, retry_after_seconds: float) -> None:
        self._openings += 1
        self._open_until = self._monotonic() + max(self._backoff.seconds(self._openings), retry_after_seconds)
        self._closed = self._trying = False
