"""Factories of policies and evaluators that need no server and no sandbox, for use cases."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from evolve.evaluation import PLAIN, Evaluation, Outcome, ScoringRequest
from evolve.problem import Problem
from evolve.program import Program
from evolve.proposal import Answer, CompletedReply, Proposal, Reply
from evolve.search.ensemble import EnsembleMember
from service.errors import RefusedError
from service.ports import EvaluatorRequest, ModelDescription, OpenedEvaluator, RunPolicies
from service.usecases.plan import RunPlan


@dataclass
class CountingEvaluator:
    """Scores a program by the number that it returns, as `gain`; `react` hears how many were scored so far."""

    slots: int = 2
    waiting: str = ""
    scored: list[str] = field(default_factory=list)
    react: Callable[[int], None] = lambda _: None

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        del scoring
        self.scored.append(evaluation_id)
        self.react(len(self.scored))
        found = re.search(r"return (\d+)", program.text)
        if found is None:
            return Evaluation(outcome=Outcome.ERROR, reason="it returns no number")
        return Evaluation(outcome=Outcome.OK, scores={"gain": float(found[1])})


@dataclass
class FakeEvaluators:
    """The port EvaluatorFactory: keeps what was asked of it, and refuses problems by their names."""

    isolation: str = "strong"
    warnings: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    requests: list[EvaluatorRequest] = field(default_factory=list)
    evaluator: CountingEvaluator = field(default_factory=CountingEvaluator)

    @asynccontextmanager
    async def open(self, request: EvaluatorRequest) -> AsyncIterator[OpenedEvaluator]:
        self.requests.append(request)
        yield OpenedEvaluator(evaluator=self.evaluator, isolation=self.isolation, warnings=self.warnings)

    def refuse_unpermitted(self, problem: Problem) -> None:
        if problem.name in self.refused:
            raise RefusedError(f"{problem.name} is not permitted here")


@dataclass
class AscendingPolicy:
    """Answers with programs that return one number more each time."""

    name: str = "ascending"
    answers: int = 2
    samples: int = 1
    concurrency: int = 1
    spoiled: bool = False
    given: int = 1

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        for index in range(min(self.answers, proposal.limit)):
            self.given += 1
            value = "nothing" if self.spoiled else self.given
            yield Answer(chain=0, index=index, text=f"def solve():\n    return {value}\n")
        yield CompletedReply(completions=("an answer",))


@dataclass
class FakePolicies:
    """The port PolicyFactory: one ascending policy for each run, spoiled above a temperature."""

    max_temperature: float = 2.0
    critic: str = ""
    plans: list[RunPlan] = field(default_factory=list)
    models: dict[str, ModelDescription] = field(default_factory=dict)

    @asynccontextmanager
    async def open(self, plan: RunPlan) -> AsyncIterator[RunPolicies]:
        self.plans.append(plan)
        (settings,) = plan.policies
        policy = AscendingPolicy(name=settings.name, spoiled=settings.temperature > self.max_temperature)
        yield RunPolicies(members=(EnsembleMember(policy=policy),), critic=self.critic, models=self.models)
