"""The runner of many runs over a real database: what befalls one of them befalls no other."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from evolve.errors import PolicyUnavailable, ReplayError
from evolve.events import Event, EventKind
from evolve.problem import Problem
from service.db.accounts import SqlAccounts
from service.db.engine import Database
from service.db.intents import SqlRunClaims, SqlRunIntents
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.errors import (
    ConflictError,
    InvalidProblemError,
    RefusedError,
    StorageAwayError,
    UnreachableError,
    UsageError,
)
from service.ports import CANCELLED, ENDED, PAUSED, RUNNING, Counters, Intent, LoggedEvent, Quotas, RunRecord
from service.runner.metrics import INSERTIONS, PROPOSALS, RUNS, TAKEOVERS, WAITING, RunMetrics
from service.runner.quota_guard import QuotaGuard
from service.runner.reevaluate import Reevaluation
from service.runner.run_job import RunJob
from service.runner.runner import Runner
from service.runner.status import RunStatus
from service.timestamps import SystemClock
from tests.contract.story import START, new_toy_run
from tests.integration.runner.scene import SilentPolicy, ToyEvaluator, ToyPolicy, job
from tests.patience import PATIENCE_SECONDS

EVALUATIONS = 12
RUNS_OF_TEST = [f"run_0190cccc00000000000000000000000{number}" for number in range(5)]
ONE, TWO, *_ = RUNS_OF_TEST


@dataclass
class ToyJobs:
    """Opens runs with toys; `troubles` are raised first, one at each opening of a run."""

    log: SqlRunLog
    reader: SqlRunReader
    troubles: dict[str, list[Exception]] = field(default_factory=dict)
    policies: dict[str, ToyPolicy] = field(default_factory=dict)
    opened: list[str] = field(default_factory=list)
    cleared: list[str] = field(default_factory=list)
    hung: set[str] = field(default_factory=set)
    failing: dict[str, Exception] = field(default_factory=dict)
    evaluator: Callable[[Problem], ToyEvaluator] = ToyEvaluator

    @asynccontextmanager
    async def open(self, record: RunRecord) -> AsyncIterator[RunJob]:
        await self._meet(record.id)
        policy = self.policies.get(record.id) or ToyPolicy()
        made = job(self.log, policy, EVALUATIONS)
        made = replace(made, evaluator=self.evaluator(made.problem))
        if record.id in self.failing:
            made = replace(made, evaluator=Failing(made.problem, error=self.failing[record.id]))
        yield replace(made, run_id=record.id, owner="here")

    @asynccontextmanager
    async def open_again(self, record: RunRecord) -> AsyncIterator[Reevaluation]:
        await self._meet(record.id)
        made = job(self.log, None, EVALUATIONS)
        yield Reevaluation(
            run_id=record.id,
            problem=made.problem,
            config=made.config,
            evaluator=made.evaluator,
            log=self.log,
            reader=self.reader,
            clock=SystemClock(),
            owner="here",
        )

    async def clear(self, record: RunRecord) -> None:
        assert self.reader.run(record.id).state in ENDED
        self.cleared.append(record.id)

    async def _meet(self, run_id: str) -> None:
        self.opened.append(run_id)
        if run_id in self.hung:
            await asyncio.Event().wait()
        if waiting := self.troubles.get(run_id):
            raise waiting.pop(0)


@dataclass
class Failing(ToyEvaluator):
    """Meets with a fault at every evaluation."""

    error: Exception = field(default_factory=RuntimeError)

    async def evaluate(self, program: Any, evaluation_id: str, scoring: Any = None) -> Any:
        raise self.error


class Watch(RunMetrics):
    """Counts, and remembers which runs were let go of."""

    def __init__(self) -> None:
        super().__init__()
        self.rested: list[str] = []

    def rests(self, run_id: str) -> None:
        super().rests(run_id)
        self.rested.append(run_id)


class Place:
    """A runner over a database, and the people who want things of its runs."""

    def __init__(self, database: Database, claims: SqlRunClaims | None = None, maximum: int = 8) -> None:
        self.log = SqlRunLog(database, SystemClock())
        self.database = database
        self.reader = SqlRunReader(database)
        self.jobs = ToyJobs(self.log, self.reader)
        self.watch = Watch()
        self.intents = SqlRunIntents(database, "default", SystemClock())
        claims = claims or SqlRunClaims(database, SystemClock())
        self.accounts = SqlAccounts(database)
        self.runner = Runner(
            claims,
            self.log,
            self.jobs,
            SystemClock(),
            "here",
            maximum=maximum,
            watch=self.watch,
            hold_to_quotas=QuotaGuard(self.accounts, lambda _: self.intents, SystemClock()),
        )

    def create(self, *runs: str) -> None:
        for number, run in enumerate(runs):
            self.log.create(new_toy_run(run, created_at=START.replace(minute=number)))

    def record(self, run: str) -> RunRecord:
        return self.reader.run(run)

    def kinds(self, run: str) -> list[EventKind]:
        return [entry.event.kind for entry in self.log.events(run)]

    def last(self, run: str) -> Mapping[str, Any]:
        return list(self.log.events(run))[-1].event.payload

    def held(self, run: str) -> bool:
        """Whether somebody holds the run, so that nobody else would find it."""
        others = [record.id for record in self.reader.runs() if record.id != run]
        return SqlRunClaims(self.database, SystemClock()).claim("elsewhere", 15, others) is None


@pytest.fixture
def place(database: Database) -> Place:
    return Place(database)


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not met():  # noqa: ASYNC110 -- what is stored tells nobody that it was
            await asyncio.sleep(0.01)


def events_of(place: Place, run: str, kind: EventKind) -> list[Event]:
    return [entry.event for entry in place.log.events(run) if entry.event.kind is kind]


def act(place: Place, *steps: Callable[[], object]) -> None:
    """Let a runner work until each step's condition is met, one after the other, and leave."""

    async def scene() -> None:
        running = asyncio.create_task(place.runner.run())
        try:
            for step in steps:
                outcome = step()
                if isinstance(outcome, Wait):
                    await until(outcome.met)
        finally:
            place.runner.leave()
            await running

    asyncio.run(scene())


