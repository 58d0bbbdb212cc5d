"""When to ask again after a failure, and how long to wait: exponential backoff with full jitter and `Retry-After`."""

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


def worth_retrying(status: int) -> bool:
    """Whether an HTTP status may go away by itself."""
    return status in RETRIED or (status >= 500 and status != NOT_IMPLEMENTED)


def read_retry_after(value: str | None, now: Callable[[], datetime]) -> float:
    """Seconds that a `Retry-After` header asks for (RFC 9110, 10.2.3): a number or a date; 0.0 when it says nothing.

    What is no such value counts as nothing, and no header makes anybody wait for more than an hour.
    """
    if value is None:
        return 0.0
    text = value.strip()
    try:
        seconds = float(text) if text.replace(".", "", 1).isdecimal() else _until(text, now())
    except (ValueError, OverflowError):
        return 0.0
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_SECONDS)


def _until(date: str, now: datetime) -> float:
    moment = parsedate_to_datetime(date)
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """How often and how soon a request is repeated (full jitter: Brooker, "Exponential Backoff And Jitter", 2015).

    Attributes:
        attempts: requests made in all before the failure is handed on.
        first_seconds: upper bound of the first wait; it doubles from there.
        max_seconds: upper bound of any wait. A server that asks for more is not waited for here: the caller is told.
    """

    attempts: int = 4
    first_seconds: float = 0.5
    max_seconds: float = 20.0

    def wait(self, attempt: int, retry_after_seconds: float, rng: "np.random.Generator") -> float | None:
        """Seconds to wait after failed attempt number `attempt` (from 1); None: hand the failure on."""
        if attempt >= self.attempts or retry_after_seconds > self.max_seconds:
            return None
        bound = min(self.max_seconds, self.first_seconds * 2.0 ** (attempt - 1))
        return max(retry_after_seconds, float(rng.uniform(0.0, bound)))
