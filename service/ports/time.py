"""Time, passed in."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Time, passed in."""

    def now(self) -> datetime:
        """The current time, aware, UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back."""
