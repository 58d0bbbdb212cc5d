"""What is wanted of a run while it is driven: pausing, cancelling, leaving, a larger budget."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import pytest

from evolve.change_events import HintGiven, RequestedChange
from evolve.configuration import BudgetConfig, DeterministicConfig
from evolve.evaluation import PLAIN, Evaluation, ScoringRequest
from evolve.event_codec import encode
from evolve.event_types import ProposalCreated, RunCancelled
from evolve.events import Event, EventKind
from evolve.program import Program
from service.db.engine import Database
from service.db.intents import SqlRunIntents
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.ports import CANCELLED, PAUSED, Intent, LoggedEvent
from service.runner import run_loop as driving
from service.runner.desired_state import DesiredState, RunOrders
from service.runner.run_job import RunJob
from service.runner.run_loop import drive
from service.runner.status import RunStatus
from service.timestamps import SystemClock
from tests.contract.story import RUN
from tests.integration.runner.scene import Notes, SilentPolicy, ToyEvaluator, ToyPolicy, job, play
from tests.integration.sandbox.bench import processes_naming, sandbox
from tests.patience import PATIENCE_SECONDS

CANCEL = Intent(desired_state=CANCELLED, by="key_a")
PAUSE = Intent(desired_state=PAUSED, by="key_b")


@dataclass
class After:
    """Gives orders once some candidates were evaluated."""

    orders: RunOrders
    intent: Intent | None
    evaluations: int = 8
    notes: Notes = field(default_factory=Notes)

    def committed(self, events: Sequence[LoggedEvent], status: RunStatus) -> None:
        self.notes.committed(events, status)
        self.give(status.counters.evaluations)

    def give(self, evaluations: int) -> None:
        if evaluations < self.evaluations:
            return
        if self.intent is None:
            self.orders.leave()
        else:
            self.orders.want(self.intent)


def play_until(work: RunJob, intent: Intent | None, evaluations: int = 8) -> tuple[RunStatus, list[LoggedEvent]]:
    """Drive a run until something else is wanted of it; None: until it is left."""

    async def scene() -> tuple[RunStatus, list[LoggedEvent]]:
        orders = RunOrders()
        after = After(orders, intent, evaluations)
        assert isinstance(work.evaluator, ToyEvaluator)
        scored = work.evaluator.scored
        work.evaluator.before = lambda: after.give(len(scored))
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await drive(work, observer=after, orders=orders), after.notes.events

    return asyncio.run(scene())


def kinds(events: Sequence[LoggedEvent]) -> list[EventKind]:
    return [logged.event.kind for logged in events]


def wanting(intent: Intent) -> RunOrders:
    orders = RunOrders()
    orders.want(intent)
    return orders


def test_orders_tell_the_latest_wish_and_leaving_comes_first() -> None:
    orders = RunOrders()
    wishes = [orders.desired]
    for intent in (CANCEL, PAUSE, Intent()):
        orders.want(intent)
        wishes.append(orders.desired)
    orders.pause("me")
    assert (orders.desired, orders.by) == (DesiredState.PAUSED, "me")
    orders.leave()
    orders.want(CANCEL)
    assert [*wishes, orders.desired] == [
        DesiredState.RUNNING,
        DesiredState.CANCELLED,
        DesiredState.PAUSED,
        DesiredState.RUNNING,
        DesiredState.LEFT,
    ]


def test_a_wanted_budget_is_handed_out_once_until_it_is_wanted_anew() -> None:
    orders = wanting(Intent(budget={"evaluations": 40, "tokens": None}))
    assert orders.take_budget() == {"evaluations": 40, "tokens": None}
    orders.want(Intent(budget={"evaluations": 50, "tokens": None}, by="x"))
    assert orders.take_budget() == {"evaluations": 50}
    assert orders.take_budget() == {}
    orders.want(Intent())
    orders.want(Intent(budget={"evaluations": 50}))
    assert orders.take_budget() == {"evaluations": 50}


def test_a_cancelled_run_closes_what_was_under_way(log: SqlRunLog, database: Database) -> None:
    status, events = play_until(job(log, ToyPolicy(concurrency=4)), CANCEL)
    assert status.state == "cancelled"
    assert events[-1].event == Event(RunCancelled(by="key_a"))
    created = [e.event.payload["candidate_id"] for e in events if e.event.kind is EventKind.CANDIDATE_CREATED]
    ended = [
        e.event.payload["candidate_id"]
        for e in events
        if e.event.kind in {EventKind.CANDIDATE_EVALUATED, EventKind.CANDIDATE_DUPLICATE}
    ]
    assert sorted(created) == sorted(ended)
    closed = kinds(events).count(EventKind.PROPOSAL_ANSWERED) + kinds(events).count(EventKind.PROPOSAL_FAILED)
    assert closed == status.counters.proposals
    record = SqlRunReader(database).run(RUN)
    assert (record.state, record.counters) == ("cancelled", status.counters)


def test_a_paused_run_says_that_it_pauses_and_is_resumed(log: SqlRunLog) -> None:
    first, events = play_until(job(log), PAUSE)
    assert first.state == "paused"
    assert events[-1].event.kind is EventKind.RUN_PAUSED
    assert [e.event.payload["by"] for e in events if e.event.kind in {EventKind.RUN_PAUSING, EventKind.RUN_PAUSED}] == [
        "key_b"
    ] * 2
    notes = Notes()
    assert play(job(log), notes).counters.evaluations == 30
    assert notes.kinds()[0] is EventKind.RUN_RESUMED


def test_a_run_that_is_left_goes_on_elsewhere_at_once(log: SqlRunLog) -> None:
    first, events = play_until(job(log), None)
    assert first.state == "running"
    assert not {EventKind.RUN_PAUSING, EventKind.RUN_PAUSED, EventKind.RUN_CANCELLED, EventKind.RUN_FINISHED} & set(
        kinds(events)
    )
    assert [e.as_json() for e in log.events(RUN)][1:] == [e.as_json() for e in events]
    elsewhere = replace(job(log), owner="another")
    assert play(elsewhere, Notes()).counters.evaluations == 30


@pytest.mark.parametrize(("intent", "kind"), [(CANCEL, EventKind.RUN_CANCELLED), (PAUSE, EventKind.RUN_PAUSED)])
def test_a_run_that_is_not_wanted_running_is_not_begun(log: SqlRunLog, intent: Intent, kind: EventKind) -> None:
    policy, notes = ToyPolicy(), Notes()
    status = play(job(log, policy), notes, wanting(intent))
    assert notes.kinds() == [kind]
    assert status.state == intent.desired_state
    assert policy.asked == []


def test_a_paused_run_that_is_wanted_cancelled_is_closed_without_going_on(log: SqlRunLog) -> None:
    play_until(job(log, SilentPolicy(concurrency=3)), PAUSE, evaluations=1)
    policy, notes = ToyPolicy(), Notes()
    assert play(job(log, policy), notes, wanting(CANCEL)).state == "cancelled"
    assert set(notes.kinds()) <= {EventKind.PROPOSAL_FAILED, EventKind.CANDIDATE_EVALUATED, EventKind.RUN_CANCELLED}
    assert notes.kinds()[-1] is EventKind.RUN_CANCELLED
    assert policy.asked == []


def test_a_paused_run_that_is_wanted_paused_stays_as_it_is(log: SqlRunLog) -> None:
    play_until(job(log), PAUSE)
    notes = Notes()
    assert play(job(log), notes, wanting(PAUSE)).state == "paused"
    assert notes.events == []


def test_a_run_that_has_ended_is_left_alone(log: SqlRunLog) -> None:
    play(job(log), Notes())
    before = list(log.events(RUN))
    assert play(job(log), Notes(), wanting(CANCEL)).state == "succeeded"
    assert list(log.events(RUN)) == before


def test_orders_are_heard_although_nothing_arrives(log: SqlRunLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driving, "TICK_SECONDS", 3600.0)

    async def scene() -> RunStatus:
        orders = RunOrders()
        running = asyncio.create_task(drive(job(log, SilentPolicy()), observer=After(orders, CANCEL, 1), orders=orders))
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await running

    assert asyncio.run(scene()).state == "cancelled"


@pytest.mark.parametrize("window", [0, 4])
def test_a_run_goes_on_with_a_larger_budget(log: SqlRunLog, database: Database, window: int) -> None:
    SqlRunIntents(database, "default", SystemClock()).extend(RUN, {"evaluations": 25, "tokens": 10**6}, "key_a")
    work = job(log, evaluations=12, deterministic=DeterministicConfig(window=window))
    more = Intent(budget={"evaluations": 25}, by="key_a")
    status, events = play_until(work, more)
    assert (status.counters.evaluations, status.reason) == (25, "evaluations")
    [extended] = [e.event.payload for e in events if e.event.kind is EventKind.BUDGET_EXTENDED]
    assert extended == {"key": "evaluations", "from": 12, "to": 25, "by": "key_a"}
    record = SqlRunReader(database).run(RUN)
    assert record.config["budget"]["evaluations"] == 25
    assert record.desired_budget == {"tokens": 10**6}


@pytest.mark.parametrize("window", [0, 4])
def test_a_hint_stands_in_prompts_and_a_resumed_run_knows_it(log: SqlRunLog, database: Database, window: int) -> None:
    hint = HintGiven(change_id="hnt_1", text="try rings", proposals=5, by="key_a")
    SqlRunIntents(database, "default", SystemClock()).change(RUN, RequestedChange(data=hint))
    work = job(log, evaluations=25, deterministic=DeterministicConfig(window=window))
    wanted = Intent(changes=(RequestedChange(data=hint),))
    _, first = play_until(work, wanted)
    assert SqlRunIntents(database, "default", SystemClock()).changes(RUN) == []
    [given] = [e.event.payload for e in first if e.event.kind is EventKind.HINT_GIVEN]
    assert given == encode(hint)
    play(work, Notes(), wanting(wanted))  # the same once more gives it no second time
    told = [entry.event.data for entry in log.events(RUN)]
    used = [data.hint for data in told if isinstance(data, ProposalCreated)]
    assert used.count("hnt_1") == min(5, len(used))
    assert sum(isinstance(data, HintGiven) for data in told) == 1


def test_a_budget_that_is_wanted_of_a_paused_run_counts_from_its_resuming(log: SqlRunLog) -> None:
    play_until(job(log, evaluations=12), PAUSE)
    orders = wanting(Intent(budget={"evaluations": 20}, by="key_a"))
    assert play(job(log, evaluations=12), Notes(), orders).counters.evaluations == 20


def test_an_extended_run_that_is_resumed_knows_its_budget(log: SqlRunLog) -> None:
    play_until(job(log, evaluations=12), Intent(budget={"evaluations": 25}))
    first, _ = play_until(job(log, evaluations=12), None)
    assert first.state == "succeeded"
    assert first.counters.evaluations == 25


def test_a_budget_below_what_is_used_ends_the_run(log: SqlRunLog) -> None:
    status, _ = play_until(job(log), Intent(budget={"evaluations": 3}))
    assert (status.state, status.reason) == ("succeeded", "evaluations")
    assert 8 <= status.counters.evaluations < 30


@pytest.mark.parametrize("budget", [{"evaluations": "many"}, {"evaluations": 0}, {"lives": 3}, {"target": True}])
def test_a_budget_that_cannot_be_changes_nothing(log: SqlRunLog, budget: dict[str, Any]) -> None:
    status, events = play_until(job(log, evaluations=12), Intent(budget=budget))
    assert status.counters.evaluations == 12
    assert EventKind.BUDGET_EXTENDED not in kinds(events)


@dataclass
class BlockedEvaluator(ToyEvaluator):
    """Scores the seed, and waits for the rest for want of workers until the run says so."""

    blocked: bool = True
    freed: asyncio.Event = field(default_factory=asyncio.Event)

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        if self.scored and self.blocked:
            self.waiting = "no worker takes evaluations"
            await self.freed.wait()
        return await super().evaluate(program, evaluation_id, scoring)

    def hear(self, events: Sequence[LoggedEvent]) -> None:
        if any(logged.event.kind is EventKind.RUN_WAITING for logged in events):
            self.blocked, self.waiting = False, ""
            self.freed.set()


def test_a_run_whose_evaluations_cannot_go_on_says_why(log: SqlRunLog) -> None:
    work = job(log)
    evaluator = BlockedEvaluator(work.problem)
    notes = Notes(react=evaluator.hear)
    status = play(replace(work, evaluator=evaluator), notes)
    [waiting] = [logged.event.payload for logged in notes.events if logged.event.kind is EventKind.RUN_WAITING]
    assert (waiting["reason"], waiting["retry_at"]) == ("no worker takes evaluations", None)
    assert notes.kinds().count(EventKind.RUN_UNBLOCKED) == 1
    assert (status.counters.evaluations, status.waiting) == (30, "")


ENDLESS = """\
import subprocess
def solve(x=0):
    subprocess.run(["sleep", "{mark}"])
