"""Server load: the number of waiting requests sets the number of concurrent calls."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from prometheus_client import Gauge

from evolve.errors import PolicyError
from service.policy.concurrency_controller import ConcurrencyController, ConcurrencyLoad

LOOK_SECONDS = 1.0
QUIET_SECONDS = 300.0
_JITTER = 0.2
CONCURRENCY = Gauge("evolve_policy_concurrency", "Concurrent calls that the policies of this process allow now")


class ServerLoad:
    """Counts calls in flight, and sometimes asks the server how many requests wait, while there are calls.

    Args:
        read: asks the server. None: it does not report, and is not asked for `QUIET_SECONDS`.
        ceiling: maximum number of calls.
        look_seconds: average time between two questions. Clients of a server should not ask all at once.
        monotonic: seconds that never go back.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[ConcurrencyLoad | None]],
        ceiling: int,
        *,
        look_seconds: float = LOOK_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._limit = ConcurrencyController(ceiling)
        self._look_seconds = look_seconds
        self._monotonic = monotonic
        self._rng = np.random.default_rng()
        self._quiet_until = -float("inf")
        self._now = self._maximum = self._shown = 0
        self._reachable: bool | None = None
        self._load: ConcurrencyLoad | None = None
        self._looking: asyncio.Task[None] | None = None

    @property
    def calls(self) -> int:
        """Calls at once that suit the server at present."""
        return self._limit.calls

    @property
    def in_flight(self) -> int:
        """Calls in flight."""
        return self._now

    @contextmanager
    def call(self) -> Iterator[None]:
        """A call is under way."""
        self._now += 1
        self._maximum = max(self._maximum, self._now)
        if not self._quiet and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look_on())
        try:
            yield
        finally:
            self._now -= 1

    def health(self) -> dict[str, Any]:
        """The health of the server at the last look: whether it answered, and its queue."""
        running, waiting = (None, None) if self._load is None else (self._load.running, self._load.waiting)
        return {
            "reachable": self._reachable,
            "running": _finite(running),
            "waiting": _finite(waiting),
            "calls": self.calls,
            "in_flight": self._now,
        }

    async def look(self) -> None:
        """Ask the server once, unless it told lately that it does not tell."""
        if self._quiet:
            return
        try:
            self._load = await self._read()
        except PolicyError:
            self._reachable, self._load = False, None
            self._limit.miss()
        else:
            self._reachable = True
            self._learn(self._load)
        self._show(self._limit.calls)

    async def close(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
        self._show(0)

    @property
    def _quiet(self) -> bool:
        return self._monotonic() < self._quiet_until

    def _learn(self, load: ConcurrencyLoad | None) -> None:
        if load is None:
            self._limit.free()
            self._quiet_until = self._monotonic() + QUIET_SECONDS
            return
        self._limit.take(load, now=self._now, maximum=self._maximum)
        self._maximum = self._now

    def _show(self, calls: int) -> None:
        CONCURRENCY.inc(calls - self._shown)
        self._shown = calls

    async def _look_on(self) -> None:
        while self._now and not self._quiet:
            await self.look()
            await asyncio.sleep(self._look_seconds * float(self._rng.uniform(1 - _JITTER, 1 + _JITTER)))


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