@dataclass
class Wait:
    met: Callable[[], bool]


def wait(met: Callable[[], bool]) -> Callable[[], Wait]:
    return lambda: Wait(met)


def ended(place: Place, *runs: str) -> Callable[[], Wait]:
    return wait(lambda: all(place.record(run).state in ENDED for run in runs))


class LookedAgain(SqlRunClaims):
    """Knows when the runner asks after so many runs: by then it has taken up all that it ever would at once."""

    def __init__(self, database: Database, runs: int) -> None:
        super().__init__(database, SystemClock())
        self._runs = runs
        self.asked: Future[None] = Future()

    def wanted(self, run_ids: Sequence[str]) -> Mapping[str, Intent]:
        if len(run_ids) >= self._runs and not self.asked.done():
            self.asked.set_result(None)
        return super().wanted(run_ids)


@dataclass
class Held(ToyEvaluator):
    """Evaluates nothing before all that it waits for has come."""

    until: Sequence["Future[None]"] = ()

    async def evaluate(self, program: Any, evaluation_id: str, scoring: Any = None) -> Any:
        await asyncio.gather(*(asyncio.shield(asyncio.wrap_future(one)) for one in self.until))
        return await super().evaluate(program, evaluation_id, scoring)


def test_many_runs_go_on_at_once_and_no_more_than_allowed(database: Database) -> None:
    claims, begun = LookedAgain(database, 2), Future[None]()
    place = Place(database, claims, maximum=2)
    place.create(*RUNS_OF_TEST)
    place.jobs.evaluator = partial(Held, until=(claims.asked, begun))
    seen: set[str] = set()
    at_once: list[int] = []
    commit = place.watch.committed

    def committed(events: Sequence[LoggedEvent], status: RunStatus) -> None:
        commit(events, status)
        at_once.append(sum(RUNS.labels(state)._value.get() for state in ("running", "succeeded")))
        seen.add(status.run_id)
        if len(seen) == 2 and not begun.done():
            begun.set_result(None)

    place.watch.committed = committed  # type: ignore[method-assign]  # what it hears is what the test asks for
    act(place, ended(place, *RUNS_OF_TEST))
    assert {place.record(run).state for run in RUNS_OF_TEST} == {"succeeded"}
    assert {place.record(run).counters.evaluations for run in RUNS_OF_TEST} == {EVALUATIONS}
    assert max(at_once) == 2
    assert sorted(place.watch.rested) == RUNS_OF_TEST


