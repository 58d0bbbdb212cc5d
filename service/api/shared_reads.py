"""Reads for streams: what several wait for at once is read once, and what they come to later is kept for a while."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from starlette.concurrency import run_in_threadpool

MAX_READS_AT_ONCE = 2  # of the threads that answer requests
MAX_BYTES = 32 * 1024 * 1024


class ReadChunk(Protocol):
    """What is read: it is kept if it holds something to send."""

    @property
    def chunk(self) -> bytes:
        """What is sent; empty: nothing for now."""


Page = TypeVar("Page", bound=ReadChunk)


class SharedReads(Generic[Page]):
    """The reads of one process, by a key that says whose, what, and from where on.

    Args:
        slots: how many may be under way at the same time; several may share them.
        max_bytes: how much is kept.
    """

    def __init__(self, slots: asyncio.Semaphore | None = None, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes, self._size = max_bytes, 0
        self._slots = slots or asyncio.Semaphore(MAX_READS_AT_ONCE)
        self._kept: OrderedDict[Hashable, Page] = OrderedDict()
        self._under_way: dict[Hashable, asyncio.Task[Page]] = {}

    async def page(self, key: Hashable, read: Callable[[], Page]) -> Page:
        """What a key leads to, read in a thread unless it is kept or under way.

        Raises:
            ServiceError: the database does not answer.
        """
        if (kept := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return kept
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.create_task(self._read(read))
            task.add_done_callback(lambda done: self._done(key, done))
        return await asyncio.shield(task)  # one who hangs up takes nothing from the others

    async def _read(self, read: Callable[[], Page]) -> Page:
        async with self._slots:
            return await run_in_threadpool(read)

    def _done(self, key: Hashable, task: "asyncio.Task[Page]") -> None:
        del self._under_way[key]
        if task.cancelled() or task.exception() is not None:
            return
        page = task.result()
        if page.chunk:
            self._kept[key] = page
            self._size += len(page.chunk)
        while self._size > self._max_bytes:
            _, oldest = self._kept.popitem(last=False)
            self._size -= len(oldest.chunk)
