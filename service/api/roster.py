"""Waiting for whatever is new in a tenant's runs: one question a moment to the log for all who wait."""

import asyncio
import time
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

from service.ports import RunReader

Snapshot = tuple[frozenset[tuple[str, int]], str]


@dataclass(slots=True)
class _Entry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    at: float = float("-inf")
    found: Snapshot = (frozenset(), "")


class Roster:
    """Which runs are at work, how far they are, and which run is the newest: by key, which names whose runs.

    Args:
        poll_seconds: how often it is asked for a key, while anybody waits.
    """

    def __init__(self, poll_seconds: float) -> None:
        self._poll_seconds = poll_seconds
        self._entries: dict[str, _Entry] = {}

    async def beyond(
        self, key: str, reader: RunReader, known: Snapshot | None, timeout_seconds: float
    ) -> Snapshot | None:
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

    async def _look(self, entry: _Entry, reader: RunReader) -> Snapshot:
        async with entry.lock:
            if time.monotonic() - entry.at >= self._poll_seconds:
                entry.found = await run_in_threadpool(_read, reader)
                entry.at = time.monotonic()
            return entry.found


def _read(reader: RunReader) -> Snapshot:
    newest = reader.runs(1)
    return frozenset(reader.active().items()), newest[0].id if newest else ""