@pytest.mark.parametrize("error", [UnreachableError("the queue is away"), PolicyUnavailable("no policy there")])
def test_a_run_that_cannot_be_opened_now_waits_and_is_tried_again(place: Place, error: Exception) -> None:
    place.create(ONE, TWO)
    place.jobs.troubles[ONE] = [error, error]
    act(place, ended(place, ONE, TWO))
    assert place.jobs.opened.count(ONE) == 3
    assert place.kinds(ONE)[:3] == [EventKind.RUN_CREATED, EventKind.RUN_WAITING, EventKind.RUN_STARTED]
    assert [place.record(run).state for run in (ONE, TWO)] == ["succeeded", "succeeded"]
    assert EventKind.RUN_WAITING not in place.kinds(TWO)


@pytest.mark.parametrize(
    "error", [InvalidProblemError(["no seed"]), RefusedError("too weak"), UsageError("no such key: set it")]
)
def test_a_run_that_never_can_be_opened_fails_with_the_sentence(place: Place, error: Exception) -> None:
    place.create(ONE, TWO)
    place.jobs.troubles[ONE] = [error]
    act(place, ended(place, ONE, TWO), wait(lambda: place.jobs.cleared == [ONE]))
    assert [place.record(run).state for run in (ONE, TWO)] == ["failed", "succeeded"]
    assert place.last(ONE) == {"reason": "error", "candidate_id": None, "fitness": None, "detail": str(error)}


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (RuntimeError("'NoneType' object at db-7.internal"), "the service met a fault of its own"),
        (ReplayError("another version"), "another version"),
    ],
)
def test_a_fault_is_tried_three_times_and_ends_its_own_run_only(place: Place, error: Exception, detail: str) -> None:
    place.create(ONE, TWO)
    place.jobs.failing[ONE] = error
    act(place, ended(place, ONE, TWO), wait(lambda: place.jobs.cleared == [ONE]))
    assert [place.record(run).state for run in (ONE, TWO)] == ["failed", "succeeded"]
    assert place.jobs.opened.count(ONE) == 3
    assert place.last(ONE)["detail"].startswith(detail)
    assert "db-7" not in place.last(ONE)["detail"]


def test_a_run_that_was_deleted_is_let_go_of(place: Place) -> None:
    place.create(ONE, TWO)
    place.jobs.troubles[ONE] = [UnreachableError("the queue is away")] * 50

    def deleted() -> bool:
        with contextlib.suppress(ConflictError):  # it is held in the moment in which it is written why it waits
            place.intents.delete(ONE)
            return True
        return False

    act(place, wait(lambda: place.record(ONE).waiting is not None), wait(deleted), ended(place, TWO))
    assert [record.id for record in place.reader.runs()] == [TWO]


@pytest.mark.parametrize(("desired", "state"), [(PAUSED, "paused"), (CANCELLED, "cancelled")])
def test_a_queued_run_is_settled_without_being_opened(place: Place, desired: str, state: str) -> None:
    place.create(ONE)
    place.intents.want(ONE, desired, "ada")
    cleared = [ONE] if desired == CANCELLED else []
    act(place, wait(lambda: place.record(ONE).state == state and place.jobs.cleared == cleared))
    assert place.jobs.opened == []
    assert place.last(ONE) == {"by": "ada"}


