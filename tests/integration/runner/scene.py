"""What the suites of the runner share: a toy policy and evaluator, an observer, and a run over a real database."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from evolve.configuration import BudgetConfig, ConcurrencyConfig, RunConfig
from evolve.evaluation import PLAIN, Evaluation, ScoringRequest
from evolve.events import EventKind
from evolve.ports import Policy
from evolve.problem import Problem
from evolve.program import Program
from evolve.proposal import CompletedReply, Proposal, Reply
from evolve.search.ensemble import EnsembleMember
from service.db.log import SqlRunLog
from service.ports import LoggedEvent
from service.runner.desired_state import RunOrders
from service.runner.run_job import RunJob
from service.runner.run_loop import drive
from service.runner.status import RunStatus
from service.timestamps import SystemClock
from tests.contract.story import RUN
from tests.fakes.world import answers, score, toy_problem
from tests.patience import PATIENCE_SECONDS


@dataclass
class ToyPolicy:
    """Answers from the toy world; raises the errors of `troubles` first, one a call."""

    troubles: Sequence[Exception] = ()
    asked: list[int] = field(default_factory=list)
    answers: int = 3
    samples: int = 1
    concurrency: int = 2
    name: str = "toy"

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        self.asked.append(proposal.number)
        if self.troubles:
            trouble, *self.troubles = self.troubles
            raise trouble
        for answer in answers(proposal):
            yield answer
        yield CompletedReply(completions=("toy",))


@dataclass
class SilentPolicy(ToyPolicy):
    """Never answers."""

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        await asyncio.Event().wait()
        yield CompletedReply(completions=())


@dataclass
class ToyEvaluator:
    problem: Problem
    slots: int = 2
    waiting: str = ""
    scored: list[str] = field(default_factory=list)
    before: Callable[[], None] = lambda: None

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        self.before()
        await asyncio.sleep(0)
        self.scored.append(evaluation_id)
        return score(self.problem, program)


@dataclass
class Notes:
    """What an observer heard, and what it does when it hears."""

    events: list[LoggedEvent] = field(default_factory=list)
    react: Callable[[Sequence[LoggedEvent]], None] = lambda _: None

    def committed(self, events: Sequence[LoggedEvent], status: RunStatus) -> None:
        self.events += events
        self.react(events)

    def kinds(self) -> list[EventKind]:
        return [logged.event.kind for logged in self.events]


def job(log: SqlRunLog, policy: Policy | None = None, evaluations: int = 30, **config: Any) -> RunJob:
    """A run of the toy world, at a fixed pace unless the configuration says otherwise."""
    problem = toy_problem()
    config = {"concurrency": ConcurrencyConfig(policy=16), **config}
    return RunJob(
        run_id=RUN,
        problem=problem,
        config=RunConfig(budget=BudgetConfig(evaluations=evaluations), **config),
        policies=[EnsembleMember(policy=policy or ToyPolicy())],
        evaluator=ToyEvaluator(problem),
        log=log,
        clock=SystemClock(),
        owner="test",
    )


def play(work: RunJob, notes: Notes, orders: RunOrders | None = None) -> RunStatus:
    async def scene() -> RunStatus:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await drive(work, observer=notes, orders=orders or RunOrders())

    return asyncio.run(scene())


def play_until(work: RunJob, minimum_events: int) -> RunStatus:
    """Drive a run, and leave it after so many events."""
    orders, heard = RunOrders(), 0

    def react(events: Sequence[LoggedEvent]) -> None:
        nonlocal heard
        heard += len(events)
        if heard >= minimum_events:
            orders.leave()

    return play(work, Notes(react=react), orders)
