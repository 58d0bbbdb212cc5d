"""An evaluator whose programs are scored by the workers of a queue."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from evolve.evaluation import Evaluation
from evolve.program import Program
from service.errors import UnreachableError
from service.ports import Bundle, EvaluationQueue, EvaluationTask

WATCH_SECONDS = 1.0


class QueuedEvaluator:
    """Scores the programs of one problem by way of a queue; has as many slots as the living workers of its pool."""

    def __init__(self, queue: EvaluationQueue, bundle: Bundle, pool: str, note: Callable[[str], None]) -> None:
        self._queue, self._bundle, self._pool, self._note = queue, bundle, pool, note
        self._slots = 0
        self._waiting = ""
        self._awaited: dict[str, asyncio.Future[Evaluation]] = {}

    @property
    def slots(self) -> int:
        """Slots of the workers that live, at least one."""
        return max(1, self._slots)

    async def evaluate(self, program: Program, evaluation_id: str) -> Evaluation:
        """Have a worker score one program; cancelling the call cancels the evaluation there."""
        answer: asyncio.Future[Evaluation] = asyncio.get_running_loop().create_future()
        self._awaited[evaluation_id] = answer
        task = EvaluationTask(
            evaluation_id=evaluation_id, bundle_hash=self._bundle.hash, program=program, pool=self._pool
        )
        try:
            await self._queue.submit(task, self._bundle)
            return await answer
        except asyncio.CancelledError:
            await self._queue.cancel(evaluation_id)
            raise
        finally:
            del self._awaited[evaluation_id]

    async def count(self) -> None:
        """Count the slots of the workers that live.

        Raises:
            UnreachableError: the queue does not answer.
        """
        self._slots = sum(beat.slots for beat in await self._queue.workers(self._pool))

    async def collect(self) -> None:
        """Hand results to who awaits them, without end."""
        async for result in self._queue.results():
            answer = self._awaited.get(result.evaluation_id)
            if answer is not None and not answer.done():
                answer.set_result(result.evaluation)

    async def watch(self) -> None:
        """Follow the workers as they come and go, without end, and say why evaluations wait."""
        while True:
            try:
                await self.count()
                waiting = "" if self._slots else f"no worker takes evaluations of pool {self._pool}"
            except UnreachableError as error:
                waiting = str(error)
            if bool(waiting) != bool(self._waiting) and (self._awaited or self._waiting):
                self._note(f"waiting: {waiting}" if waiting else "going on: workers take evaluations")
                self._waiting = waiting
            await asyncio.sleep(WATCH_SECONDS)


@asynccontextmanager
async def open_queued_evaluator(
    queue: EvaluationQueue, bundle: Bundle, pool: str, note: Callable[[str], None]
) -> AsyncIterator[QueuedEvaluator]:
    """An evaluator over a queue.

    Args:
        queue: where workers take tasks from; this submitter's own.
        bundle: the problem's folder.
        pool: whose workers shall score.
        note: is told, once, why evaluations wait, and when they go on.

    Raises:
        UnreachableError: the queue does not answer now; later, it is waited for.
    """
    evaluator = QueuedEvaluator(queue, bundle, pool, note)
    await evaluator.count()
    tasks = [asyncio.create_task(evaluator.collect()), asyncio.create_task(evaluator.watch())]
    try:
        yield evaluator
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
