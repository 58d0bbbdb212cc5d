"""Drive: the loop of a run. It asks the search, sends what is due into the world, tells what came back, and commits."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

import structlog

from evolve.change_events import RequestedChange
from evolve.credit.yields import EXTENSION_FAILED
from evolve.errors import ConfigurationError, ExtensionError, ReplayError, SnapshotError
from evolve.event_types import (
    RunCancelled,
    RunFinished,
    RunPaused,
    RunPausing,
    RunResumed,
    RunStarted,
    RunUnblocked,
    RunWaiting,
)
from evolve.events import Event
from evolve.extensions import Extensions
from evolve.search.deterministic_schedule import open_search
from evolve.search.dispatcher import Dispatcher
from evolve.search.embedding import check_embedder
from evolve.search.loaded_members import LoadedMembers
from evolve.search.members_on_demand import needs_members
from evolve.search.search import SearchStep
from evolve.search.snapshot import SnapshotDraft, restore
from service.ports import ENDED, LoggedEvent
from service.runner.desired_state import DesiredState, RunOrders
from service.runner.event_buffer import EventBuffer
from service.runner.holdout_audit import RunExaminations, ended
from service.runner.lease import RunLease, held
from service.runner.own_changes import OwnChanges
from service.runner.program_loader import ProgramLoader
from service.runner.run_job import RunJob
from service.runner.run_snapshots import ResumePoint, RunSnapshots
from service.runner.run_tracer import open_tracer
from service.runner.status import RunObserver, RunStatus, StatusFold
from service.runner.storage_retry import StorageRetry, hear, undisturbed
from service.runner.undriven_runs import give_up
from service.timestamps import rfc3339

TICK_SECONDS = 0.5
LEAVING_SECONDS = 5.0
MAX_UNCOMMITTED = 200
GATHERING_SECONDS = 0.05
# For everybody who may read the run; whoever drives it is shown the database's own reason in `RunStatus.waiting`.
DATABASE_AWAY = "the database does not answer: results are kept, and stored when it does"

_log = structlog.get_logger("runner")


async def drive(job: RunJob, *, observer: RunObserver, orders: RunOrders) -> RunStatus:
    """Drive a run until it ends or something else is wanted of it; where it stands then, all of it committed.

    A run that is left keeps its state, and whoever drives it next goes on from there; one that has ended is left alone.
    While the database is away, what is under way goes on, and at most a batch and some 200 events wait for it. An
    extension that fails ends the run with a sentence that names it; all that was decided before is committed.

    Raises:
        ConfigurationError: the policies do not go together with each other or with the configuration, or an extension
            is missing.
        ExtensionError: an extension cannot be loaded or made.
        ConflictError: another runner holds the run, or took it.
        StorageError: the database cannot take more, or was away for too long; everything shown so far is in it.
        ReplayError: the run's log does not fit its problem and configuration.
    """
    run_loop = RunLoop(job, observer, orders)
    try:
        async with held(job.log, job.run_id, job.owner, run_loop.patience, run_loop.wake, job.health) as hold:
            return await run_loop.run(hold)
    except ExtensionError as error:
        await give_up(job.log, job.clock, job.run_id, job.owner, str(error), EXTENSION_FAILED)
        return await undisturbed(run_loop.ended)


class RunLoop:
    """One run in this process, from its start or restart until it ends, pauses or is handed over."""

    def __init__(self, job: RunJob, observer: RunObserver, orders: RunOrders) -> None:
        self._job = job
        self._observer = observer
        self._orders = orders
        self._began = job.clock.monotonic()
        self._begun, self._sequence = False, 0
        check_embedder(job.config, job.embedder.name if job.embedder else None)
        self._waiting = self._since = ""
        self._committing: asyncio.Task[None] | None = None
        self._gathering: asyncio.TimerHandle | None = None
        self.patience = StorageRetry(job.clock, job.patience_seconds, self._look_for_storage)
        self._snapshots = RunSnapshots(job)
        self._open()

    def _open(self) -> None:
        """Make the search, and everything that looks at it, as before the first event."""
        job = self._job
        policy_requests = [member.policy_request for member in job.policies]
        self._search = open_search(job.run_id, job.problem, job.config, *policy_requests)
        self._members = LoadedMembers(self._search.state)
        self._fold = StatusFold(job.run_id)
        load = ProgramLoader(job.log, job.run_id, self.patience).load
        self._dispatcher = Dispatcher(
            self._search, job.policies, job.evaluator, self._write, job.embedder, open_tracer(job.run_id), load
        )
        self._closing = RunExaminations(job.run_id, job.problem, job.config, job.evaluator, job.log, self._write)
        self._own = OwnChanges(job, self._search.state, self._dispatcher, retry=self.patience, wake=self.wake)

    def wake(self) -> None:
        """Let the loop look around at once."""
        self._dispatcher.wake()

    async def run(self, hold: RunLease) -> RunStatus:
        """Sit from the replay to the last commit."""
        job, self._hold = self._job, hold
        sequence = await undisturbed(self._replay)
        if self._fold.status.state in ENDED:
            return self._status()
        self._event_buffer = EventBuffer(job.log, job.clock, job.run_id, hold.fence, sequence, self.patience)
        watcher = asyncio.create_task(self._watch_orders())
        try:
            if self._orders.desired is DesiredState.RUNNING:
                await self._own.reopen()
                self._begin()
                while not self._closing.done.reason and not await self._turn():
                    pass
            await self._end()
        except ExtensionError:
            await self._dispatcher.cancel()
            await self._own.cancel(ended=True)
            if self._committing is not None:
                await self._committing
            await self._commit()
            raise
        finally:
            watcher.cancel()
            await self._dispatcher.cancel()
            await self._own.cancel()
            self.patience.hurry()
            if self._committing is not None:
                await asyncio.wait([self._committing])
                hear(self._committing)
            await self._snapshots.finish()
        return self._status()

    def ended(self) -> RunStatus:
        """Take in what somebody else wrote behind what this sitting committed; where the run stands then."""
        rest = list(self._job.log.events(self._job.run_id, self._sequence))
        for entry in rest:
            self._fold.apply(entry.event)
        self._show(rest)
        return self._status()

    @property
    def _elapsed(self) -> float:
        return self._job.elapsed_seconds + self._job.clock.monotonic() - self._began

    @property
    def _full(self) -> bool:
        """Whether so much waits to be committed that nothing more is told: what is shown must not fall behind."""
        return len(self._event_buffer) >= MAX_UNCOMMITTED

    async def _turn(self) -> bool:
        """One turn of the loop; whether it was the last."""
        self._hold.check()
        self._extend()
        await self._make_changes()
        self._change_itself()
        if not self._full:
            self._dispatcher.ask(self._elapsed)
        self._note_waiting()
        await self._commit_soon()
        if self._search.ended(self._elapsed) or self._orders.desired is not DesiredState.RUNNING:
            return True
        if self._full:
            await self._dispatcher.stir(TICK_SECONDS)
        else:
            self._dispatcher.take(await self._dispatcher.arrival(TICK_SECONDS))
        return False

    def _replay(self) -> int:
        """Fold what an earlier sitting logged, from a snapshot on where one fits; the sequence of its last event."""
        point = self._snapshots.load()
        if point is not None:
            try:
                return self._replay_from(point)
            except (SnapshotError, ReplayError) as error:
                self._snapshots.ignore(point.sequence, error)
                self._open()
        return self._replay_from(None)

    def _replay_from(self, point: ResumePoint | None) -> int:
        job = self._job
        self._owed, self._sequence = SearchStep(), 0
        if point is not None:
            restore(self._search, point.content)
            self._fold, self._sequence = point.fold, point.sequence

        def events() -> Iterator[Event]:
            for entry in job.log.events(job.run_id, self._sequence):
                self._sequence = entry.sequence
                self._fold.apply(entry.event)
                self._closing.done.apply(entry.event)
                yield entry.event

        resumed = self._search.replay(
            events(),
            lambda ids: job.log.individuals(job.run_id, ids),
            lambda ids: job.log.candidates(job.run_id, ids),
            on_demand=True,
        )
        self._members.absent = not needs_members(self._search.state)
        self._members.loaded()
        self._owed = SearchStep(candidates=resumed.candidates, proposals=resumed.proposals)
        return self._sequence

    def _begin(self) -> None:
        self._begun = True
        started = self._search.state.started or self._fold.status.state != "queued"
        used = tuple(Extensions().describe([*self._job.config.extensions, *self._job.extensions]))
        begun = RunResumed if started else RunStarted
        self._event_buffer.note(begun(by=self._job.owner, extensions=used))
        self._dispatcher.take(self._owed if self._search.state.started else self._search.start())

    def _extend(self) -> None:
        for key, value in self._orders.take_budget().items():
            try:
                self._dispatcher.take(self._search.extend(key, value, self._orders.by))
            except ConfigurationError as error:
                _log.warning("budget.refused", run_id=self._job.run_id, key=key, reason=str(error))

    async def _make_changes(self) -> None:
        for change in self._orders.take_changes():
            try:
                self._dispatcher.take(self._search.change(change))
            except ConfigurationError as error:
                change_id = change.data.change_id
                _log.info("change.refused", run_id=self._job.run_id, change_id=change_id, reason=str(error))
                self._dispatcher.take(self._search.refuse(change, str(error)))
            await self._load_members()

    async def _load_members(self) -> None:
        """Load all members, once a change makes decisions need those that are not in memory."""
        job, ids = self._job, self._members.wanted()
        if ids:
            loaded = await self.patience.call(lambda: job.log.individuals(job.run_id, ids))
            self._search.state.fill(loaded, ())
            self._members.loaded()

    def _change_itself(self) -> None:
        if self._search.ended(self._elapsed):
            return
        for change in self._own.turn(written=self._event_buffer.sequence, committed=self._sequence):
            self._dispatcher.take(self._search.change(RequestedChange(data=change)))

    def _write(self, events: Sequence[Event]) -> None:
        self._event_buffer.write(events)

    async def _end(self) -> None:
        """Let go of what is under way, and write what became of the run."""
        reason = (self._closing.done.reason or self._search.ended(self._elapsed)) if self._begun else None
        if reason and not await self._examined(reason):
            reason = None
        desired = self._orders.desired
        pauses = not reason and desired is DesiredState.PAUSED and (self._begun or self._fold.status.state != "paused")
        if pauses and self._begun:
            self._event_buffer.note(RunPausing(by=self._orders.by))
            await self._commit_soon(at_once=True)
        await self._dispatcher.cancel()
        if reason:
            self._finish(reason)
        else:
            for step in self._dispatcher.landed():
                self._event_buffer.write(step.events)
        if not reason and desired is DesiredState.CANCELLED:
            await self._close()
            self._event_buffer.note(RunCancelled(by=self._orders.by))
        if pauses:
            self._event_buffer.note(RunPaused(by=self._orders.by))
        if self._committing is not None:
            await self._committing
        await self._commit()

    async def _examined(self, reason: str) -> bool:
        """Let go of the search, and examine what it found; whether all of that is done."""
        await self._dispatcher.cancel()
        await self._close()
        self._closing.plan(reason, self._search.state)
        if not self._closing.left:
            return True
        if self._committing is not None:
            await self._committing
        await self._commit()
        work = asyncio.create_task(self._closing.work())
        work.add_done_callback(lambda _: self.wake())
        try:
            while not work.done() and self._orders.desired is DesiredState.RUNNING:
                self._hold.check()
                self._note_waiting()
                await self._commit_soon()
                await self._dispatcher.stir(TICK_SECONDS)
        finally:
            await ended(work)
        return not self._closing.left

    async def _close(self) -> None:
        """Let go of all that is in flight, because the run has ended, with what its analyst took until now."""
        insights = await self._own.cancel(ended=True)
        self._event_buffer.write(self._search.close(self._dispatcher.cut, insights).events)

    def _finish(self, reason: str) -> None:
        best = self._search.state.best
        self._event_buffer.note(
            RunFinished(
                reason=reason,
                candidate_id=best.candidate_id if best else None,
                fitness=best.fitness if best else None,
                detail=self._search.explain(reason, self._dispatcher.last_denied),
            )
        )

    async def _commit_soon(self, *, at_once: bool = False) -> None:
        """Commit what was written, unless a commit is under way or was a moment ago: the next takes it, and more."""
        if self._committing is not None and self._committing.done():
            await self._committing
            self._committing = None
        due = at_once or self._full or self._gathering is None
        if self._committing is None and len(self._event_buffer) and due:
            self._committing = asyncio.create_task(self._commit_beside())
            self._committing.add_done_callback(lambda _: self.wake())

    async def _commit_beside(self) -> None:
        """Commit beside the loop, and let what comes then gather: a commit costs little more for fifty events."""
        drafted = (
            None if self._closing.done.reason else self._snapshots.draft(self._search, self._event_buffer.sequence)
        )
        await self._commit(drafted)
        if self._gathering is not None:
            self._gathering.cancel()
        self._gathering = asyncio.get_running_loop().call_later(GATHERING_SECONDS, self._gathered)

    def _gathered(self) -> None:
        self._gathering = None
        self.wake()

    async def _commit(self, drafted: SnapshotDraft | None = None) -> None:
        committed = await self._event_buffer.commit()
        if committed:
            for entry in committed:
                self._fold.apply(entry.event)
            self._sequence = committed[-1].sequence
            self._members.committed(entry.event for entry in committed)
            self._show(committed)
            if drafted is not None:
                self._snapshots.keep(drafted, committed[-1], self._fold)

    def _show(self, committed: Sequence[LoggedEvent]) -> None:
        self._observer.committed(committed, self._status())

    def _look_for_storage(self) -> None:
        self._show(())  # of what cannot be committed now, this alone is shown
        self.wake()

    def _status(self) -> RunStatus:
        status, outage = self._fold.status, self.patience.outage
        return replace(
            status,
            waiting=outage.reason if outage else status.waiting,
            evaluating=self._dispatcher.evaluating + self._closing.left,
            proposing=self._dispatcher.proposing,
            elapsed_seconds=self._elapsed,
        )

    def _note_waiting(self) -> None:
        self._write(self._dispatcher.news())
        outage = self.patience.outage
        waiting = DATABASE_AWAY if outage else self._dispatcher.waiting or self._closing.waiting or self._own.waiting
        before = self._waiting
        if waiting == before:
            return
        self._waiting = waiting
        if not waiting:
            self._event_buffer.note(RunUnblocked())
            return
        now = self._job.clock.now()
        if not before:
            self._since = rfc3339(outage.since if outage else now)
        again = now + timedelta(seconds=self._dispatcher.retry_seconds) if waiting == self._dispatcher.denied else None
        retry_at = rfc3339(again) if again else None
        self._event_buffer.note(RunWaiting(reason=waiting, since=self._since, retry_at=retry_at))

    async def _watch_orders(self) -> None:
        while True:
            await self._orders.changed()
            if self._orders.desired is DesiredState.LEFT:
                self.patience.hurry(LEAVING_SECONDS)
            self.wake()
