"""Runner: the process part that drives many runs at once, takes up those that others left, and lets go in seconds."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
import structlog

from evolve.errors import ConfigurationError, EvolveError, ExtensionError, PolicyError, ProblemError
from service.errors import (
    ConflictError,
    InvalidProblemError,
    NotFoundError,
    RefusedError,
    ServiceError,
    StorageError,
    UnreachableError,
    UsageError,
)
from service.net.retry import Backoff
from service.ports import CANCELLED, ENDED, PAUSED, RUNNING, Clock, Intent, RunClaims, RunLog, RunRecord
from service.process.identity import is_gone
from service.runner.desired_state import RunOrders
from service.runner.lease import LEASE_SECONDS
from service.runner.metrics import TAKEOVERS
from service.runner.reevaluate import Reevaluation, reevaluate
from service.runner.retries import Retries
from service.runner.run_job import RunJob
from service.runner.run_loop import drive
from service.runner.status import RunObserver
from service.runner.storage_retry import undisturbed
from service.runner.undriven_runs import give_up, settle, tell_waiting

# Between two polls. The time doubles while the database is away.
POLL = Backoff(first_seconds=0.3, max_seconds=5.0, jitter=0.3)
LEAVE_SECONDS = 10.0
REEVALUATED_AT_ONCE = 64
MAX_FAULTS = 3
QUOTA_SECONDS = 1.0  # between two looks at what tenants have used
# For everybody who may read the run: texts of exceptions may name hosts, files and code.
FAULT = "the service met a fault of its own: the runner's log has the trace under the run's id"
# Whoever drove a run for so long did not fail at once.
STEADY_SECONDS = 60.0
_AWAY = (UnreachableError, PolicyError)
_NEVER = (InvalidProblemError, RefusedError, UsageError, ConfigurationError, ExtensionError, ProblemError)

log = structlog.get_logger(__name__)


class Jobs(Protocol):
    """Makes what runs are driven with."""

    def open(self, record: RunRecord) -> AbstractAsyncContextManager[RunJob]:
        """Everything that a run is driven with.

        Raises:
            UnreachableError, PolicyError: it cannot be had now.
            InvalidProblemError, RefusedError, UsageError, ConfigurationError, ExtensionError, ProblemError: it never
                can.
            NotFoundError: the run is not there.
        """

    def open_again(self, record: RunRecord) -> AbstractAsyncContextManager[Reevaluation]:
        """Everything that candidates of a run are evaluated again with; raises the same errors."""

    async def clear(self, record: RunRecord) -> None:
        """Remove what a run leaves that has ended without being driven to its end. What fails is logged."""


class RunWatch(RunObserver, Protocol):
    """Somebody who watches all runs of this process."""

    def rests(self, run_id: str) -> None:
        """This process drives the run no longer."""


@dataclass(slots=True, kw_only=True)
class _Hold:
    """A run in this runner's hands. `intent`: what it was taken up for; `driven`: orders reach it."""

    tenant: str
    intent: Intent
    orders: RunOrders = field(default_factory=RunOrders)
    driven: bool = False
    task: "asyncio.Task[None] | None" = None


