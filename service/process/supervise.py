"""The parts of a process, run together: they end together, and a drained worker ends none of them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import structlog

Part = Callable[[], Awaitable[None]]

log = structlog.get_logger(__name__)


class DrainablePart(Protocol):
    """A part that may come to its end by itself, and ends no other by that."""

    async def run(self) -> None:
        """Work until it is drained."""


async def together(parts: Sequence[Part], worker: DrainablePart | None, leave: Callable[[], None]) -> None:
    """Run the parts of a process until one of them ends, then have all others leave.

    Args:
        parts: each ends by itself after `leave`.
        worker: works beside them until they have ended. Where it is drained they go on, and what is to be evaluated
            waits for other workers; an error of its own ends them, which whoever started the process hears of.
        leave: tells the parts to end.

    Raises:
        Exception: what broke a part or the worker.
    """
    tasks = [asyncio.ensure_future(part()) for part in parts]
    beside = [asyncio.create_task(_work(worker))] if worker else []
    try:
        done, _ = await asyncio.wait([*tasks, *beside], return_when=asyncio.FIRST_COMPLETED)
        leave()
        await asyncio.wait(tasks)
        for task in (*done, *tasks):
            task.result()
    finally:
        for task in (*tasks, *beside):
            task.cancel()
        await asyncio.gather(*tasks, *beside, return_exceptions=True)


async def keep_up(name: str, work: Part, pause_seconds: float) -> None:
    """Do work that has no end, and that nobody awaits: what breaks it is told, and it is begun again after a while."""
    while True:
        try:
            await work()
        except Exception as error:  # whatever it is, webhooks shall go on without a restart
            log.error("service.broke", part=name, exc_info=error)
        await asyncio.sleep(pause_seconds)


async def _work(worker: DrainablePart) -> None:
    await worker.run()
    log.warning("worker.rests", reason="it was drained: runs wait for other workers or a restart")
    await asyncio.Event().wait()
