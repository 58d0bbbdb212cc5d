"""Waiting for what is new: one question a moment to the log for all who wait, and no database session held by them."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping

import structlog
from fastapi import Request
from starlette.concurrency import run_in_threadpool

from service.errors import ServiceError

log = structlog.get_logger(__name__)

# For so much longer the log is asked again for each who waits: waking them all shall not take all of the process.
WAKING_SECONDS = 0.0005

Standings = Mapping[str, tuple[int, str]]


def watch_of(request: Request) -> "EventPoller":
    """The watch of the application."""
    watch = request.app.state.watch
    assert isinstance(watch, EventPoller)
    return watch


class EventPoller:
    """Tells when a run has events after one that was seen.

    Args:
        read: the last sequence and the state of runs, by id, in one statement.
        poll_seconds: how often it is asked, while anybody waits; more seldom where very many do.
    """

    def __init__(self, read: Callable[[list[str]], Standings], poll_seconds: float) -> None:
        self._read, self._poll_seconds = read, poll_seconds
        self._wanted: Counter[str] = Counter()
        self._known: dict[str, tuple[int, str]] = {}
        self._round = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None
        self._leaving = False

    async def beyond(self, run_id: str, sequence: int, timeout_seconds: float) -> bool:
        """Wait until a run has an event after a sequence, or is gone; False: it had none in time."""
        return await self._until(run_id, lambda known: known[0] > sequence or not known[1], timeout_seconds)

    async def left(self, run_id: str, states: Collection[str], timeout_seconds: float) -> bool:
        """Wait until a run is in none of these states, or is gone; False: it was in one of them all the time."""
        return await self._until(run_id, lambda known: known[1] not in states, timeout_seconds)

    async def leave(self) -> None:
        """Let everybody go who waits, and have nobody wait any more: the server shuts down."""
        self._leaving = True
        async with self._round:
            self._round.notify_all()

    async def aclose(self) -> None:
        """Stop asking."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _until(self, run_id: str, holds: Callable[[tuple[int, str]], bool], timeout_seconds: float) -> bool:
        self._wanted[run_id] += 1
        if self._task is None:
            self._task = asyncio.create_task(self._watch())
        try:
            async with asyncio.timeout(timeout_seconds), self._round:
                await self._round.wait_for(
                    lambda: self._leaving or (run_id in self._known and holds(self._known[run_id]))
                )
        except TimeoutError:
            return False
        else:
            return not self._leaving
        finally:
            self._wanted[run_id] -= 1
            if not self._wanted[run_id]:
                del self._wanted[run_id]
                self._known.pop(run_id, None)

    async def _watch(self) -> None:
        while True:
            if self._wanted:
                await self._ask(list(self._wanted))
            await asyncio.sleep(max(self._poll_seconds, self._wanted.total() * WAKING_SECONDS))

    async def _ask(self, run_ids: list[str]) -> None:
        try:
            found = await run_in_threadpool(self._read, run_ids)
        except ServiceError as error:  # the next round asks again
            log.warning("watch.away", reason=str(error))
            return
        except Exception as error:  # nobody awaits this task, and all who wait would wait for ever
            log.error("watch.broke", exc_info=error)
            return
        async with self._round:
            self._known |= {run_id: found.get(run_id, (0, "")) for run_id in run_ids if run_id in self._wanted}
            self._round.notify_all()
