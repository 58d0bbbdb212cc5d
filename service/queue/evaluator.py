"""An evaluator whose programs are scored by the workers of a queue, on its fair share of their slots."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from evolve.evaluation import PLAIN, Evaluation, ScoringRequest
from evolve.problem import Problem
from evolve.program import Program
from service import tracing
from service.errors import UnreachableError
from service.ports import Bundle, EvaluationQueue, EvaluationTask
from service.queue.fairness import claim, lookahead
from service.queue.submission_gate import SubmissionGate

if TYPE_CHECKING:
    from service.queue.memory import MemoryBroker

WATCH_SECONDS = 1.0
CPU, GPU, CONTAINER, GPU_CONTAINER = "cpu", "gpu", "container", "gpu-container"
# Pools whose workers have Podman or Docker.
CONTAINER_POOLS = (CONTAINER, GPU_CONTAINER)
# Pools whose workers have accelerators.
GPU_POOLS = (GPU, GPU_CONTAINER)

log = structlog.get_logger(__name__)


class QueuedEvaluator:
    """Scores the programs of one problem by way of a queue, on its fair share of the slots of the pool's workers."""

    def __init__(self, queue: EvaluationQueue, bundle: Bundle, pool: str) -> None:
        self._queue, self._bundle, self._pool = queue, bundle, pool
        self._gate = SubmissionGate(lambda: queue.backlog(pool))
        self._waiting = ""
        self._maximum = self._max_before = 0
        self._awaited: dict[str, asyncio.Future[Evaluation]] = {}

    @property
    def slots(self) -> int:
        """Its share of the workers' slots, and one in eight beyond: who is done finds the next task there."""
        return self._gate.share + lookahead(self._gate.share)

    @property
    def waiting(self) -> str:
        """Why evaluations cannot go on at present; empty: they can, or there are none."""
        return self._waiting if self._awaited else ""

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        """Have a worker score one program; cancelling the call cancels the evaluation there."""
        answer: asyncio.Future[Evaluation] = asyncio.get_running_loop().create_future()
        self._awaited[evaluation_id] = answer
        self._maximum = max(self._maximum, len(self._awaited))
        task = EvaluationTask(
            evaluation_id=evaluation_id,
            bundle_hash=self._bundle.hash,
            program=program,
            pool=self._pool,
            scoring=scoring,
        )
        try:
            async with self._gate.turn():
                with _sending(task) as sent:
                    await self._queue.submit(replace(task, traceparent=sent.traceparent), self._bundle)
                self._gate.admit()  # by what the queue told of its backlog
                return await answer
        except asyncio.CancelledError:
            await self._queue.cancel(evaluation_id)
            raise
        finally:
            del self._awaited[evaluation_id]

    async def claim(self) -> None:
        """Claim what it had use for lately, and learn its share; where it used up its share, it wants without limit.

        Raises:
            UnreachableError: the queue does not answer.
        """
        wants = max(self._maximum, self._max_before)
        self._max_before, self._maximum = self._maximum, len(self._awaited)
        self._gate.follow(await self._queue.share(self._pool, claim(wants, self.slots)))

    async def collect(self) -> None:
        """Hand results to who awaits them, without end."""
        async for result in self._queue.results():
            self._waiting = ""  # who answers is there, whatever was found a moment ago
            answer = self._awaited.get(result.evaluation_id)
            if answer is not None and not answer.done():
                answer.set_result(result.evaluation)

    async def watch(self) -> None:
        """Follow its share as workers and other runs come and go, without end."""
        while True:
            try:
                await self.claim()
                self._waiting = "" if self._gate.share else _no_worker(self._pool)
            except UnreachableError as error:
                self._waiting = str(error)
            await asyncio.sleep(WATCH_SECONDS)


@asynccontextmanager
async def open_queued_evaluator(queue: EvaluationQueue, bundle: Bundle, pool: str) -> AsyncIterator[QueuedEvaluator]:
    """An evaluator over a queue.

    Args:
        queue: where workers take tasks from; this submitter's own.
        bundle: the problem's folder.
        pool: whose workers shall score.

    Raises:
        UnreachableError: the queue does not answer now; later, it is waited for.
    """
    evaluator = QueuedEvaluator(queue, bundle, pool)
    await evaluator.claim()
    tasks = [asyncio.create_task(_unbroken(work)) for work in (evaluator.collect, evaluator.watch)]
    try:
        yield evaluator
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _unbroken(work: Callable[[], Awaitable[None]]) -> None:
    """Do work without end that nobody awaits: a run whose results nobody hands on would wait for ever."""
    while True:
        try:
            await work()
        except Exception as error:
            log.error("queue.broke", exc_info=error)
        await asyncio.sleep(WATCH_SECONDS)


@asynccontextmanager
async def open_redis_evaluator(url: str, problem: Problem, bundle: Bundle) -> AsyncIterator[QueuedEvaluator]:
    """The evaluator of a problem whose programs workers score; those of the pool gpu where the problem needs one.

    Raises:
        UnreachableError: the queue does not answer.
        UsageError: that is no queue's address.
    """
    from service.queue.connection import connect
    from service.queue.redis import RedisEvaluationQueue

    async with (
        connect(url) as client,
        aclosing(RedisEvaluationQueue(client)) as queue,
        open_queued_evaluator(queue, bundle, _pool(problem)) as evaluator,
    ):
        yield evaluator


@asynccontextmanager
async def open_local_evaluator(
    broker: "MemoryBroker", problem: Problem, bundle: Bundle
) -> AsyncIterator[QueuedEvaluator]:
    """The same, where the workers are in this process and event loop, or come to it over HTTP."""
    from service.queue.memory import MemoryEvaluationQueue

    async with (
        aclosing(MemoryEvaluationQueue(broker)) as queue,
        open_queued_evaluator(queue, bundle, _pool(problem)) as evaluator,
    ):
        yield evaluator


def _sending(task: EvaluationTask) -> AbstractContextManager[tracing.Span]:
    """The span of a task on its way to a queue, by OpenTelemetry's conventions of messaging."""
    attributes = tracing.message_attributes("submit", "send", task.pool, task.evaluation_id)
    return tracing.span(f"submit {task.pool}", tracing.SpanKind.PRODUCER, attributes)


def _pool(problem: Problem) -> str:
    if problem.evaluator.image:
        return GPU_CONTAINER if problem.limits.gpu else CONTAINER
    return GPU if problem.limits.gpu else CPU


def _no_worker(pool: str) -> str:
    where = (
        f": start one with evolve worker --pool {pool}, where Podman or Docker runs" if pool in CONTAINER_POOLS else ""
    )
    return f"no worker takes evaluations of pool {pool}{where}"