class Runner:
    """Drives runs until it is told to leave; what befalls one of them befalls no other.

    Args:
        jobs: makes what they are driven with.
        owner: who holds their leases.
        maximum: runs that it drives at once.
        watch: hears what each run commits.
        hold_to_quotas: wants runs paused whose tenant has used up a quota; of the tenants of those it drives, by run.
    """

    def __init__(
        self,
        claims: RunClaims,
        log: RunLog,
        jobs: Jobs,
        clock: Clock,
        owner: str,
        *,
        maximum: int,
        watch: RunWatch,
        hold_to_quotas: Callable[[Mapping[str, str]], None] = lambda _: None,
    ) -> None:
        self._claims = claims
        self._log = log
        self._jobs = jobs
        self._clock = clock
        self._owner = owner
        self._maximum = maximum
        self._watch = watch
        self._hold_to_quotas = hold_to_quotas
        self._quotas_due = 0.0
        self._rng = np.random.default_rng()
        self._held: dict[str, _Hold] = {}
        self._retries = Retries(clock)
        self._leaving = asyncio.Event()

    async def run(self) -> None:
        """Drive runs until `leave` is called; on return none is held."""
        polling = asyncio.create_task(self._poll())
        leaving = asyncio.create_task(self._leaving.wait())
        try:
            await asyncio.wait([polling, leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (polling, leaving):
                task.cancel()
            await asyncio.wait([polling, leaving])
            await self._let_go()
        if not polling.cancelled():
            polling.result()

    def leave(self) -> None:
        """Let go of all runs as they stand; other runners go on with them at once."""
        self._leaving.set()

    async def _poll(self) -> None:
        failures = 0
        while True:
            try:
                await self._look_at_quotas()
                await self._tell()
                await self._claim()
                failures = 0
            except StorageError as error:
                failures += 1
                log.warning("runner.storage_away", reason=str(error))
            await asyncio.sleep(POLL.seconds(failures + 1, float(self._rng.random())))

    async def _look_at_quotas(self) -> None:
        driven = {run_id: hold.tenant for run_id, hold in self._held.items() if hold.driven}
        if driven and self._clock.monotonic() >= self._quotas_due:
            await asyncio.to_thread(self._hold_to_quotas, driven)
            self._quotas_due = self._clock.monotonic() + QUOTA_SECONDS

    async def _tell(self) -> None:
        """Tell the runs what is wanted of them."""
        known = [*self._held, *self._retries.known]
        if not known:
            return
        wanted = await asyncio.to_thread(self._claims.wanted, known)
        for run_id, hold in self._held.items():
            # A run that was deleted is let go of by the first write that fails.
            self._pass_on(hold, wanted.get(run_id, hold.intent))
        self._retries.want(wanted)

    def _pass_on(self, hold: _Hold, intent: Intent) -> None:
        if hold.driven:
            hold.orders.want(intent)
        elif intent.desired_state != hold.intent.desired_state and hold.task is not None:
            hold.task.cancel()  # it is found again at once, and taken up for what is wanted now

    async def _claim(self) -> None:
        """Take up runs while there is room for them."""
        while len(self._held) < self._maximum:
            passed = [*self._held, *self._retries.later]
            find = partial(self._claims.claim, self._owner, LEASE_SECONDS, passed, is_gone)
            record = await asyncio.to_thread(find)
            if record is None:
                return
            wanted = await asyncio.to_thread(self._claims.wanted, [record.id])
            if record.id in wanted:
                if record.state == RUNNING and record.id not in self._retries.known:
                    TAKEOVERS.inc()
                self._take_up(record, wanted[record.id])

    def _take_up(self, record: RunRecord, intent: Intent) -> None:
        hold = self._held[record.id] = _Hold(tenant=record.tenant, intent=intent)
        hold.orders.want(intent)
        hold.task = asyncio.create_task(self._tend(record, hold), name=record.id)
        hold.task.add_done_callback(partial(self._end, record.id))

    def _end(self, run_id: str, task: "asyncio.Task[None]") -> None:
        hold = self._held.pop(run_id)
        self._watch.rests(run_id)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("runner.fault", run_id=run_id, error=repr(error))
            self._retries.add(run_id, hold.intent)

    async def _tend(self, record: RunRecord, hold: _Hold) -> None:
        """All that a run needs, until it rests; whatever goes wrong is this run's."""
        began = self._clock.monotonic()
        try:
            await self._serve(record, hold)
        except NotFoundError:
            log.info("run.gone", run_id=record.id)
        except _NEVER as error:
            await self._give_up(record, hold, _sentence(error))
        except _AWAY as error:
            await self._wait(record, hold, _sentence(error))
        except ConflictError as error:
            log.info("run.lost", run_id=record.id, reason=str(error))
            self._retries.add(record.id, hold.intent)
        except StorageError as error:
            log.warning("run.storage_away", run_id=record.id, reason=str(error))
            self._retries.add(record.id, hold.intent)
        except Exception as error:  # must not end the others
            log.exception("run.fault", run_id=record.id)
            if self._clock.monotonic() - began > STEADY_SECONDS:
                self._retries.done(record.id)
            await self._excuse(record, hold, error)
        else:
            self._retries.done(record.id)

    async def _serve(self, record: RunRecord, hold: _Hold) -> None:
        intent = hold.intent
        # A run of which nobody ever wanted anything is, once paused, its own process's to go on with.
        rests = record.state in ENDED or (record.state == PAUSED and (intent.desired_state == PAUSED or not intent.by))
        if rests:
            await self._reevaluate(record)
        elif intent.desired_state == RUNNING:
            async with self._jobs.open(record) as job:
                hold.driven = True
                await drive(job, observer=self._watch, orders=hold.orders)
        elif await settle(self._log, self._clock, record, intent, self._owner) == CANCELLED:
            await self._jobs.clear(record)

    async def _reevaluate(self, record: RunRecord) -> None:
        waiting = await undisturbed(partial(self._claims.reevaluations, record.id))
        async with self._jobs.open_again(record) as job:
            for start in range(0, len(waiting), REEVALUATED_AT_ONCE):
                some = waiting[start : start + REEVALUATED_AT_ONCE]
                await reevaluate(job, some)
                await undisturbed(partial(self._claims.reevaluated, record.id, some))

    async def _excuse(self, record: RunRecord, hold: _Hold, error: Exception) -> None:
        """A fault of this program, which another try may pass by; a run that meets with it again and again fails."""
        reason = _sentence(error) if isinstance(error, (EvolveError, ServiceError)) else FAULT
        if self._retries.faults(record.id) + 1 >= MAX_FAULTS:
            await self._give_up(record, hold, reason)
        else:
            await self._wait(record, hold, reason, fault=True)

    async def _wait(self, record: RunRecord, hold: _Hold, reason: str, *, fault: bool = False) -> None:
        """Try a run again later, and say in it why."""
        self._retries.add(record.id, hold.intent, fault=fault)
        await self._say(record, hold, tell_waiting(self._log, self._clock, record, self._owner, reason))

    async def _give_up(self, record: RunRecord, hold: _Hold, detail: str) -> None:
        log.warning("run.given_up", run_id=record.id, reason=detail)
        if record.state in ENDED:
            await self._say(record, hold, self._let_be(record))
        else:
            await self._say(record, hold, self._fail(record, detail))

    async def _fail(self, record: RunRecord, detail: str) -> None:
        await give_up(self._log, self._clock, record.id, self._owner, detail)
        await self._jobs.clear(record)

    async def _let_be(self, record: RunRecord) -> None:
        """What cannot be evaluated again is wanted no more, or it would be tried for ever."""
        waiting = await undisturbed(partial(self._claims.reevaluations, record.id))
        await undisturbed(partial(self._claims.reevaluated, record.id, waiting))

    async def _say(self, record: RunRecord, hold: _Hold, saying: Coroutine[Any, Any, object]) -> None:
        """Write what need not be written now: where it cannot be, the next try does."""
        try:
            await saying
        except (ConflictError, NotFoundError, StorageError) as error:
            log.info("run.unsettled", run_id=record.id, reason=str(error))
            self._retries.add(record.id, hold.intent)

    async def _let_go(self) -> None:
        """Let go of every run; one that does not end by itself in time is torn away, as a crash would."""
        tasks = []
        for hold in self._held.values():
            hold.orders.leave()
            if hold.task is not None:
                tasks.append(hold.task)
                if not hold.driven:
                    hold.task.cancel()
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=LEAVE_SECONDS)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split())
