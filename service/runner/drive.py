"""Drive: the loop of a run. It asks the search, sends what is due into the world, tells what came back, and commits."""

import asyncio
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from evolve.configuration import RunConfig
from evolve.embedding import check_embedder
from evolve.ensemble import Member
from evolve.errors import ConfigurationError
from evolve.event_types import (
    RunCancelled,
    RunFinished,
    RunGoingOn,
    RunPaused,
    RunPausing,
    RunResumed,
    RunStarted,
    RunWaiting,
)
from evolve.events import Event
from evolve.flight import Flight
from evolve.ordering import open_search
from evolve.ports import Embedder, Evaluator
from evolve.problem import Problem
from evolve.search import Step
from service.ports import ENDED, Clock, LoggedEvent, RunLog
from service.runner.closing import RunClosing, ended
from service.runner.journal import Journal
from service.runner.lease import Health, Hold, held, unknown
from service.runner.orders import Orders, Wish
from service.runner.patience import Patience, hear, undisturbed
from service.runner.status import RunObserver, RunStatus, StatusFold
from service.times import rfc3339

TICK_SECONDS = 0.5
LEAVING_SECONDS = 5.0
MOST_UNCOMMITTED = 200
GATHERING_SECONDS = 0.05
# For everybody who may read the run; whoever drives it is shown the database's own reason in `RunStatus.waiting`.
DATABASE_AWAY = "the database does not answer: results are kept, and stored when it does"

_log = structlog.get_logger("runner")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJob:
    """A run to drive, new or interrupted, and everything it is driven with.

    Attributes:
        owner: who holds the run's lease.
        elapsed_seconds: time at work in earlier sittings.
        patience_seconds: how long a database that is away is waited for.
        health: how the servers of the policies fare.
        embedder: embeds programs, where they are compared by their embeddings.
    """

    run_id: str
    problem: Problem
    config: RunConfig
    policies: Sequence[Member]
    evaluator: Evaluator
    log: RunLog
    clock: Clock
    owner: str
    elapsed_seconds: float = 0.0
    patience_seconds: float = math.inf
    health: Health = unknown
    embedder: Embedder | None = None


async def drive(job: RunJob, *, observer: RunObserver, orders: Orders) -> RunStatus:
    """Drive a run until it ends or something else is wanted of it; where it stands then, all of it committed.

    A run that is left keeps its state, and whoever drives it next goes on from there; one that has ended is left alone.
    While the database is away, what is under way goes on, and at most a batch and some 200 events wait for it.

    Raises:
        ConfigurationError: the policies do not go together with each other or with the configuration.
        ConflictError: another runner holds the run, or took it.
        StorageError: the database cannot take more, or was away for too long; everything shown so far is in it.
        ReplayError: the run's log does not fit its problem and configuration.
    """
    sitting = _Sitting(job, observer, orders)
    async with held(job.log, job.run_id, job.owner, sitting.patience, sitting.wake, job.health) as hold:
        return await sitting.run(hold)


