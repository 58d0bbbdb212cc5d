"""The runs of `benchmarks.worker_fleet`: driven by the real loop into PostgreSQL, evaluated over the real queue."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.fleet_clients import FINISH, MEASURE, POOL, FleetPlan, Phase
from benchmarks.harness import InstantPolicy, new_job, toy_problem
from evolve.configuration import ArchiveConfig, BudgetConfig, ConcurrencyConfig, RunConfig
from evolve.evaluation import PLAIN, Evaluation, ScoringRequest
from evolve.event_types import CandidateCreated, CandidateEvaluated
from evolve.identity import evaluation_id
from evolve.program import Program
from evolve.proposal import Proposal, Reply
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.errors import UnreachableError
from service.ports import Bundle, LoggedEvent
from service.queue.connection import connect
from service.queue.evaluator import QueuedEvaluator, open_queued_evaluator
from service.queue.redis import RECHECK_SECONDS, RedisEvaluationQueue
from service.runner.desired_state import RunOrders
from service.runner.run_loop import drive
from service.runner.status import RunStatus
from service.timestamps import SystemClock

# One run in four may use a quarter of an equal part at most, so that the others share what it leaves.
MODEST_RUNS = 4
OPENED_AT_ONCE = 4
STALLED_SECONDS = 120.0


@dataclass
class FleetPolicy(InstantPolicy):
    """Answers at once with small programs, until the fleet finishes."""

    answers: int = 1
    salt: int = 0
    phase: Phase = field(default_factory=Phase)

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        if self.phase.finishing.is_set():
            await asyncio.Event().wait()
        async for reply in super().propose(proposal):
            yield reply

    def __post_init__(self) -> None:
        self.write = lambda number: f"def value(x, y):\n    return {self.salt} * x + {number} * y\n"


class CountedEvaluator:
    """Counts the evaluations of a run that go on, by the time that they take."""

    def __init__(self, inner: QueuedEvaluator, phase: Phase) -> None:
        self._inner, self._phase = inner, phase
        self.going_on = 0
        self.sampled = 0

    @property
    def slots(self) -> int:
        return self._inner.slots

    @property
    def waiting(self) -> str:
        return self._inner.waiting

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        self.going_on += 1
        try:
            return await self._inner.evaluate(program, evaluation_id, scoring)
        finally:
            self.going_on -= 1

    async def sample(self) -> None:
        """Add up, twice a second while the fleet is measured, how many go on."""
        while True:
            if self._phase.name == MEASURE:
                self.sampled += self.going_on
            await asyncio.sleep(0.5)


@dataclass
class FleetRun:
    """One run, and what it committed."""

    number: int
    cap: int
    tenant: str
    id: str = ""
    orders: RunOrders = field(default_factory=RunOrders)
    created: int = 0
    evaluated: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    sampled: int = 0

    def committed(self, events: Sequence[LoggedEvent], status: RunStatus) -> None:
        del status
        for logged in events:
            data = logged.event.data
            if isinstance(data, CandidateCreated):
                self.created += 1
            elif isinstance(data, CandidateEvaluated):
                self.evaluated[data.candidate_id] += 1
                self.outcomes[str(data.outcome)] += 1


async def drive_runs(database: str, queue: str, plan: FleetPlan) -> dict[str, Any]:
    """Drive the runs until the fleet has finished; what stands in their logs."""
    phase = Phase()
    following = asyncio.create_task(phase.follow(queue))
    opened = open_database(database)
    log = SqlRunLog(opened, SystemClock())
    share = plan.clients / plan.runs
    runs = [
        FleetRun(
            number=number,
            cap=max(1, round(share / 4)) if share >= MODEST_RUNS and number % MODEST_RUNS == 0 else 0,
            tenant=f"tenant-{number % 10}",
        )
        for number in range(plan.runs)
    ]
    ending, turn = asyncio.create_task(_leave(runs, phase)), asyncio.Semaphore(OPENED_AT_ONCE)
    await asyncio.gather(*(_drive(one, log, queue, plan, phase, turn) for one in runs), ending)
    opened.close()
    following.cancel()
    return {
        "runs": [
            {
                "id": one.id,
                "tenant": one.tenant,
                "cap": one.cap,
                "created": one.created,
                "evaluated": len(one.evaluated),
                "doubles": sum(count > 1 for count in one.evaluated.values()),
                "outcomes": one.outcomes,
                "in_flight": one.sampled,
            }
            for one in runs
        ],
        "evaluation_ids": [evaluation_id(candidate, 1) for one in runs for candidate in one.evaluated],
    }


async def _drive(
    one: FleetRun, log: SqlRunLog, queue: str, plan: FleetPlan, phase: Phase, turn: asyncio.Semaphore
) -> None:
    config = RunConfig(
        archive=ArchiveConfig(kind="top", size=50),
        budget=BudgetConfig(evaluations=10_000_000),
        concurrency=ConcurrencyConfig(evaluations=one.cap),
        seed=one.number,
    )
    policy = FleetPolicy(salt=one.number, phase=phase, concurrency=2)
    bundle = Bundle(hash=f"{one.number:064x}", content=b"nothing")
    await asyncio.sleep((plan.apart or 0.0) * one.number)
    async with AsyncExitStack() as stack:
        async with turn:  # a runner takes its runs up one by one, too
            client = await stack.enter_async_context(connect(queue))
            submitter = RedisEvaluationQueue(client, plan.terms, RECHECK_SECONDS * plan.scale)
            await stack.enter_async_context(aclosing(submitter))
            inner = await _opened(stack, submitter, bundle)
            evaluator = CountedEvaluator(inner, phase)
            job = await asyncio.to_thread(new_job, log, toy_problem(), config, policy, evaluator)
            one.id = job.run_id
        sampling = asyncio.create_task(evaluator.sample())
        await drive(replace(job, owner=f"fleet-{one.number}"), observer=one, orders=one.orders)
        sampling.cancel()
        await asyncio.wait([sampling])
        one.sampled = evaluator.sampled


async def _opened(stack: AsyncExitStack, submitter: RedisEvaluationQueue, bundle: Bundle) -> QueuedEvaluator:
    """An evaluator; a queue that does not answer in time is tried again, as a runner does it."""
    while True:
        with suppress(UnreachableError):
            return await stack.enter_async_context(open_queued_evaluator(submitter, bundle, POOL))
        await asyncio.sleep(1.0)


async def _leave(runs: Sequence[FleetRun], phase: Phase) -> None:
    """Leave the runs when all that they made is evaluated, or when nothing more comes; what is missing then is lost."""
    await phase.finishing.wait()
    clock = asyncio.get_running_loop()
    before, until = (-1, -1), clock.time() + STALLED_SECONDS
    while clock.time() < until:
        now = sum(len(one.evaluated) for one in runs), sum(one.created for one in runs)
        if now == before and now[0] == now[1] and phase.name == FINISH:
            break
        if now != before:
            before, until = now, clock.time() + STALLED_SECONDS
        await asyncio.sleep(3.0)
    for one in runs:
        one.orders.leave()