@pytest.mark.parametrize(("desired", "state"), [(PAUSED, "paused"), (CANCELLED, "cancelled")])
@pytest.mark.parametrize("hangs", ["opening", "policy"])
def test_what_is_wanted_reaches_a_run_whatever_it_waits_for(place: Place, desired: str, state: str, hangs: str) -> None:
    place.create(ONE)
    if hangs == "opening":
        place.jobs.hung.add(ONE)
    else:
        place.jobs.policies[ONE] = SilentPolicy()
    act(
        place,
        wait(lambda: place.record(ONE).counters.proposals > 0 if hangs == "policy" else ONE in place.jobs.opened),
        lambda: place.intents.want(ONE, desired, "ada"),
        wait(lambda: place.record(ONE).state == state),
    )
    assert place.last(ONE) == {"by": "ada"}


def test_a_paused_run_goes_on_when_it_is_wanted_and_with_the_budget_that_is(place: Place) -> None:
    place.create(ONE)
    place.intents.want(ONE, PAUSED, "ada")
    act(
        place,
        wait(lambda: place.record(ONE).state == "paused"),
        lambda: place.intents.extend(ONE, {"evaluations": EVALUATIONS + 7}, "bob"),
        lambda: place.intents.want(ONE, RUNNING, "ada"),
        ended(place, ONE),
    )
    assert place.record(ONE).counters.evaluations == EVALUATIONS + 7
    assert place.record(ONE).desired_budget == {}


def test_a_run_is_paused_while_its_tenant_has_used_up_a_quota(database: Database) -> None:
    before, place = Place(database), Place(database)
    before.create(ONE)
    act(before, ended(before, ONE))
    place.accounts.set_quotas("default", Quotas(evaluations_per_day=EVALUATIONS))
    place.create(RUNS_OF_TEST[1])
    run, held = RUNS_OF_TEST[1], Future[None]()
    place.jobs.evaluator = partial(Held, until=(held,))
    act(
        place,
        wait(lambda: place.record(run).state in {"pausing", "paused"}),
        lambda: held.set_result(None),
        wait(lambda: place.record(run).state == "paused"),
        lambda: place.accounts.set_quotas("default", Quotas(evaluations_per_day=3 * EVALUATIONS)),
        lambda: place.intents.want(run, RUNNING, "ada"),
        ended(place, run),
    )
    assert [event.payload["by"] for event in events_of(place, run, EventKind.RUN_PAUSED)] == ["quota"]
    assert (place.record(run).state, place.record(run).counters.evaluations) == ("succeeded", EVALUATIONS)


def test_a_run_that_has_ended_goes_on_with_a_larger_budget_and_ends_again(place: Place) -> None:
    place.create(ONE)
    act(
        place,
        ended(place, ONE),
        lambda: place.intents.extend(ONE, {"evaluations": EVALUATIONS + 7}, "bob"),
        wait(lambda: place.record(ONE).counters.evaluations == EVALUATIONS + 7),
        ended(place, ONE),
    )
    lives = [kind for kind in place.kinds(ONE) if kind.startswith(("run.", "budget."))]
    assert lives == [
        EventKind.RUN_CREATED,
        EventKind.RUN_STARTED,
        EventKind.RUN_FINISHED,
        EventKind.RUN_CONTINUED,
        EventKind.BUDGET_EXTENDED,
        EventKind.RUN_RESUMED,
        EventKind.RUN_FINISHED,
    ]
    assert place.record(ONE).counters.evaluations == EVALUATIONS + 7


