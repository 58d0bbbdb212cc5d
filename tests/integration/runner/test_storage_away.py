"""A database that does not answer: the run waits for it, loses nothing, and goes on; a lost lease ends the writing."""

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from evolve.events import EventKind
from service.db.engine import Database
from service.db.log import SqlRunLog
from service.errors import LeaseLostError, StorageAwayError, StorageError
from service.ports import LoggedEvent
from service.runner import lease, storage_retry
from service.runner import run_loop as driving
from service.runner.desired_state import RunOrders
from service.runner.run_loop import drive
from service.runner.status import RunStatus
from service.runner.storage_retry import StorageRetry
from service.timestamps import SystemClock
from tests.contract.story import RUN, FixedClock
from tests.integration.runner.scene import Notes, SilentPolicy, ToyEvaluator, job, play
from tests.patience import PATIENCE_SECONDS

AWAY = "the database does not answer: check that it runs and is reachable"


class AwayLog(SqlRunLog):
    """A database that goes away after some commits, for some tries.

    Attributes:
        after: commits before it does.
        tries: appends that fail then.
        late: whether they fail after they were committed.
    """

    def __init__(self, database: Database, after: int, tries: int, *, late: bool = False) -> None:
        super().__init__(database, SystemClock())
        self.after, self.tries, self.late = after, tries, late

    def append(self, run_id: str, fence: int, events: Sequence[LoggedEvent]) -> None:
        self.after -= 1
        fails = self.after < 0 and self.tries > 0
        if fails:
            self.tries -= 1
        if not fails or self.late:
            super().append(run_id, fence, events)
        if fails:
            raise StorageAwayError(AWAY)


@dataclass
class Watch(Notes):
    """Notes that also keep what was shown while nothing could be committed."""

    shown: list[str] = field(default_factory=list)

    def committed(self, events: Sequence[LoggedEvent], status: RunStatus) -> None:
        if not events:
            self.shown.append(status.waiting)
        super().committed(events, status)


def dense(log: SqlRunLog) -> bool:
    sequences = [entry.sequence for entry in log.events(RUN)]
    return sequences == list(range(1, len(sequences) + 1))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of some hundred evaluations has many commits."""
    monkeypatch.setattr(driving, "MAX_UNCOMMITTED", 20)


def test_a_run_waits_for_its_database_and_loses_nothing(log: SqlRunLog, database: Database) -> None:
    began = datetime.now(UTC)
    watch = Watch()
    status = play(job(AwayLog(database, after=2, tries=3), evaluations=200), watch)
    assert (status.counters.evaluations, status.waiting) == (200, "")
    assert [e.as_json() for e in log.events(RUN)][1:] == [e.as_json() for e in watch.events]
    assert watch.shown == [AWAY, ""]
    assert watch.kinds().count(EventKind.RUN_UNBLOCKED) == 1
    waits = [entry for entry in watch.events if entry.event.kind is EventKind.RUN_WAITING]
    assert [entry.event.payload["reason"] for entry in waits] == [driving.DATABASE_AWAY]
    assert began <= datetime.fromisoformat(waits[0].event.payload["since"]) <= waits[0].at


class SlowlyFailingLog(SqlRunLog):
    """A database whose first commit fails for good, after the run met another fault."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, SystemClock())
        self.commits, self.begun, self.met = 0, threading.Event(), threading.Event()

    def append(self, run_id: str, fence: int, events: Sequence[LoggedEvent]) -> None:
        self.commits += 1
        self.begun.set()
        assert self.met.wait(PATIENCE_SECONDS)
        raise StorageError("the database is damaged")


@dataclass
class FaultyEvaluator(ToyEvaluator):
    """Meets with a fault while the commit is under way."""

    log: SlowlyFailingLog | None = None

    async def evaluate(self, program: Any, evaluation_id: str, scoring: Any = None) -> Any:
        assert self.log is not None
        await asyncio.to_thread(self.log.begun.wait, PATIENCE_SECONDS)
        asyncio.get_running_loop().call_later(0.05, self.log.met.set)  # the fault has ended the loop by then
        raise RuntimeError("a fault")


