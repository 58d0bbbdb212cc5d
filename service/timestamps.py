"""The machine's own time, and times as the service writes them."""

import time
from datetime import UTC, datetime


class SystemClock:
    """The machine's own time."""

    def now(self) -> datetime:
        """The current time, aware, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()


def rfc3339(at: datetime) -> str:
    """A time by RFC 3339, in UTC, ending in `Z`."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