class _Sitting:
    def __init__(self, job: RunJob, observer: RunObserver, orders: Orders) -> None:
        self._job = job
        self._observer = observer
        self._orders = orders
        self._began = job.clock.monotonic()
        self._begun = False
        check_embedder(job.config, job.embedder.name if job.embedder else None)
        askings = [member.asking for member in job.policies]
        self._search = open_search(job.run_id, job.problem, job.config, *askings)
        self._fold = StatusFold(job.run_id)
        self._waiting = self._since = ""
        self._committing: asyncio.Task[None] | None = None
        self._gathering: asyncio.TimerHandle | None = None
        self._flight = Flight(
            self._search, job.policies, job.evaluator, job.config.concurrency, self._write, job.embedder
        )
        self._closing = RunClosing(job.run_id, job.problem, job.config, job.evaluator, job.log, self._write)
        self.patience = Patience(job.clock, job.patience_seconds, self._look_for_storage)

    def wake(self) -> None:
        """Let the loop look around at once."""
        self._flight.wake()

    async def run(self, hold: Hold) -> RunStatus:
        """Sit from the replay to the last commit."""
        job, self._hold = self._job, hold
        sequence = await undisturbed(self._replay)
        if self._fold.status.state in ENDED:
            return self._status()
        self._journal = Journal(job.log, job.clock, job.run_id, hold.fence, sequence, self.patience)
        watcher = asyncio.create_task(self._watch_orders())
        try:
            if self._orders.wish is Wish.RUNNING:
                self._begin()
                while not self._closing.done.reason and not await self._turn():
                    pass
            await self._end()
        finally:
            watcher.cancel()
            await self._flight.cancel()
            self.patience.hurry()
            if self._committing is not None:
                await asyncio.wait([self._committing])
                hear(self._committing)
        return self._status()

    @property
    def _elapsed(self) -> float:
        return self._job.elapsed_seconds + self._job.clock.monotonic() - self._began

    @property
    def _full(self) -> bool:
        """Whether so much waits to be committed that nothing more is told: what is shown must not fall behind."""
        return len(self._journal) >= MOST_UNCOMMITTED

    async def _turn(self) -> bool:
        """One turn of the loop; whether it was the last."""
        self._hold.check()
        self._extend()
        if not self._full:
            self._flight.ask(self._elapsed)
        self._note_waiting()
        await self._commit_soon()
        if self._search.ended(self._elapsed) or self._orders.wish is not Wish.RUNNING:
            return True
        if self._full:
            await self._flight.stir(TICK_SECONDS)
        else:
            self._flight.take(await self._flight.arrival(TICK_SECONDS))
        return False

    def _replay(self) -> int:
        """Fold what an earlier sitting logged; the sequence of its last event."""
        job, logged = self._job, 0
        self._owed = Step()

        def events() -> Iterator[Event]:
            nonlocal logged
            for entry in job.log.events(job.run_id):
                logged = entry.sequence
                self._fold.apply(entry.event)
                self._closing.done.apply(entry.event)
                yield entry.event

        resumed = self._search.replay(
            events(),
            lambda ids: job.log.individuals(job.run_id, ids),
            lambda ids: job.log.candidates(job.run_id, ids),
        )
        self._owed = Step(candidates=resumed.candidates, proposals=resumed.proposals)
        return logged

    def _begin(self) -> None:
        self._begun = True
        started = self._search.state.started or self._fold.status.state != "queued"
        self._journal.note(RunResumed(by=self._job.owner) if started else RunStarted(by=self._job.owner))
        self._flight.take(self._owed if self._search.state.started else self._search.start())

    def _extend(self) -> None:
        for key, value in self._orders.take_budget().items():
            try:
                self._flight.take(self._search.extend(key, value, self._orders.by))
            except ConfigurationError as error:
                _log.warning("budget.refused", run_id=self._job.run_id, key=key, reason=str(error))

    def _write(self, events: Sequence[Event]) -> None:
        self._journal.write(events)

    async def _end(self) -> None:
        """Let go of what is under way, and write what became of the run."""
        reason = (self._closing.done.reason or self._search.ended(self._elapsed)) if self._begun else None
        if reason and not await self._examined(reason):
            reason = None
        wish = self._orders.wish
        pauses = not reason and wish is Wish.PAUSED and (self._begun or self._fold.status.state != "paused")
        if pauses and self._begun:
            self._journal.note(RunPausing(by=self._orders.by))
            await self._commit_soon(at_once=True)
        await self._flight.cancel()
        if reason:
            self._finish(reason)
        else:
            for step in self._flight.landed():
                self._journal.write(step.events)
        if not reason and wish is Wish.CANCELLED:
            self._journal.write(self._search.close(self._flight.cut).events)
            self._journal.note(RunCancelled(by=self._orders.by))
        if pauses:
            self._journal.note(RunPaused(by=self._orders.by))
        if self._committing is not None:
            await self._committing
        await self._commit()

    async def _examined(self, reason: str) -> bool:
        """Let go of the search, and examine what it found; whether all of that is done."""
        await self._flight.cancel()
        self._journal.write(self._search.close(self._flight.cut).events)
        self._closing.plan(reason, self._search.state)
        if not self._closing.left:
            return True
        if self._committing is not None:
            await self._committing
        await self._commit()
        work = asyncio.create_task(self._closing.work())
        work.add_done_callback(lambda _: self.wake())
        try:
            while not work.done() and self._orders.wish is Wish.RUNNING:
                self._hold.check()
                self._note_waiting()
                await self._commit_soon()
                await self._flight.stir(TICK_SECONDS)
        finally:
            await ended(work)
        return not self._closing.left

    def _finish(self, reason: str) -> None:
        self._journal.write(self._search.close(self._flight.cut).events)
        best = self._search.state.best
        self._journal.note(
            RunFinished(
                reason=reason,
                candidate_id=best.candidate_id if best else None,
                fitness=best.fitness if best else None,
                detail=self._search.explain(reason, self._flight.last_denied),
            )
        )

    async def _commit_soon(self, *, at_once: bool = False) -> None:
        """Commit what was written, unless a commit is under way or was a moment ago: the next takes it, and more."""
        if self._committing is not None and self._committing.done():
            await self._committing
            self._committing = None
        due = at_once or self._full or self._gathering is None
        if self._committing is None and len(self._journal) and due:
            self._committing = asyncio.create_task(self._commit_beside())
            self._committing.add_done_callback(lambda _: self.wake())

    async def _commit_beside(self) -> None:
        """Commit beside the loop, and let what comes then gather: a commit costs little more for fifty events."""
        await self._commit()
        if self._gathering is not None:
            self._gathering.cancel()
        self._gathering = asyncio.get_running_loop().call_later(GATHERING_SECONDS, self._gathered)

    def _gathered(self) -> None:
        self._gathering = None
        self.wake()

    async def _commit(self) -> None:
        committed = await self._journal.commit()
        if committed:
            for entry in committed:
                self._fold.apply(entry.event)
            self._show(committed)

    def _show(self, committed: Sequence[LoggedEvent]) -> None:
        self._observer.committed(committed, self._status())

    def _look_for_storage(self) -> None:
        self._show(())  # of what cannot be committed now, this alone is shown
        self.wake()

    def _status(self) -> RunStatus:
        status, absence = self._fold.status, self.patience.absence
        return replace(
            status,
            waiting=absence.reason if absence else status.waiting,
            evaluating=self._flight.evaluating + self._closing.left,
            proposing=self._flight.proposing,
            elapsed_seconds=self._elapsed,
        )

    def _note_waiting(self) -> None:
        self._write(self._flight.news())
        absence = self.patience.absence
        waiting = DATABASE_AWAY if absence else self._flight.waiting or self._closing.waiting
        before = self._waiting
        if waiting == before:
            return
        self._waiting = waiting
        if not waiting:
            self._journal.note(RunGoingOn())
            return
        now = self._job.clock.now()
        if not before:
            self._since = rfc3339(absence.since if absence else now)
        again = now + timedelta(seconds=self._flight.retry_seconds) if waiting == self._flight.denied else None
        retry_at = rfc3339(again) if again else None
        self._journal.note(RunWaiting(reason=waiting, since=self._since, retry_at=retry_at))

    async def _watch_orders(self) -> None:
        while True:
            await self._orders.changed()
            if self._orders.wish is Wish.LEFT:
                self.patience.hurry(LEAVING_SECONDS)
            self.wake()