async def test_a_commit_that_fails_as_the_run_ends_by_a_fault_is_heard(log: SqlRunLog, database: Database) -> None:
    said: list[Mapping[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    failing = SlowlyFailingLog(database)
    made = job(failing)
    made = replace(made, evaluator=FaultyEvaluator(made.problem, log=failing))
    with pytest.raises(RuntimeError, match="a fault"):
        await drive(made, observer=Notes(), orders=RunOrders())
    gc.collect()
    assert failing.commits == 1
    assert said == []


def test_what_is_told_while_the_database_is_away_has_a_bound(log: SqlRunLog, database: Database) -> None:
    work = job(AwayLog(database, after=2, tries=4), evaluations=2000)
    orders, scored = RunOrders(), []
    assert isinstance(work.evaluator, ToyEvaluator)
    evaluated = work.evaluator.scored

    def react(events: Sequence[LoggedEvent]) -> None:
        if events and isinstance(work.log, AwayLog) and work.log.tries == 0:
            scored.append(len(evaluated))
            orders.leave()

    play(work, Watch(react=react), orders)
    # Two batches before, one of them in doubt, then the outbox, and what was under way at the evaluator.
    assert scored[0] < 100
    assert dense(log)


def test_a_commit_of_which_nobody_heard_is_not_made_twice(log: SqlRunLog, database: Database) -> None:
    notes = Notes()
    status = play(job(AwayLog(database, after=1, tries=2, late=True), evaluations=200), notes)
    assert status.counters.evaluations == 200
    assert [e.as_json() for e in log.events(RUN)][1:] == [e.as_json() for e in notes.events]
    assert dense(log)


def test_patience_ends_and_the_run_can_be_resumed(log: SqlRunLog, database: Database) -> None:
    work = replace(job(AwayLog(database, after=2, tries=10**6), evaluations=200), patience_seconds=0.3)
    notes = Notes()
    with pytest.raises(StorageAwayError):
        play(work, notes)
    assert [e.as_json() for e in log.events(RUN)][1:] == [e.as_json() for e in notes.events]
    assert play(job(log, evaluations=200), Notes()).counters.evaluations == 200


def test_a_run_is_left_although_its_database_is_away(
    log: SqlRunLog, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "LEAVING_SECONDS", 0.2)
    orders = RunOrders()

    @dataclass
    class Leaving(Watch):
        def committed(self, events: Sequence[LoggedEvent], status: RunStatus) -> None:
            super().committed(events, status)
            if self.shown:
                orders.leave()

    with pytest.raises(StorageAwayError):
        play(job(AwayLog(database, after=2, tries=10**6), evaluations=200), Leaving(), orders)
    assert play(replace(job(log, evaluations=200), owner="another"), Notes()).counters.evaluations == 200


class StalledLog(SqlRunLog):
    """A process that stands still at its third commit, until it is let go on."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, SystemClock())
        self.commits = 0
        self.stalled, self.go_on = threading.Event(), threading.Event()

    def append(self, run_id: str, fence: int, events: Sequence[LoggedEvent]) -> None:
        self.commits += 1
        if self.commits == 3:
            self.stalled.set()
            assert self.go_on.wait(PATIENCE_SECONDS)
        super().append(run_id, fence, events)


def test_of_two_that_drive_a_run_only_the_later_writes(log: SqlRunLog, database: Database) -> None:
    late = StalledLog(database)
    first, second = Notes(), Notes()

    async def scene() -> RunStatus:
        stalled = asyncio.create_task(
            drive(replace(job(late, evaluations=200), owner="late"), observer=first, orders=RunOrders())
        )
        await asyncio.to_thread(late.stalled.wait, 8)
        hence = FixedClock(datetime.now(UTC) + timedelta(seconds=lease.LEASE_SECONDS + 1))
        work = replace(job(SqlRunLog(database, hence), evaluations=200), owner="next")
        status = await drive(work, observer=second, orders=RunOrders())
        late.go_on.set()
        with pytest.raises(LeaseLostError):
            await stalled
        return status

    assert asyncio.run(scene()).counters.evaluations == 200
    stored = [entry.as_json() for entry in log.events(RUN)][1:]
    assert stored == [entry.as_json() for entry in [*first.events, *second.events]]
    assert dense(log)


class LongLog(SqlRunLog):
    """A log whose reading ends only when the lease was renewed twice meanwhile; the lease is lost as told."""

    def __init__(self, database: Database, lost_after: int = 10**6) -> None:
        super().__init__(database, SystemClock())
        self.renewed = threading.Semaphore(0)
        self.lost_after = lost_after

    def renew(self, run_id: str, fence: int, lease_seconds: float, health: Mapping[str, Any] | None = None) -> str:
        self.lost_after -= 1
        if self.lost_after < 0:
            raise LeaseLostError("another took it")
        self.renewed.release()
        return super().renew(run_id, fence, lease_seconds, health)

    def events(self, run_id: str, after: int = 0, limit: int | None = None) -> Iterator[LoggedEvent]:
        yield from super().events(run_id, after, limit)
        for _ in range(2):
            assert self.renewed.acquire(timeout=PATIENCE_SECONDS)


@pytest.fixture
def short_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.3)


@pytest.mark.usefixtures("short_lease")
def test_the_lease_is_renewed_during_a_long_replay(log: SqlRunLog, database: Database) -> None:
    assert play(job(LongLog(database)), Notes()).counters.evaluations == 30


@pytest.mark.usefixtures("short_lease")
def test_a_run_without_anything_to_write_hears_that_its_lease_is_lost(log: SqlRunLog, database: Database) -> None:
    with pytest.raises(LeaseLostError, match="another took it"):
        play(job(LongLog(database, lost_after=4), SilentPolicy()), Notes())


class StillLog(SqlRunLog):
    """A database that stands still when the lease is given back."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, SystemClock())
        self.go_on = threading.Event()

    def release(self, run_id: str, fence: int) -> None:
        assert self.go_on.wait(PATIENCE_SECONDS)
        super().release(run_id, fence)


async def test_a_run_ends_although_its_lease_cannot_be_given_back(
    log: SqlRunLog, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "RELEASE_SECONDS", 0.1)
    monkeypatch.setattr(storage_retry, "STILL_SECONDS", 0.1)
    still = StillLog(database)
    try:
        status = await drive(job(still), observer=Notes(), orders=RunOrders())
        assert status.state == "succeeded"
        assert not still.go_on.is_set()
    finally:
        still.go_on.set()


def failing(times: int) -> Callable[[], str]:
    left = [times]

    def call() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise StorageAwayError(f"away {left[0]}")
        return "back"

    return call


async def test_patience_tells_of_an_absence_from_its_beginning_to_its_end() -> None:
    seen: list[str] = []

    def changed() -> None:
        seen.append(waiting.outage.reason if waiting.outage else "")

    waiting = StorageRetry(SystemClock(), changed=changed)
    assert await waiting.call(failing(2)) == "back"
    assert seen == ["away 1", "away 0", ""]
    assert waiting.outage is None


async def test_hurried_patience_gives_up() -> None:
    waiting = StorageRetry(SystemClock())
    calling = asyncio.create_task(waiting.call(failing(10**6)))
    await asyncio.sleep(0)
    waiting.hurry()
    with pytest.raises(StorageAwayError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await calling
