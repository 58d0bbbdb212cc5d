"""Policy queue: the calls of one policy, those under way and those on their way to it, and whether it can be asked."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from evolve.configuration import ConcurrencyConfig
from evolve.ports import AdaptedPolicy, Policy, ServedPolicy

if TYPE_CHECKING:
    from evolve.proposal import Proposal


DENIED_RETRY_SECONDS = 30.0


class PolicyQueue:
    """What goes on at one policy.

    Args:
        policy: whom it asks.
        limits: how much goes on at once, as it holds then; 0: as many as suit the policy.

    Attributes:
        waiting: proposals that wait for room.
        calls: tasks of those under way.
        retry_seconds: when the next is tried, from when `denied` was set.
    """

    def __init__(self, policy: Policy, limits: Callable[[], ConcurrencyConfig]) -> None:
        self.policy = policy
        self._served = policy if isinstance(policy, ServedPolicy) else None  # asked once: it takes 20 us, and turns ask
        self.waiting: deque[Proposal] = deque()
        self.calls: set[asyncio.Task[None]] = set()
        self.retry_seconds = 0.0
        self._limits = limits
        self._denied, self._heard_before = "", 0

    @property
    def denied(self) -> str:
        """Why the last call did not get through; empty: calls do, as far as is known, or a reply comes in meanwhile."""
        return self._denied if self._heard == self._heard_before else ""

    @property
    def last_denied(self) -> str:
        """Why the last call that ended did not get through; empty: it did, or none has ended."""
        return self._denied

    def admit(self) -> None:
        """Take in that a call got through."""
        self._denied = ""

    def notices(self) -> Sequence[AdaptedPolicy]:
        """What the policy learnt of its server since this was asked last."""
        return () if self._served is None else self._served.notices()

    @property
    def _heard(self) -> int:
        return 0 if self._served is None else self._served.heard

    @property
    def maximum(self) -> int:
        """Calls at once that suit the policy at present."""
        calls = self.policy.concurrency
        return min(self._limits().policy or calls, calls)

    @property
    def proposing(self) -> int:
        """Proposals at the policy, or on their way to it."""
        return len(self.calls) + len(self.waiting)

    @property
    def away(self) -> bool:
        """Whether no call got through of late, and it is not yet time to try another, or one tries already."""
        return bool(self.denied) and self.proposing > 0

    @property
    def full(self) -> bool:
        """Whether another proposal would have to wait."""
        return self.proposing >= self.maximum

    async def rest(self, reason: str, seconds: float) -> None:
        """Let the policy alone for a while; who does so is one of its calls."""
        self._denied, self.retry_seconds = reason, seconds
        self._heard_before = self._heard
        await asyncio.sleep(seconds)
