"""When to try again after a failure, and how long to wait: exponential backoff with jitter, and `Retry-After`."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

RETRIED = frozenset({408, 409, 425, 429})
NOT_IMPLEMENTED = 501
MAX_RETRY_AFTER_SECONDS = 3600.0
# 2 to this power is longer than any limit, and no wait overflows before it meets its own.
_MAX_DOUBLINGS = 60


def worth_retrying(status: int) -> bool:
    """Whether an HTTP status may go away by itself."""
    return status in RETRIED or (status >= 500 and status != NOT_IMPLEMENTED)


def read_retry_after(
    value: str | None, now: Callable[[], datetime], max_seconds: float = MAX_RETRY_AFTER_SECONDS
) -> float:
    """Seconds that a `Retry-After` header asks for (RFC 9110, 10.2.3): a number or a date; 0.0 when it says nothing.

    A value of another form counts as nothing. No header makes anybody wait for more than `max_seconds`.
    """
    if value is None:
        return 0.0
    text = value.strip()
    try:
        seconds = float(text) if text.replace(".", "", 1).isdecimal() else _until(text, now())
    except (ValueError, OverflowError):
        return 0.0
    return min(max(seconds, 0.0), max_seconds)


def _until(date: str, now: datetime) -> float:
    moment = parsedate_to_datetime(date)
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """How often and how soon something is tried again (Brooker, "Exponential Backoff And Jitter", 2015).

    Attributes:
        attempts: tries in all before `wait` hands the failure on; `seconds` knows no last one.
        first_seconds: upper bound of the first wait; it doubles from there.
        max_seconds: upper bound of any wait. A server that asks for more is not waited for here: the caller is told.
        jitter: share of each wait that is left to chance. 1.0 is full jitter, 0.0 none.
    """

    attempts: int = 4
    first_seconds: float = 0.5
    max_seconds: float = 20.0
    jitter: float = 1.0

    def seconds(self, attempt: int, draw: float = 1.0) -> float:
        """Seconds to wait after failed attempt number `attempt` (from 1), however many there were.

        Args:
            attempt: its number.
            draw: chance in [0, 1), which chooses within the jitter; 1.0 is the longest wait.
        """
        bound = min(self.max_seconds, self.first_seconds * 2.0 ** min(attempt - 1, _MAX_DOUBLINGS))
        return bound * (1.0 - self.jitter + self.jitter * draw)

    def wait(self, attempt: int, retry_after_seconds: float, rng: "np.random.Generator") -> float | None:
        """Seconds to wait after failed attempt number `attempt` (from 1); None: hand the failure on."""
        if attempt >= self.attempts or retry_after_seconds > self.max_seconds:
            return None
        return max(retry_after_seconds, self.seconds(attempt, float(rng.random())))
