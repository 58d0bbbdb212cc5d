"""A worker: takes tasks of one pool as slots are free, has them evaluated, and gives the results."""

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace

import structlog
from prometheus_client import Counter, Gauge, Histogram

from evolve.evaluation import Evaluation, Outcome
from evolve.version import __version__
from service import tracing
from service.errors import MissingBundleError, NoRoomError, ServiceError, UnreachableError
from service.ports import (
    DeviceState,
    EvaluationLeases,
    EvaluationTask,
    Lease,
    LeaseState,
    RunningTask,
    WorkerHeartbeat,
    WorkerState,
)
from service.timestamps import SystemClock
from service.worker.evaluator_cache import Evaluators, Open

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
EVALUATIONS = Counter("evolve_evaluations", "Evaluations that a worker ended, by outcome", ["outcome"])
DURATION = Histogram("evolve_evaluation_duration_seconds", "From taking a task to its end", buckets=_SECONDS)
WAIT = Histogram("evolve_queue_wait_seconds", "From submitting a task to its first lease", buckets=_SECONDS)
REDELIVERIES = Counter("evolve_queue_redeliveries", "Leases of tasks that another worker had before")
READY = Gauge("evolve_worker_ready", "1 while this worker takes tasks, 0 while its disk is full")
HEARTBEAT = Gauge("evolve_worker_last_heartbeat_timestamp_seconds", "When the queue last heard of this worker")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerIntervals:
    """How often a worker does what it does again and again, in seconds.

    Attributes:
        ask: longest wait for a task, after which a worker that shall end notices it.
        renew: between two renewals of a lease; a cancelled evaluation is noticed by the next.
        beat: between two signs of life.
        wait: before the queue is tried again that did not answer.
        leave: how long a worker that shall end still asks a queue that does not answer for a problem, or to take a
            result, and how long its last word may take.
        problems: evaluators of how many problems are kept warm, however long nobody uses them.
        busy_problems: of how many, while each was used within the last minute.
    """

    ask: float = 0.5
    renew: float = 0.5
    heartbeat: float = 2.0
    wait: float = 1.0
    leave: float = 5.0
    problems: int = 4
    busy_problems: int = 16


class _Patience:
    """Waits for a queue that does not answer: without end, and no longer than `leave` for a worker that is to leave."""

    def __init__(self, pace: WorkerIntervals, leaving: asyncio.Event) -> None:
        self._pace, self._leaving = pace, leaving
        self._until: float | None = None

    async def wait(self, error: UnreachableError) -> None:
        """Wait before the queue is asked again.

        Raises:
            UnreachableError: the worker is to leave, and the queue has been away since for `leave` seconds and more.
        """
        log.warning("queue.away", reason=str(error))
        if self._leaving.is_set():
            now = time.monotonic()
            if self._until is None:
                self._until = now + self._pace.leave
            if now >= self._until:
                raise error
        await asyncio.sleep(self._pace.wait)