"""


async def test_cancelling_a_run_ends_its_evaluation_within_a_second(log: SqlRunLog, tmp_path: Path) -> None:
    async with sandbox(
        tmp_path, evaluator="def score(outputs, program):\n    return {'combined_score': 1.0}\n"
    ) as opened:
        mark = f"600.{uuid4().int % 10**9}"
        seed = Program.of({"program.py": ENDLESS.format(mark=mark)})
        work = job(log)
        problem = replace(work.problem, seeds=(seed,))
        work = replace(work, problem=problem, evaluator=opened)
        orders = RunOrders()
        driven = asyncio.create_task(drive(work, observer=Notes(), orders=orders))
        while not processes_naming(mark):  # noqa: ASYNC110 -- a process does not tell
            await asyncio.sleep(0.02)
        began = monotonic()
        orders.want(CANCEL)
        status = await driven
        assert monotonic() - began < 10.0  # the program runs without an end
        assert status.state == "cancelled"
        assert not processes_naming(mark)


def test_a_run_is_extended_by_time_and_target(log: SqlRunLog) -> None:
    work = job(log)
    work = replace(work, config=replace(work.config, budget=BudgetConfig(evaluations=None, answers=400)))
    status, _ = play_until(work, Intent(budget={"target": -8.0, "wall_seconds": 1e6}))
    assert (status.state, status.reason) == ("succeeded", "target")
