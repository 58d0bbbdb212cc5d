"""The end of a run: its front is scored on what was held out and its best anew, outside of everything else."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from evolve.evaluation import PLAIN, Evaluation, Outcome, ScoringRequest, read_result
from evolve.events import Event, EventKind
from evolve.problem import Problem
from evolve.program import Program
from evolve.search.assessment import Assessment
from evolve.search.holdout_audit import MAX_HELD_OUT
from service.db.engine import Database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.ports import LoggedEvent
from service.projections.closing import assessment_of
from service.runner.desired_state import RunOrders
from service.runner.run_job import RunJob
from service.timestamps import SystemClock
from tests.contract.story import RUN, new_run
from tests.fakes.world import toy_problem, value_of
from tests.integration.runner.scene import Notes, ToyEvaluator, job, play

OBJECTIVE = {"name": "closeness", "direction": "maximize", "low": -100.0, "high": 0.0}
CLOSING = {EventKind.HOLDOUT_SCORED, EventKind.AUDIT_SCORED}


@pytest.fixture
def log(database: Database) -> SqlRunLog:
    log = SqlRunLog(database, SystemClock())
    log.create(new_run(objectives=[OBJECTIVE]))
    return log


@dataclass
class Examiner(ToyEvaluator):
    """What is held out is worth 1 less; other seeds move a score by a hundredth of the draw's number."""

    asked: list[tuple[str, ScoringRequest]] = field(default_factory=list)

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        if scoring == PLAIN:
            return await super().evaluate(program, evaluation_id)
        self.asked.append((evaluation_id, scoring))
        far = -((value_of(program) - 3) ** 2)
        return read_result({"closeness": far - scoring.holdout - scoring.draw / 100, "magnitude": 0.0}, self.problem)


@dataclass
class Broken(Examiner):
    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        if scoring.holdout:
            return Evaluation(outcome=Outcome.ERROR, reason="KeyError: 'unseen' (line 3 of evaluator.py)")
        return await super().evaluate(program, evaluation_id, scoring)


@dataclass
class Stuck(Examiner):
    """Comes to no end with its sixth examination."""

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        if len(self.asked) == 5:
            await asyncio.Event().wait()
        return await super().evaluate(program, evaluation_id, scoring)


def examined(**keys: Any) -> Problem:
    toy = toy_problem()
    return replace(toy, evaluator=replace(toy.evaluator, **{"holdout": True, "audit": 3, **keys}))


def closing_job(log: SqlRunLog, evaluator: type[Examiner] = Examiner, **keys: Any) -> tuple[RunJob, Examiner]:
    problem = examined(**keys)
    scorer = evaluator(problem)
    return replace(job(log), problem=problem, evaluator=scorer), scorer


def assessed(database: Database) -> Assessment:
    reader = SqlRunReader(database)
    found = assessment_of(reader, reader.run(RUN))
    assert found is not None
    return found


def told(log: SqlRunLog) -> list[Event]:
    return [entry.event for entry in log.events(RUN)]


def test_what_a_run_found_is_examined_before_it_ends_and_counted_nowhere(log: SqlRunLog, database: Database) -> None:
    work, scorer = closing_job(log)
    status = play(work, Notes())
    assert (status.state, status.reason, status.counters.evaluations) == ("succeeded", "evaluations", 30)
    events = told(log)
    begun = next(place for place, event in enumerate(events) if event.kind is EventKind.RUN_CLOSING)
    assert {event.kind for event in events[begun + 1 : -1]} == CLOSING
    assert events[-1].kind is EventKind.RUN_FINISHED
    assert not any(event.kind in CLOSING for event in events[:begun])
    best = status.best_candidate_id
    plan = events[begun].payload
    assert plan["holdout"][0] == plan["audit"] == best
    assert len(plan["holdout"]) <= MAX_HELD_OUT + 1
    assert len({evaluation for evaluation, _ in scorer.asked}) == len(plan["holdout"]) + 3
    assert {evaluation for evaluation, _ in scorer.asked}.isdisjoint(scorer.scored)
    found = assessed(database)
    assert [one.candidate_id for one in found.holdout] == plan["holdout"]
    assert all(one.difference == pytest.approx(-1.0) for one in found.holdout)
    assert found.holdout[-1].recorded_fitness == -9.0, "the best seed is what others are compared with"
    assert found.audit is not None
    assert status.best_fitness is not None
    (closeness,) = found.audit.ranges
    assert (closeness.low, closeness.high) == pytest.approx((status.best_fitness - 0.03, status.best_fitness - 0.01))
    # 1 % of the objective's declared range of 100.
    assert (found.audit.made, found.audit.holds) == (3, True)


def test_a_best_whose_scores_leave_the_tolerance_does_not_hold(log: SqlRunLog, database: Database) -> None:
    work, _ = closing_job(log, holdout=False, audit_tolerance=0.0002)
    play(work, Notes())
    found = assessed(database)
    assert found.holdout == ()
    assert found.audit is not None
    assert found.audit.holds is False
    assert "do not hold within 0.0002 in 3 evaluations" in found.audit.sentence


def test_a_holdout_that_fails_is_one_sentence_and_the_run_succeeds(log: SqlRunLog, database: Database) -> None:
    work, _ = closing_job(log, Broken)
    assert play(work, Notes()).state == "succeeded"
    found = assessed(database)
    assert {(one.outcome, one.reason, one.fitness) for one in found.holdout} == {
        ("error", "KeyError: 'unseen' (line 3 of evaluator.py)", None)
    }


def stopping(orders: RunOrders, desired: str) -> Notes:
    def react(events: Sequence[LoggedEvent]) -> None:
        if any(logged.event.kind in CLOSING for logged in events):
            orders.leave() if desired == "leave" else orders.pause("somebody")

    return Notes(react=react)


@pytest.mark.parametrize(("desired", "state"), [("leave", "running"), ("pause", "paused")])
def test_a_run_that_is_stopped_meanwhile_goes_on_with_what_is_left(
    log: SqlRunLog, database: Database, desired: str, state: str
) -> None:
    work, _ = closing_job(log, Stuck, audit=40)
    orders = RunOrders()
    assert play(work, stopping(orders, desired), orders).state == state
    before = [event for event in told(log) if event.kind in CLOSING]
    work, again = closing_job(log, audit=40)
    assert 0 < len(before) <= 5
    assert play(work, Notes()).state == "succeeded"
    events = told(log)
    assert [event.kind for event in events].count(EventKind.RUN_CLOSING) == 1
    after = [event for event in events if event.kind in CLOSING]
    assert after[: len(before)] == before
    assert len(again.asked) == len(after) - len(before)
    assert not again.scored, "the search is over"
    found = assessed(database)
    assert found.audit is not None
    assert found.audit.made == 40


def test_results_are_told_in_order_whatever_came_first(log: SqlRunLog) -> None:
    work, _ = closing_job(log, audit=8)
    play(work, Notes())
    numbers = [event.payload["number"] for event in told(log) if event.kind is EventKind.AUDIT_SCORED]
    assert numbers == list(range(1, 9))


def test_without_the_wish_nothing_is_examined(log: SqlRunLog, database: Database) -> None:
    work, scorer = closing_job(log, holdout=False, audit=0)
    play(work, Notes())
    assert scorer.asked == []
    reader = SqlRunReader(database)
    assert assessment_of(reader, reader.run(RUN)) is None
