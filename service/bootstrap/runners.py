"""A runner, opened: what it drives runs with, made anew for each from what is stored of it."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evolve.ports import Evaluator
from service.bootstrap.evaluators import LocalQueueEvaluators, QueueEvaluators, choose_evaluators, queue_url
from service.bootstrap.policy_factory import answering
from service.bootstrap.workers import open_local_worker
from service.config import Settings
from service.policy_settings.choice import submitted
from service.ports import EvaluatorFactory, RunRecord, Storage
from service.process.identity import this_process
from service.process.supervise import together
from service.runner.metrics import RunMetrics
from service.runner.reevaluate import Reevaluation
from service.runner.run_loop import RunJob
from service.runner.runner import Runner
from service.timestamps import SystemClock
from service.usecases.drive_run import evaluator_warnings
from service.usecases.extensions import load_all, named_beside, refuse_kinds, refuse_run, refuse_runtime
from service.usecases.plan import RunPlan, evaluator_request, plan_stored

if TYPE_CHECKING:
    from service.queue.memory import MemoryBroker
    from service.worker.worker import Worker

# Each holds a connection while the database is at work; the pool of the database has a few more.
THREADS = 12

Warn = Callable[[Sequence[str]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRunner:
    """A runner that is ready to run.

    Attributes:
        most: runs that it drives at once.
        evaluates: who scores programs, for people.
        worker: the one of this process alone, which works while the runner runs.
    """

    runner: Runner
    maximum: int
    evaluates: str
    worker: "Worker | None" = None

    async def run(self) -> None:
        """Drive runs until the runner is told to leave; on return none is held.

        Raises:
            Exception: what broke the runner or its worker.
        """
        await together([self.runner.run], self.worker, self.runner.leave)


@asynccontextmanager
async def open_runner(
    settings: Settings,
    storage: Storage,
    *,
    runs: int | None = None,
    queue: str | None = None,
    broker: "MemoryBroker | None" = None,
) -> AsyncIterator[OpenedRunner]:
    """A runner over a database; programs are scored by the workers of a queue, or by this process where none is named.

    Args:
        settings: of this installation.
        storage: where runs wait.
        runs: how many it drives at once; None: what the settings say.
        queue: address of the queue; None: what the settings say.
        broker: the queue of this process, whose worker somebody else runs; None: one of its own.

    Raises:
        RefusedError: this process is to score, and the machine offers less isolation than is required.
        UsageError: the queue's address is none.
    """
    _limit_threads()
    url, maximum = queue_url(settings, queue), runs or settings.runner.runs
    if url is not None:
        from service.queue.connection import connect

        async with connect(url):  # that it is not an address is the operator's mistake, not that of the runs
            evaluates = "the workers of the queue"
        yield _opened(StoredJobs(storage, settings, QueueEvaluators(settings, url)), maximum, evaluates)
        return
    if broker is not None:
        jobs = StoredJobs(storage, settings, LocalQueueEvaluators(settings, broker))
        yield _opened(jobs, maximum, "this process")
        return
    from service.queue.memory import MemoryBroker

    broker = MemoryBroker(SystemClock())
    async with open_local_worker(settings, broker) as opening:
        evaluates = f"{opening.heartbeat.slots} slots here, isolation {opening.heartbeat.isolation}"
        opened = _opened(StoredJobs(storage, settings, LocalQueueEvaluators(settings, broker)), maximum, evaluates)
        yield replace(opened, worker=opening.worker)


@asynccontextmanager
async def open_batch_runner(
    settings: Settings,
    storage: Storage,
    batch_id: str,
    *,
    runs: int,
    require_isolation: str | None = None,
    warn: Warn = lambda _: None,
) -> AsyncIterator[OpenedRunner]:
    """A runner for the runs of one batch, each evaluated as `evolve run` evaluates: by this process, or a queue.

    Args:
        settings: of this installation.
        storage: where the batch is.
        batch_id: the batch.
        runs: how many runs it drives at once; they share the cores of this process evenly.
        require_isolation: weakest isolation to run under; None: what the settings say.
        warn: is told what the isolation of a run leaves open.
    """
    _limit_threads()
    slots = max(1, len(os.sched_getaffinity(0)) // runs)
    evaluators = choose_evaluators(settings, database=storage.url, require=require_isolation)
    jobs = StoredJobs(storage, settings, evaluators, slots=slots, warn=warn)
    yield _opened(jobs, runs, "this process", batch_id)


def _limit_threads() -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, thread_name_prefix="runner"))


class StoredJobs:
    """Makes what runs are driven with, from what is stored of them.

    Args:
        storage: where the runs are.
        settings: of this installation.
        evaluators: evaluate the programs of the runs.
        slots: evaluations at once of each run whose configuration does not say how many.
        warn: hears what the isolation of a run leaves open.
    """

    def __init__(
        self,
        storage: Storage,
        settings: Settings,
        evaluators: EvaluatorFactory,
        *,
        slots: int = 0,
        warn: Warn = lambda _: None,
    ) -> None:
        self.storage = storage
        self._settings, self._evaluators, self._slots, self._warn = settings, evaluators, slots, warn

    @asynccontextmanager
    async def open(self, record: RunRecord) -> AsyncIterator[RunJob]:
        """Everything that a run is driven with."""
        plan = await asyncio.to_thread(plan_stored, record, self.storage.log)
        if submitted(plan.source):
            refuse_run(plan.config, self._settings.extensions)
            refuse_kinds(plan.policies, self._settings.extensions)
            refuse_runtime(plan.problem, self._settings.extensions.allow)
        named = named_beside(plan.policies, plan.problem)
        load_all(plan.config, beside=named)
        async with (
            answering(plan, self._settings.policies) as asked,
            self._evaluating(plan) as evaluator,
        ):
            yield RunJob(
                run_id=record.id,
                problem=plan.problem,
                config=plan.config,
                policies=asked.members,
                embedder=asked.embedder,
                health=asked.health,
                evaluator=evaluator,
                log=self.storage.log,
                clock=self.storage.clock,
                owner=this_process(),
                extensions=named,
                elapsed_seconds=record.active_seconds,
            )

    @asynccontextmanager
    async def open_again(self, record: RunRecord) -> AsyncIterator[Reevaluation]:
        """Everything that candidates of a run are evaluated again with; no policy is needed for that."""
        plan = await asyncio.to_thread(plan_stored, record, self.storage.log)
        async with self._evaluating(plan) as evaluator:
            yield Reevaluation(
                run_id=record.id,
                problem=plan.problem,
                config=plan.config,
                evaluator=evaluator,
                log=self.storage.log,
                reader=self.storage.reader,
                clock=self.storage.clock,
                owner=this_process(),
            )

    @asynccontextmanager
    async def _evaluating(self, plan: RunPlan) -> AsyncIterator[Evaluator]:
        async with self._evaluators.open(evaluator_request(plan, self._slots)) as opened:
            self._warn(await evaluator_warnings(plan, opened))
            yield opened.evaluator


def _opened(jobs: StoredJobs, maximum: int, evaluates: str, batch_id: str = "") -> OpenedRunner:
    storage = jobs.storage
    runner = Runner(
        storage.claims(batch_id),
        storage.log,
        jobs,
        storage.clock,
        this_process(),
        maximum=maximum,
        watch=RunMetrics(),
    )
    return OpenedRunner(runner=runner, maximum=maximum, evaluates=evaluates)
