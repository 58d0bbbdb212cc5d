"""Examinations: what a run found is evaluated once more when it ends, on what was held out and under other seeds.

Neither policies nor archives ever learn of it, and no budget counts it. The plan and every result are events, so that a
run that is interrupted goes on with what is left.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evolve.evaluation import Evaluation, ScoringRequest, fitness
from evolve.event_types import AuditScored, HoldoutScored, RunClosing, RunContinued
from evolve.events import Event, EventKind
from evolve.identity import evaluation_id
from evolve.multiobjective.pareto import front
from evolve.ports import Evaluator
from evolve.problem import Problem
from evolve.program import Program
from evolve.proposal import Individual

MAX_HELD_OUT = 16
MAX_REASON = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldoutAudit:
    """One further evaluation of a program.

    Attributes:
        kind: of the event that tells its result.
        number: of an audit, from 1; 0: it is none.
    """

    kind: EventKind
    candidate_id: str
    number: int = 0

    @property
    def scoring(self) -> ScoringRequest:
        """What is wanted of it: what is held out, or other seeds."""
        return ScoringRequest(holdout=self.kind is EventKind.HOLDOUT_SCORED, draw=self.number)

    @property
    def evaluation_id(self) -> str:
        """Its id, that of no attempt at scoring the candidate; a repeated delivery carries the same."""
        return evaluation_id(f"{self.candidate_id}/{self.kind}", self.number)


class AuditPlan:
    """What is to be examined at the end of a run, and what of it is done; a fold of its events.

    Attributes:
        reason: why the run ends; empty: it has not come to that.
    """

    def __init__(self) -> None:
        self.reason = ""
        self._wanted: list[HoldoutAudit] = []
        self._done: set[HoldoutAudit] = set()

    def apply(self, event: Event) -> None:
        """Fold one event."""
        match event.data:
            case RunClosing() as plan:
                self.reason, self._wanted = plan.reason, wanted(plan)
            case RunContinued():
                self.reason, self._wanted, self._done = "", [], set()
            case HoldoutScored(candidate_id=candidate_id):
                self._done.add(HoldoutAudit(kind=event.kind, candidate_id=candidate_id))
            case AuditScored(candidate_id=candidate_id, number=number):
                self._done.add(HoldoutAudit(kind=event.kind, candidate_id=candidate_id, number=number))

    @property
    def due(self) -> list[HoldoutAudit]:
        """What is left to do, in order."""
        return [one for one in self._wanted if one not in self._done]


def wanted(plan: RunClosing) -> list[HoldoutAudit]:
    """Everything that the event `run.closing` plans, in order."""
    found = [HoldoutAudit(kind=EventKind.HOLDOUT_SCORED, candidate_id=one) for one in plan.holdout]
    if plan.audit is None:
        return found
    numbers = range(1, plan.evaluations + 1)
    return found + [HoldoutAudit(kind=EventKind.AUDIT_SCORED, candidate_id=plan.audit, number=n) for n in numbers]


def closing_event(
    problem: Problem, reason: str, best: Individual | None, members: Iterable[Individual], seeds: Sequence[Individual]
) -> RunClosing | None:
    """The event that begins the examinations of a run that ends; None where none are wanted.

    Held out are the best, the rest of the front of all archives, the fittest first and 16 at most, and the best seed,
    which the others are to be compared with. The best alone is audited.

    Args:
        reason: why the run ends.
        best: the fittest of the run.
        members: of the archives of all islands, now.
        seeds: those that could be scored.
    """
    spec = problem.evaluator
    if best is None or not (spec.holdout or spec.audit):
        return None
    return RunClosing(
        reason=reason,
        holdout=_held_out(best, members, seeds) if spec.holdout else (),
        audit=best.candidate_id if spec.audit else None,
        evaluations=spec.audit,
        tolerance=spec.audit_tolerance,
    )


def _held_out(best: Individual, members: Iterable[Individual], seeds: Sequence[Individual]) -> tuple[str, ...]:
    known = {member.candidate_id: member for member in (best, *members)}
    kept = front(np.array([member.signed_scores for member in known.values()]))
    ranked = [member for member, stays in zip(known.values(), kept, strict=True) if stays]
    ranked.sort(key=lambda member: (member is not best, -_value(member), member.candidate_id))
    seed = max(seeds, key=_value, default=best)
    return tuple(dict.fromkeys([*(member.candidate_id for member in ranked[:MAX_HELD_OUT]), seed.candidate_id]))


def _value(individual: Individual) -> float:
    return -np.inf if individual.fitness is None else individual.fitness


async def examine(
    problem: Problem,
    due: Sequence[HoldoutAudit],
    programs: Mapping[str, Program],
    evaluator: Evaluator,
    maximum: int = 0,
) -> AsyncGenerator[Event, None]:
    """Do what is due, and tell each result in its turn; closing the generator ends what is under way.

    Args:
        problem: whose objectives are scored.
        due: in order.
        programs: by candidate.
        evaluator: scores them.
        maximum: how many at once; 0: as many as the evaluator has slots.
    """
    slots = evaluator.slots or 1
    gate = asyncio.Semaphore(min(maximum or slots, slots))

    async def work(one: HoldoutAudit) -> Evaluation:
        async with gate:
            return await evaluator.evaluate(programs[one.candidate_id], one.evaluation_id, one.scoring)

    tasks = [asyncio.create_task(work(one)) for one in due]
    try:
        for one, task in zip(due, tasks, strict=True):
            yield Event(_describe(problem, one, await task))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _describe(problem: Problem, one: HoldoutAudit, evaluation: Evaluation) -> HoldoutScored | AuditScored:
    scored = HoldoutScored(
        candidate_id=one.candidate_id,
        outcome=str(evaluation.outcome),
        reason=evaluation.reason[:MAX_REASON],
        fitness=fitness(problem, evaluation),
        scores=dict(evaluation.scores),
        repeats=evaluation.repeats,
        seconds=evaluation.seconds,
    )
    if one.kind is EventKind.HOLDOUT_SCORED:
        return scored
    return AuditScored(
        candidate_id=scored.candidate_id,
        number=one.number,
        outcome=scored.outcome,
        reason=scored.reason,
        fitness=scored.fitness,
        scores=scored.scores,
        repeats=scored.repeats,
        seconds=scored.seconds,
    )
