"""How often a key may call."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What is left in a bucket. `retry_after_seconds` 0: the call may go on."""

    limit: int
    remaining: int
    retry_after_seconds: float
    reset_seconds: float


class RateLimiter(Protocol):
    """Token buckets by name, shared by all processes that serve."""

    async def take(self, name: str) -> Allowance:
        """Take one token, if there is one; a limiter that is away lets everything pass."""