@pytest.mark.parametrize("hangs", ["opening", "policy"])
def test_leaving_lets_go_of_every_run_as_it_stands(place: Place, hangs: str) -> None:
    place.create(ONE)
    place.jobs.hung |= {ONE} if hangs == "opening" else set()
    place.jobs.policies[ONE] = SilentPolicy()
    act(place, wait(lambda: ONE in place.jobs.opened if hangs == "opening" else place.record(ONE).sequence > 2))
    assert place.record(ONE).state == ("queued" if hangs == "opening" else "running")
    assert EventKind.RUN_PAUSED not in place.kinds(ONE)
    assert not place.held(ONE)
    again = Place(place.database)
    act(again, ended(again, ONE))
    assert again.record(ONE).counters.evaluations == EVALUATIONS


def test_candidates_of_ended_runs_are_evaluated_again(place: Place) -> None:
    place.create(ONE)
    best: list[str] = []

    def want() -> None:
        best.append(place.record(ONE).best_candidate_id or "")
        place.intents.reevaluate(ONE, best, "ada", datetime.now(UTC))

    act(place, ended(place, ONE), want, wait(lambda: len(place.reader.evaluations(best[0])) == 2))
    assert place.kinds(ONE)[-1] is EventKind.CANDIDATE_REEVALUATED
    assert place.record(ONE).state == "succeeded"


def test_what_cannot_be_evaluated_again_is_wanted_no_more(place: Place) -> None:
    place.create(ONE)
    act(place, ended(place, ONE))
    again = Place(place.database)
    again.jobs.troubles[ONE] = [InvalidProblemError(["the evaluator is of another version"])]
    claims = SqlRunClaims(place.database, SystemClock())
    again.intents.reevaluate(ONE, [again.record(ONE).best_candidate_id or ""], "ada", datetime.now(UTC))
    act(again, wait(lambda: claims.reevaluations(ONE) == []))
    assert again.record(ONE).state == "succeeded"
    assert again.jobs.opened == [ONE]


class ShakyClaims(SqlRunClaims):
    """Away at every third call."""

    calls = 0

    def claim(self, *words: Any) -> RunRecord | None:
        self._shake()
        return super().claim(*words)

    def wanted(self, run_ids: Sequence[str]) -> Mapping[str, Intent]:
        self._shake()
        return super().wanted(run_ids)

    def _shake(self) -> None:
        self.calls += 1
        if self.calls % 3 == 1:
            raise StorageAwayError("the database does not answer")


def test_a_database_that_is_away_now_and_then_ends_no_runner(database: Database) -> None:
    claims = ShakyClaims(database, SystemClock())
    place = Place(database, claims)
    place.create(ONE, TWO)
    act(place, ended(place, ONE, TWO))
    assert claims.calls > 2


def test_what_runs_do_is_counted(place: Place) -> None:
    answered = PROPOSALS.labels("mutate", "answered")._value
    before = answered.get()
    place.create(ONE)
    act(place, ended(place, ONE))
    inserted = sum(sample.value for metric in INSERTIONS.collect() for sample in metric.samples)
    assert answered.get() - before > 0
    assert inserted > 0
    assert [sample for metric in RUNS.collect() for sample in metric.samples] == []


def test_runs_that_wait_are_counted_until_they_rest(place: Place) -> None:
    watch = RunMetrics()
    status = RunStatus(run_id=ONE, state="running", counters=Counters(), waiting="no worker")
    watch.committed([], status)
    watch.committed([], replace(status, run_id=TWO))
    assert WAITING._value.get() == 2
    watch.committed([], replace(status, waiting=""))
    assert WAITING._value.get() == 1
    watch.rests(TWO)
    assert WAITING._value.get() == 0


def test_a_run_that_another_process_left_running_counts_as_taken_over(place: Place) -> None:
    before = TAKEOVERS._value.get()
    place.create(ONE, TWO)
    fence = place.log.take(ONE, "another", 60)
    started = LoggedEvent(
        run_id=ONE, sequence=2, at=START, event=Event.stored(EventKind.RUN_STARTED, payload={"by": "x"})
    )
    place.log.append(ONE, fence, [started])
    place.log.release(ONE, fence)
    act(place, ended(place, ONE, TWO))
    assert TAKEOVERS._value.get() - before == 1
