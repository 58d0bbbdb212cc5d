"""The driver: a run in memory that ends by its budget, waits, stops, and tells what became of each candidate."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import pytest

from evolve.configuration import BudgetConfig, ConcurrencyConfig, RunConfig
from evolve.errors import PolicyUnavailable
from evolve.evaluation import PLAIN, Evaluation, Outcome, ScoringRequest
from evolve.events import Event, EventKind
from evolve.identity import candidate_id
from evolve.problem import Problem
from evolve.program import Program
from evolve.proposal import Proposal, Reply
from evolve.search.driver import Driver
from evolve.search.ensemble import EnsembleMember
from evolve.search.result import INTERRUPTED, Result
from tests.fakes.world import score, toy_problem
from tests.integration.runner.scene import SilentPolicy, ToyEvaluator, ToyPolicy
from tests.integration.runner.test_holdout_audit import Examiner
from tests.patience import PATIENCE_SECONDS


def driver(problem: Problem | None = None, evaluations: int | None = 40, **given: Any) -> Driver:
    problem = problem or toy_problem()
    budget = given.pop("budget", BudgetConfig(evaluations=evaluations))
    fields = {
        "policies": [EnsembleMember(policy=ToyPolicy())],
        "evaluator": ToyEvaluator(problem),
        "config": RunConfig(budget=budget, islands=2, concurrency=ConcurrencyConfig(policy=2)),
        "monotonic": time.monotonic,
    }
    return Driver("run_toy", problem, **{**fields, **given})


async def ended(running: Driver) -> Result:
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await running.run()


def dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    pairs = list(zip(one, other, strict=True))
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


async def test_a_run_ends_with_its_budget_and_counts_what_it_used() -> None:
    result = await ended(driver())
    evaluated = [record for record in result.candidates if record["status"] == "evaluated"]
    assert (result.reason, result.account.evaluations, len(result.history), len(evaluated)) == (
        "evaluations",
        40,
        40,
        40,
    )
    assert result.events[0].kind is EventKind.RUN_STARTED
    assert result.events[-1].kind is EventKind.RUN_FINISHED


async def test_history_is_the_running_best_of_the_evaluations_in_order() -> None:
    result = await ended(driver())
    told = [event.payload["fitness"] for event in result.events if event.kind is EventKind.CANDIDATE_EVALUATED]
    assert result.history[0] is not None
    assert list(result.history) == list(accumulate(told, lambda best, now: best if now is None else max(best, now)))
    assert result.fitness == result.history[-1]


async def test_a_record_tells_lineage_outcome_and_source_of_every_answer() -> None:
    result = await ended(driver())
    records = {record["candidate_id"]: record for record in result.candidates}
    assert len({tuple(record) for record in result.candidates}) == 1
    for name, record in records.items():
        assert name == candidate_id("run_toy", record["proposal_number"], record["position"])
        assert (record["parent_id"] is None) == (record["proposal_number"] == 0)
        assert all(edge["candidate_id"] in records for edge in record["parents"])
        if record["status"] == "evaluated":
            expected = score(result.problem, Program.of({"x.py": record["source"]}))
            assert (record["outcome"], record["reason"], record["scores"]) == (
                expected.outcome, expected.reason, expected.scores,
            )  # fmt: skip
        if record["status"] == "duplicate":
            assert records[record["duplicate_of"]]["source"].split() == record["source"].split()
    statuses = {record["status"] for record in result.candidates}
    assert statuses == {"evaluated", "rejected", "duplicate"}
    assert all(record["reason"] for record in result.candidates if record["status"] == "rejected")


async def test_the_front_is_what_no_other_candidate_dominates() -> None:
    problem = toy_problem(several=True, seeds=(0.0, 6.0))
    result = await ended(driver(problem, evaluations=60))
    scaled = {
        record["candidate_id"]: [o.scale(record["scores"][o.name]) for o in problem.objectives]
        for record in result.candidates
        if record["outcome"] == "ok"
    }
    expected = {name for name, own in scaled.items() if not any(dominates(other, own) for other in scaled.values())}
    assert {individual.candidate_id for individual in result.front} == expected
    assert len(expected) > 1
    values = [individual.fitness for individual in result.front if individual.fitness is not None]
    assert values == sorted(values, reverse=True)


async def test_events_are_heard_in_order_as_they_are_decided() -> None:
    heard: list[Event] = []
    result = await ended(driver(observe=heard.extend))
    assert tuple(heard) == result.events


async def test_a_run_that_is_stopped_returns_what_it_has_and_lets_go_of_the_rest() -> None:
    heard: list[Event] = []

    def observe(events: Sequence[Event]) -> None:
        heard.extend(events)
        if sum(event.kind is EventKind.CANDIDATE_EVALUATED for event in heard) >= 5:
            running.stop()

    running = driver(evaluations=None, observe=observe)
    result = await ended(running)
    assert result.reason == INTERRUPTED
    assert 5 <= result.account.evaluations < 40
    assert result.best is not None
    assert result.events[-1].kind is EventKind.RUN_CANCELLED
    assert not [record for record in result.candidates if record["status"] == "pending"]


async def test_a_stop_does_not_wait_for_a_policy_that_never_answers() -> None:
    def observe(events: Sequence[Event]) -> None:
        if any(event.kind is EventKind.PROPOSAL_CREATED for event in events):
            asyncio.get_running_loop().call_later(0.01, running.stop)

    running = driver(policies=[EnsembleMember(policy=SilentPolicy())], observe=observe)
    result = await ended(running)
    assert (result.reason, result.account.evaluations) == (INTERRUPTED, 1)


async def test_time_ends_a_run_by_the_clock_that_was_passed() -> None:
    now = [0.0]

    def observe(events: Sequence[Event]) -> None:
        now[0] += sum(event.kind is EventKind.CANDIDATE_EVALUATED for event in events)

    budget = BudgetConfig(evaluations=None, wall_seconds=10.0)
    result = await ended(driver(budget=budget, monotonic=lambda: now[0], observe=observe))
    assert (result.reason, result.seconds) == ("wall_seconds", 10.0)


async def test_a_policy_that_is_away_is_waited_for_and_the_run_says_so() -> None:
    policy = ToyPolicy(concurrency=1, troubles=[PolicyUnavailable("away for lunch", retry_after_seconds=0.01)])
    result = await ended(driver(policies=[EnsembleMember(policy=policy)]))
    waits = [
        (event.kind, event.payload["reason"])
        for event in result.events
        if event.kind in (EventKind.RUN_WAITING, EventKind.RUN_UNBLOCKED)
    ]
    assert waits == [(EventKind.RUN_WAITING, "away for lunch"), (EventKind.RUN_UNBLOCKED, "")]
    assert result.reason == "evaluations"


@dataclass
class Faulty(ToyPolicy):
    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        async for reply in super().propose(proposal):
            yield reply
        raise ZeroDivisionError("a slip of the policy")


async def test_a_fault_of_a_policy_is_raised() -> None:
    with pytest.raises(ZeroDivisionError, match="a slip"):
        await ended(driver(policies=[EnsembleMember(policy=Faulty())]))


@dataclass
class Failing(ToyEvaluator):
    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        return Evaluation(outcome=Outcome.ERROR, reason="no luck")


async def test_a_run_whose_seeds_fail_has_no_best() -> None:
    result = await ended(driver(evaluator=Failing(toy_problem())))
    assert (result.reason, result.best, result.source, result.fitness, result.front) == ("error", None, "", None, ())
    assert result.history == (None,)


async def test_a_result_is_shown_in_one_line_however_long_the_run_was() -> None:
    text = repr(await ended(driver()))
    assert "\n" not in text
    assert "40 evaluated" in text
    assert len(text) < 300


async def test_a_result_tells_what_its_front_is_worth_on_what_was_held_out_and_whether_its_best_holds() -> None:
    toy = toy_problem()
    problem = replace(toy, evaluator=replace(toy.evaluator, holdout=True, audit=2))
    examiner = Examiner(problem)
    result = await ended(driver(problem, evaluator=examiner))
    assert (result.reason, result.account.evaluations) == ("evaluations", 40)
    assert result.assessment is not None
    assert result.assessment.holdout[0].candidate_id == (result.best and result.best.candidate_id)
    assert {round(one.difference or 0.0, 9) for one in result.assessment.holdout} == {-1.0}
    assert result.assessment.audit is not None
    assert (result.assessment.audit.made, result.assessment.audit.holds) == (2, True)
    assert len(result.history) == 40, "no curve shows them"
    assert (await ended(driver())).assessment is None
