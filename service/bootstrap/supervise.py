"""The parts of a process, run together: they end together, and a drained worker ends none of them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from service.worker.worker import Worker

Part = Callable[[], Awaitable[None]]

log = structlog.get_logger(__name__)


async def together(parts: Sequence[Part], worker: "Worker | None", leave: Callable[[], None]) -> None:
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


async def _work(worker: "Worker") -> None:
    await worker.run()
    log.warning("worker.rests", reason="it was drained: runs wait for other workers or a restart")
    await asyncio.Event().wait()
