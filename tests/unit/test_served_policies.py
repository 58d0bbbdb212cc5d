"""What policies learn of their servers reaches the log of the run, and a server that writes is not called away."""

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from evolve.configuration import BudgetConfig, ConcurrencyConfig, RunConfig
from evolve.events import EventKind
from evolve.ports import AdaptedPolicy
from evolve.proposal import Proposal, Reply
from evolve.search.driver import Driver
from evolve.search.ensemble import EnsembleMember
from evolve.search.policy_queue import PolicyQueue
from service.policy.advised import AdvisedPolicy
from service.policy.critic import Critic
from tests.fakes.world import toy_problem
from tests.integration.runner.scene import ToyEvaluator, ToyPolicy
from tests.patience import PATIENCE_SECONDS

SEED = AdaptedPolicy(policy="toy", parameter="seed", action="dropped", reason="Unknown parameter: 'seed'.")


@dataclass
class Served(ToyPolicy):
    """Learns one thing with its first call."""

    heard: int = 0
    learnt: list[AdaptedPolicy] = field(default_factory=list)
    calls: int = 0

    def notices(self) -> tuple[AdaptedPolicy, ...]:
        told, self.learnt = tuple(self.learnt), []
        return told

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        self.calls += 1
        if self.calls == 1:
            self.learnt.append(SEED)
        async for reply in super().propose(proposal):
            yield reply


async def test_what_a_policy_learnt_is_told_once_in_the_log_of_a_run() -> None:
    problem = toy_problem()
    config = RunConfig(budget=BudgetConfig(evaluations=20))
    async with asyncio.timeout(PATIENCE_SECONDS):
        driver = Driver(
            "run_toy",
            problem,
            config,
            [EnsembleMember(policy=Served())],
            ToyEvaluator(problem),
            monotonic=time.monotonic,
        )
        result = await driver.run()
    told = [dict(event.payload) for event in result.events if event.kind is EventKind.POLICY_ADAPTED]
    assert told == [{"policy": "toy", "parameter": "seed", "action": "dropped", "reason": "Unknown parameter: 'seed'."}]


def test_what_author_and_critic_learn_is_handed_on() -> None:
    author, critic = Served(learnt=[SEED], heard=3), Served(name="judge", learnt=[SEED])
    policy = AdvisedPolicy(author, Critic(critic))
    assert (policy.heard, policy.notices(), policy.notices()) == (3, (SEED, SEED), ())
    plain = AdvisedPolicy(ToyPolicy(), Critic(ToyPolicy()))
    assert (plain.heard, plain.notices()) == (0, ())


async def test_a_policy_whose_server_writes_is_no_longer_called_away() -> None:
    policy = Served()
    lane = PolicyQueue(policy, lambda: ConcurrencyConfig(policy=1))
    await lane.rest("the connection broke", 0.0)
    assert lane.denied == "the connection broke"
    policy.heard += 1
    assert lane.denied == ""
    await lane.rest("the connection broke", 0.0)
    assert lane.denied == "the connection broke"
    lane.admit()
    assert lane.denied == ""