class Worker:
    """Takes tasks on a number of slots; what it is and has comes from outside, and it knows of nothing else.

    While `has_room` says no, it takes none.

    Attributes:
        drain: set it, and the worker finishes what it has and takes no more.
    """

    def __init__(
        self,
        leases: EvaluationLeases,
        open_: Open,
        heartbeat: WorkerHeartbeat,
        pace: WorkerIntervals | None = None,
        has_room: Callable[[], bool] = lambda: True,
        devices: Callable[[], Sequence[DeviceState]] = tuple,
    ) -> None:
        self.drain = asyncio.Event()
        self._leases, self._heartbeat, self._pace = leases, heartbeat, pace or WorkerIntervals()
        self._evaluators = Evaluators(open_, leases.bundle, self._pace.problems, self._pace.busy_problems)
        self._serving: dict[asyncio.Task[None], tuple[str, float]] = {}
        self._evaluations = 0
        self._free = asyncio.Semaphore(heartbeat.slots)
        self._has_room, self._devices, self._ready = has_room, devices, True

    @property
    def heartbeat(self) -> WorkerHeartbeat:
        """What it says of itself."""
        state = WorkerState.DRAINING if self.drain.is_set() else WorkerState.ACTIVE
        now = time.monotonic()
        tasks = tuple(RunningTask(evaluation_id=id_, seconds=now - began) for id_, began in self._serving.values())
        said = replace(self._heartbeat, busy=len(tasks), state=state, evaluations=self._evaluations, tasks=tasks)
        return replace(said, devices=tuple(self._devices()))

    async def run(self) -> None:
        """Work until told to drain, then until all is done; cancelling ends every evaluation."""
        beating = asyncio.create_task(self._live())
        try:
            while not self.drain.is_set():
                if self._check_room():
                    await self._take()
                else:
                    await self._pause(self._pace.wait)
            await asyncio.gather(*self._serving)
        finally:
            for task in (beating, *self._serving):
                task.cancel()
            await asyncio.gather(beating, *self._serving, return_exceptions=True)
            await self._evaluators.close()
            with suppress(UnreachableError, TimeoutError):
                async with asyncio.timeout(self._pace.leave):
                    await self._leases.leave()

    def _check_room(self) -> bool:
        """Whether tasks may be taken: none while the disk is full, for each would fail here and not elsewhere."""
        ready = self._has_room()
        READY.set(ready)
        if ready is not self._ready:
            self._ready = ready
            (log.info if ready else log.error)("worker.ready" if ready else "worker.no_room")
        return ready

    async def _take(self) -> None:
        """Take one task, when a slot is free."""
        await self._free.acquire()
        lease = None
        try:
            # Never cut short: a task handed out in that moment would wait for its lease to lapse.
            lease = None if self.drain.is_set() else await self._leases.lease(self._pace.ask)
        except UnreachableError as error:
            log.warning("queue.away", reason=str(error))
            await self._pause(self._pace.wait)
        finally:
            if lease is None:
                self._free.release()
        if lease is not None:
            if lease.delivery == 1:
                WAIT.observe(lease.waited_seconds)
            else:
                REDELIVERIES.inc()
            task = asyncio.create_task(self._serve(lease))
            self._serving[task] = lease.task.evaluation_id, time.monotonic()
            task.add_done_callback(self._served)

    def _served(self, task: asyncio.Task[None]) -> None:
        self._serving.pop(task, None)
        self._free.release()
        if not task.cancelled() and (error := task.exception()) is not None:
            # Left to lapse: another worker tries it, and after some tries it is put away.
            log.error("evaluation.failed", error=f"{type(error).__name__}: {error}")

    async def _serve(self, lease: Lease) -> None:
        with self._processing(lease) as process:
            await self._process(lease, process)

    async def _process(self, lease: Lease, process: tracing.Span) -> None:
        began = time.monotonic()
        log.info("evaluation.begun", evaluation_id=lease.task.evaluation_id, delivery=lease.delivery)
        evaluating = asyncio.create_task(self._evaluate(lease.task))
        try:
            standing = await self._hold(lease, evaluating)
        finally:
            evaluating.cancel()
            await asyncio.wait([evaluating])
        if standing is LeaseState.LOST:
            log.warning("evaluation.lost", evaluation_id=lease.task.evaluation_id)
            return
        cancelled = standing is LeaseState.CANCELLED
        try:
            evaluation = Evaluation(outcome=Outcome.CANCELLED) if cancelled else evaluating.result()
            if evaluation is None:
                await self._release(lease)
                return
            process.note(tracing.evaluation_attributes(evaluation))
            taken = await self._complete(lease, replace(evaluation, worker=self._heartbeat.worker_id))
        except UnreachableError:  # it leaves, and its lease lapses: another worker has the task
            log.warning("evaluation.left", evaluation_id=lease.task.evaluation_id)
            return
        if not lease.task.scoring.render:  # a picture is no evaluation
            self._evaluations += 1
            EVALUATIONS.labels(str(evaluation.outcome)).inc()
            DURATION.observe(time.monotonic() - began)
        log.info(
            "evaluation.done",
            evaluation_id=lease.task.evaluation_id,
            outcome=str(evaluation.outcome),
            seconds=round(time.monotonic() - began, 3),
            delivery=lease.delivery,
            taken=taken,
        )

    def _processing(self, lease: Lease) -> AbstractContextManager[tracing.Span]:
        """The span of a task in this worker's hands, below that of its submitter."""
        task = lease.task
        attributes = tracing.message_attributes("evaluate", "process", task.pool, task.evaluation_id) | {
            "messaging.client.id": self._heartbeat.worker_id,
            "evolve.delivery": lease.delivery,
            "evolve.waited.seconds": lease.waited_seconds,
        }
        kind, parent = tracing.SpanKind.CONSUMER, task.traceparent or tracing.ROOT
        return tracing.span(f"evaluate {task.pool}", kind, attributes, parent=parent)

    async def _hold(self, lease: Lease, evaluating: asyncio.Task[Evaluation | None]) -> LeaseState:
        """Renew a lease until its evaluation ends or need not go on."""
        while True:
            done, _ = await asyncio.wait([evaluating], timeout=self._pace.renew)
            if done:
                return LeaseState.HELD
            with suppress(UnreachableError):  # the evaluation may end before anyone else can have the task
                standing = await self._renewed(lease, evaluating)
                if standing is not LeaseState.HELD:
                    return standing

    async def _renewed(self, lease: Lease, evaluating: asyncio.Task[Evaluation | None]) -> LeaseState:
        """How a lease stands; the answer may wait for news, and is not waited for when the evaluation ends."""
        renewing = asyncio.ensure_future(self._leases.renew(lease))
        try:
            await asyncio.wait([evaluating, renewing], return_when=asyncio.FIRST_COMPLETED)
            return renewing.result() if renewing.done() else LeaseState.HELD
        finally:
            if not renewing.done():
                renewing.cancel()
                await asyncio.wait([renewing])

    async def _evaluate(self, task: EvaluationTask) -> Evaluation | None:
        """Score a program, and wait while the queue is away; None: the queue has lost the problem.

        Raises:
            UnreachableError: the worker is to leave, and the queue has been away since for `leave` seconds and more.
        """
        patience = _Patience(self._pace, self.drain)
        while True:
            try:
                async with self._evaluators.use(task.bundle_hash) as evaluator:
                    return await evaluator.evaluate(task.program, task.evaluation_id, task.scoring)
            except UnreachableError as error:  # to leave the task would count as one of its tries
                await patience.wait(error)
            except MissingBundleError:
                return None
            except NoRoomError:  # its lease is left to lapse, and another worker has it
                raise
            except ServiceError as error:
                return Evaluation(outcome=Outcome.LOST, reason=f"the worker cannot evaluate this problem: {error}")

    async def _release(self, lease: Lease) -> None:
        """Return a task whose problem the queue has lost; where that fails, its lease lapses."""
        log.warning("bundle.missing", evaluation_id=lease.task.evaluation_id, bundle=lease.task.bundle_hash)
        with suppress(UnreachableError):
            await self._leases.release(lease)

    async def _complete(self, lease: Lease, evaluation: Evaluation) -> bool:
        """Give a result, as soon as the queue takes it; its lease is held until then, or others would do it again.

        Raises:
            UnreachableError: the worker is to leave, and the queue has been away since for `leave` seconds and more.
        """
        patience = _Patience(self._pace, self.drain)
        while True:
            try:
                return await self._leases.complete(lease, evaluation)
            except UnreachableError as error:
                await patience.wait(error)
            with suppress(UnreachableError, TimeoutError):
                async with asyncio.timeout(self._pace.wait):
                    await self._leases.renew(lease)

    async def _live(self) -> None:
        """Give signs of life, without end, and hear whether to drain."""
        while True:
            try:
                if await self._leases.heartbeat(self.heartbeat) and not self.drain.is_set():
                    log.info("worker.drained", reason="the queue says so")
                    self.drain.set()
                HEARTBEAT.set_to_current_time()
            except UnreachableError as error:
                log.info("queue.away", reason=str(error))
            except Exception as error:  # nobody awaits this task: a worker that works on would be taken for dead
                log.error("worker.beat_broke", exc_info=error)
            await asyncio.sleep(self._pace.heartbeat)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.drain.wait()


def first_heartbeat(pool: str, slots: int | None, isolation: str) -> WorkerHeartbeat:
    """The heartbeat of a new worker, under a name that no other worker has, on whatever machine.

    Args:
        pool: whose tasks it takes.
        slots: evaluations at once. None means as many as this process has cores.
        isolation: the level that its sandbox reaches.
    """
    return WorkerHeartbeat(
        worker_id=f"{socket.gethostname()[:64]}-{os.getpid()}-{secrets.token_hex(4)}",
        pool=pool,
        slots=slots or len(os.sched_getaffinity(0)),
        busy=0,
        isolation=isolation,
        version=__version__,
        started_at=SystemClock().now(),
    )
