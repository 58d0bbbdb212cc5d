"""The evaluators a worker keeps warm, one per problem."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from evolve.ports import Evaluator
from service.ports import Bundle

Open = Callable[[Bundle], AbstractAsyncContextManager[Evaluator]]
Fetch = Callable[[str], Awaitable[Bundle]]
RECENT_SECONDS = 60.0


@dataclass(slots=True)
class _Room:
    """One evaluator, opened and closed by a task of its own, so that whoever wanted it first may end early."""

    ready: asyncio.Future[Evaluator]
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    users: int = 0
    used_at: float = 0.0


class Evaluators:
    """Opened evaluators by bundle hash. Those that nobody uses are closed when there are many.

    Fair queues hand out problems in turn. If the longest unused evaluator always made room, one problem too many would
    have every evaluation open its evaluator again.

    Args:
        kept: as many stay open; beyond them, those that were used within the last minute.
        maximum: beyond it, any that nobody uses is closed, by chance.
    """

    def __init__(self, open_: Open, fetch: Fetch, kept: int, maximum: int) -> None:
        self._open, self._fetch, self._kept, self._maximum = open_, fetch, kept, maximum
        self._rooms: dict[str, _Room] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def use(self, bundle_hash: str) -> AsyncIterator[Evaluator]:
        """The evaluator of a problem, opened when there is none.

        Raises:
            ServiceError: the problem is not to be had, or cannot be opened here.
        """
        room = self._rooms.pop(bundle_hash, None) or self._opened(bundle_hash)
        self._rooms[bundle_hash] = room  # the last is the latest used
        room.users += 1
        try:
            yield await asyncio.shield(room.ready)
        finally:
            room.users -= 1
            room.used_at = time.monotonic()
            if room.ready.done() and room.ready.exception() is not None and self._rooms.get(bundle_hash) is room:
                del self._rooms[bundle_hash]
            self._close_unused()

    async def close(self) -> None:
        """Close them all."""
        rooms, self._rooms = list(self._rooms.values()), {}
        for room in rooms:
            room.closing.set()
            if not room.ready.done():
                room.ready.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _opened(self, bundle_hash: str) -> _Room:
        room = _Room(asyncio.get_running_loop().create_future())
        task = asyncio.create_task(self._keep(room, bundle_hash))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(partial(_fail, room))
        return room

    async def _keep(self, room: _Room, bundle_hash: str) -> None:
        async with self._open(await self._fetch(bundle_hash)) as evaluator:
            if not room.ready.done():
                room.ready.set_result(evaluator)
            await room.closing.wait()

    def _close_unused(self) -> None:
        recent = time.monotonic() - RECENT_SECONDS
        old = [bundle_hash for bundle_hash, room in self._rooms.items() if not room.users and room.used_at < recent]
        for bundle_hash in old[: max(0, len(self._rooms) - self._kept)]:
            self._rooms.pop(bundle_hash).closing.set()
        unused = [bundle_hash for bundle_hash, room in self._rooms.items() if not room.users]
        excess = max(0, len(self._rooms) - self._maximum)
        for bundle_hash in random.sample(unused, min(excess, len(unused))):
            self._rooms.pop(bundle_hash).closing.set()


def _fail(room: _Room, task: asyncio.Task[None]) -> None:
    """Tell whoever waits why an evaluator cannot be opened."""
    if task.cancelled():
        room.ready.cancel()
    elif (error := task.exception()) is not None and not room.ready.done():
        room.ready.set_exception(error)
        room.ready.exception()  # heard, even where nobody waits any more
