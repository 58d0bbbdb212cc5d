"""A runner, opened: what it drives runs with, made anew for each from what is stored of it."""

import asyncio
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from service.bootstrap.evaluators import choose_evaluators, queue_url
from service.bootstrap.policies import ConfiguredPolicies
from service.bootstrap.trainers import make_run_trainers
from service.bootstrap.workers import open_local_worker
from service.config import Settings
from service.ports import Storage
from service.process.identity import this_process
from service.process.supervise import keep_up, together
from service.projections.run_site import stored_site
from service.runner.metrics import RunMetrics
from service.runner.quota_guard import QuotaGuard
from service.runner.runner import Runner
from service.runner.view_drawer import ViewDrawer
from service.timestamps import SystemClock
from service.usecases.run_jobs import StoredJobs, Warn
from service.usecases.run_leftovers import RunLeftovers
from service.usecases.track_run import RunTracking, read_choices

if TYPE_CHECKING:
    from service.db.storage import SqlStorage
    from service.queue.memory import MemoryBroker
    from service.worker.worker import Worker

# Each holds a connection while the database is at work; the pool of the database has a few more.
THREADS = 12
# A process that is told to stop has 10 seconds for its runs, and this long for its trackers.
LEAVE_SECONDS = 5.0
VIEW_PAUSE_SECONDS = 5.0

log = structlog.get_logger("runner")


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
    storage: "SqlStorage",
    *,
    runs: int | None = None,
    queue: str | None = None,
    broker: "MemoryBroker | None" = None,
) -> AsyncIterator[OpenedRunner]:
    """A runner over a database; programs are scored by the workers of a queue, or by this process where none is named.

    Views that people request are drawn for as long as it is open.

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
    worker, evaluates = None, "this process"
    async with AsyncExitStack() as stack:
        if (url := queue_url(settings, queue)) is not None:
            from service.queue.connection import connect

            async with connect(url):  # that it is not an address is the operator's mistake, not that of the runs
                evaluates = "the workers of the queue"
        elif broker is None:
            from service.queue.memory import MemoryBroker

            broker = MemoryBroker(SystemClock())
            worker = await stack.enter_async_context(open_local_worker(settings, broker))
            heartbeat = worker.heartbeat
            evaluates = f"{heartbeat.slots} slots here, isolation {heartbeat.isolation}"
        evaluators = choose_evaluators(settings, queue=queue, broker=broker)
        tracking = await stack.enter_async_context(_tracking(settings, storage))
        policies = ConfiguredPolicies(settings.policies, storage.problems.bundle, storage.policies)
        jobs = StoredJobs(
            storage,
            policies,
            evaluators,
            settings.extensions,
            tracking=tracking,
            trainers=make_run_trainers(settings, storage),
            leftovers=_leftovers(storage, policies),
        )
        drawer = ViewDrawer(storage.views, storage.reader, jobs)
        drawing = asyncio.create_task(keep_up("views", drawer.run, VIEW_PAUSE_SECONDS))
        stack.push_async_callback(_ended, drawing)
        yield _opened(jobs, runs or settings.runner.runs, evaluates, worker=worker)


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def open_batch_runner(
    settings: Settings,
    storage: "SqlStorage",
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
    policies = ConfiguredPolicies(settings.policies, storage.problems.bundle, storage.policies)
    async with _tracking(settings, storage) as tracking:
        jobs = StoredJobs(
            storage,
            policies,
            evaluators,
            settings.extensions,
            slots=slots,
            warn=warn,
            tracking=tracking,
            trainers=make_run_trainers(settings, storage),
            leftovers=_leftovers(storage, policies),
        )
        yield _opened(jobs, runs, "this process", batch_id=batch_id)


@asynccontextmanager
async def _tracking(settings: Settings, storage: Storage) -> AsyncIterator[RunTracking]:
    """Sends the runs to the trackers of the settings; at the end, what they still lack is waited for a while.

    Raises:
        ConfigurationError: a setting names none, or what it needs is not installed.
        ExtensionError: one cannot be made.
    """
    choices = read_choices(settings.tracking.trackers)
    site = stored_site(storage.reader, storage.url)
    tracking = RunTracking(choices, lambda: nullcontext(site), lambda sentence: log.warning("tracker", reason=sentence))
    try:
        yield tracking
    finally:
        await asyncio.to_thread(tracking.close, LEAVE_SECONDS)


def _leftovers(storage: "SqlStorage", policies: ConfiguredPolicies) -> RunLeftovers:
    return RunLeftovers(storage.training, storage.policies, storage.readers, storage.clock, policies.loaded)


def _limit_threads() -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, thread_name_prefix="runner"))


def _opened(
    jobs: StoredJobs, maximum: int, evaluates: str, *, worker: "Worker | None" = None, batch_id: str = ""
) -> OpenedRunner:
    storage, owner = jobs.storage, this_process()
    claims, watch = storage.claims(batch_id), RunMetrics()
    guard = QuotaGuard(storage.accounts, storage.intents, storage.clock)
    runner = Runner(claims, storage.log, jobs, storage.clock, owner, maximum=maximum, watch=watch, hold_to_quotas=guard)
    return OpenedRunner(runner=runner, maximum=maximum, evaluates=evaluates, worker=worker)
