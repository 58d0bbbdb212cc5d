"""The machine's own time."""

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
