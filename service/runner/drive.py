"""Drive: the loop of a run. It asks the search, sends what is due into the world, tells what came back, and commits."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from evolve.configuration import RunConfig
from evolve.events import Event, Kind
from evolve.ordering import Ordering, open_search
from evolve.ports import Evaluator, Policy
from evolve.problem import Problem
from evolve.search import Asking, Step
from service.ports import Clock, LoggedEvent, RunLog
from service.runner.flight import Flight
from service.runner.journal import Journal
from service.runner.owner import is_gone
from service.runner.status import RunObserver, RunStatus, StatusFold

LEASE_SECONDS = 15.0
TICK_SECONDS = 0.5
MOST_UNCOMMITTED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJob:
    """A run to drive, new or interrupted, and everything it is driven with.

    Attributes:
        owner: who holds the run's lease.
        elapsed_seconds: time at work in earlier sittings.
    """

    run_id: str
    problem: Problem
    config: RunConfig
    policy: Policy
    evaluator: Evaluator
    log: RunLog
    clock: Clock
    owner: str
    elapsed_seconds: float = 0.0


async def drive(job: RunJob, *, observer: RunObserver, stop: asyncio.Event) -> RunStatus:
    """Drive a run until it ends or `stop` is set; where it stands then, all of it committed.

    Raises:
        ConflictError: another runner holds the run, or took it.
        StorageError: the database cannot take more; everything shown so far is in it.
        ReplayError: the run's log does not fit its problem and configuration.
    """
    fence = await asyncio.to_thread(job.log.take, job.run_id, job.owner, LEASE_SECONDS, is_gone)
    try:
        return await _Drive(job, observer, stop, fence).run()
    finally:
        await asyncio.to_thread(job.log.release, job.run_id, fence)


class _Drive:
    def __init__(self, job: RunJob, observer: RunObserver, stop: asyncio.Event, fence: int) -> None:
        policy, config = job.policy, job.config
        asking = Asking(policy=policy.name, answers=policy.answers, samples=policy.samples)
        self._job = job
        self._observer = observer
        self._stop = stop
        self._fence = fence
        self._began = job.clock.monotonic()
        self._renewed = self._began
        self._search = open_search(job.run_id, job.problem, config, asking)
        self._fold = StatusFold(job.run_id)
        self._waiting = self._since = ""
        self._committing: asyncio.Task[None] | None = None
        self._flight = Flight(
            self._search,
            policy,
            job.evaluator,
            calls=config.concurrency.policy or policy.concurrency,
            slots=config.concurrency.evaluations,
        )

    @property
    def _elapsed(self) -> float:
        return self._job.elapsed_seconds + self._job.clock.monotonic() - self._began

    async def run(self) -> RunStatus:
        sequence = await asyncio.to_thread(self._replay)
        self._journal = Journal(self._job.log, self._job.clock, self._job.run_id, self._fence, sequence)
        watcher = asyncio.create_task(self._watch_stop())
        try:
            self._begin()
            while not await self._turn():
                pass
        finally:
            watcher.cancel()
            await self._flight.cancel()
            if self._committing is not None:
                await asyncio.wait([self._committing])
        return self._status()

    async def _turn(self) -> bool:
        """One turn of the loop; whether it was the last."""
        self._ask()
        self._note_waiting()
        await self._commit_soon()
        reason = self._search.ended(self._elapsed)
        if not (reason or self._stop.is_set()):
            self._take(await self._flight.arrival(TICK_SECONDS))
            await self._renew()
            return False
        await self._flight.cancel()
        if reason:
            self._finish(reason)
        else:
            self._pause()
        if self._committing is not None:
            await self._committing
        await self._commit()
        return True

    def _replay(self) -> int:
        """Fold what an earlier sitting logged; the sequence of its last event."""
        job, logged = self._job, 0
        self._owed = Step()

        def events() -> Iterator[Event]:
            nonlocal logged
            for entry in job.log.events(job.run_id):
                logged = entry.sequence
                self._fold.apply(entry.event)
                yield entry.event

        resumed = self._search.replay(
            events(),
            lambda ids: job.log.individuals(job.run_id, ids),
            lambda ids: job.log.candidates(job.run_id, ids),
        )
        self._owed = Step(candidates=resumed.candidates, proposals=resumed.proposals)
        return logged

    def _begin(self) -> None:
        started = self._fold.status.state != "queued"
        self._journal.note(Kind.RUN_RESUMED if started else Kind.RUN_STARTED, {"by": self._job.owner})
        self._take(self._owed if self._search.state.started else self._search.start())

    def _ask(self) -> None:
        if isinstance(self._search, Ordering):
            self._take(self._search.ask(self._elapsed))
            return
        while self._flight.has_room:
            step = self._search.ask(self._elapsed)
            if not step.proposals:
                return
            self._take(step)

    def _take(self, step: Step) -> None:
        self._journal.write(step.events)
        self._flight.send(step)

    def _pause(self) -> None:
        for step in self._flight.landed():
            self._journal.write(step.events)
        self._journal.note(Kind.RUN_PAUSED, {"by": self._job.owner})

    def _finish(self, reason: str) -> None:
        self._journal.write(self._search.close().events)
        best = self._search.state.best
        payload = {
            "reason": reason,
            "candidate_id": best.candidate_id if best else None,
            "fitness": best.fitness if best else None,
        }
        self._journal.note(Kind.RUN_FINISHED, payload)

    async def _commit_soon(self) -> None:
        """Commit what was written, unless a commit is under way: then the next one takes it, and more with it.

        A loop that writes faster than commits are made waits for one: what is shown must not fall behind.
        """
        if self._committing is not None and (self._committing.done() or len(self._journal) >= MOST_UNCOMMITTED):
            await self._committing
            self._committing = None
        if self._committing is None and len(self._journal):
            self._committing = asyncio.create_task(self._commit())
            self._committing.add_done_callback(lambda _: self._flight.wake())

    async def _commit(self) -> None:
        committed = await self._journal.commit()
        if committed:
            self._show(committed)

    def _show(self, committed: Sequence[LoggedEvent]) -> None:
        for entry in committed:
            self._fold.apply(entry.event)
        self._observer.committed(committed, self._status())

    def _status(self) -> RunStatus:
        return replace(
            self._fold.status,
            evaluating=self._flight.evaluating,
            proposing=self._flight.proposing,
            elapsed_seconds=self._elapsed,
        )

    def _note_waiting(self) -> None:
        waiting, before = self._flight.waiting, self._waiting
        if waiting == before:
            return
        self._waiting = waiting
        if waiting:
            now = self._job.clock.now()
            self._since = self._since if before else now.isoformat()
            retry_at = (now + timedelta(seconds=self._flight.retry_seconds)).isoformat()
            self._journal.note(Kind.RUN_WAITING, {"reason": waiting, "since": self._since, "retry_at": retry_at})
        else:
            self._journal.note(Kind.RUN_GOING_ON, {"reason": ""})

    async def _renew(self) -> None:
        now = self._job.clock.monotonic()
        if now - self._renewed > LEASE_SECONDS / 3:
            self._renewed = now
            await asyncio.to_thread(self._job.log.renew, self._job.run_id, self._fence, LEASE_SECONDS)

    async def _watch_stop(self) -> None:
        await self._stop.wait()
        self._flight.wake()
