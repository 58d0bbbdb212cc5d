"""Patience: calls to a database that is away are made again until it is back."""

import asyncio
import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import numpy as np

from service.errors import StorageAwayError
from service.net.retry import Backoff
from service.ports import Clock

BACKOFF = Backoff(first_seconds=0.2, max_seconds=5.0, jitter=0.5)
STILL_SECONDS = 5.0
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A database that does not answer: why, as far as it can be said, and since when."""

    reason: str
    since: datetime


class StorageRetry:
    """Makes calls to the database in threads, and makes them again, later and later, while it is away.

    Args:
        seconds: how long a call is made again before its failure is handed on.
        changed: is called when an absence begins, when its reason changes, and when it ends.
    """

    def __init__(self, clock: Clock, seconds: float = math.inf, changed: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._seconds = seconds
        self._until = math.inf
        self._changed = changed
        self._rng = np.random.default_rng()
        self._absences: dict[int, Outage] = {}
        self._calls = 0
        self._hurried = asyncio.Event()

    @property
    def outage(self) -> Outage | None:
        """The absence that some call meets with now; None: the database answers."""
        return min(self._absences.values(), key=lambda outage: outage.since, default=None)

    def hurry(self, seconds: float = 0.0) -> None:
        """Make no call again later than some seconds from now."""
        self._until = min(self._until, self._clock.monotonic() + seconds)
        self._hurried.set()

    async def call(self, function: Callable[[], _Found]) -> _Found:
        """What a function returns; it may be called more than once.

        Raises:
            StorageAwayError: the database was away for longer than patience lasts.
        """
        self._calls += 1
        number, attempt = self._calls, 0
        began, since = self._clock.monotonic(), self._clock.now()
        try:
            while True:
                try:
                    return await undisturbed(function)
                except StorageAwayError as error:
                    self._note(number, Outage(reason=str(error), since=since))
                    if self._over(began):
                        raise
                attempt += 1
                await self._rest(attempt)
        finally:
            if self._absences.pop(number, None):
                self._changed()

    def _over(self, began: float) -> bool:
        now = self._clock.monotonic()
        return now - began >= self._seconds or now >= self._until

    def _note(self, number: int, outage: Outage) -> None:
        if self._absences.get(number) != outage:
            self._absences[number] = outage
            self._changed()

    async def _rest(self, attempt: int) -> None:
        if self._hurried.is_set():
            await asyncio.sleep(BACKOFF.first_seconds)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BACKOFF.seconds(attempt, float(self._rng.random()))):
                await self._hurried.wait()


async def undisturbed(function: Callable[[], _Found]) -> _Found:
    """What a function returns that is called in a thread.

    A cancellation waits for its end, for the thread would do what the caller believes undone; but not for ever: a
    database that stands still answers nobody, and what the thread writes at last is held off by the lease.
    """
    calling = asyncio.ensure_future(asyncio.to_thread(function))
    try:
        return await asyncio.shield(calling)
    except asyncio.CancelledError:
        calling.add_done_callback(hear)
        await asyncio.wait([calling], timeout=STILL_SECONDS)
        raise


def hear(calling: asyncio.Future[_Found]) -> None:
    """Take note of how a call ended that nobody waits for, so that nobody complains that it was not."""
    if not calling.cancelled():
        calling.exception()
