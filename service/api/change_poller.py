"""Waiting for whatever is new in a tenant's runs: one question a moment to the log for all who wait."""

import asyncio
import time
from dataclasses import dataclass, field
from datetime import datetime

from starlette.concurrency import run_in_threadpool

from service.ports import Clock, RunReader


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """How far the runs that have not ended were, and which run was the newest.

    Attributes:
        at: when that was asked; two that say the same are equal.
    """

    active: frozenset[tuple[str, int]]
    newest: str
    at: datetime = field(compare=False)


@dataclass(slots=True)
class _Entry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    at: float = float("-inf")
    found: RunSnapshot | None = None


class ChangePoller:
    """Which runs are at work, how far they are, and which run is the newest: by key, which names whose runs.

    Args:
        poll_seconds: how often it is asked for a key, while anybody waits.
        clock: says when.
    """

    def __init__(self, poll_seconds: float, clock: Clock) -> None:
        self._poll_seconds, self._clock = poll_seconds, clock
        self._entries: dict[str, _Entry] = {}

    async def beyond(
        self, key: str, reader: RunReader, known: RunSnapshot | None, timeout_seconds: float
    ) -> RunSnapshot | None:
        """Wait until there is something else than what is known; None: there was not, in time.

        Raises:
            ServiceError: the database does not answer.
        """
        entry = self._entries.setdefault(key, _Entry())
        entry.waiting += 1
        until = time.monotonic() + timeout_seconds
        try:
            while (found := await self._look(entry, reader)) == known:
                rest = until - time.monotonic()
                if rest <= 0:
                    return None
                await asyncio.sleep(min(self._poll_seconds, rest))
            return found
        finally:
            entry.waiting -= 1
            if not entry.waiting:
                self._entries.pop(key, None)

    async def now(self, key: str, reader: RunReader) -> RunSnapshot:
        """How it is now, or was a moment ago.

        Raises:
            ServiceError: the database does not answer.
        """
        return await self._look(self._entries.get(key) or _Entry(), reader)

    async def _look(self, entry: _Entry, reader: RunReader) -> RunSnapshot:
        async with entry.lock:
            if entry.found is None or time.monotonic() - entry.at >= self._poll_seconds:
                entry.found = await run_in_threadpool(_read, reader, self._clock.now())
                entry.at = time.monotonic()
            return entry.found


def _read(reader: RunReader, at: datetime) -> RunSnapshot:
    newest = reader.runs(1)
    return RunSnapshot(active=frozenset(reader.active().items()), newest=newest[0].id if newest else "", at=at)
