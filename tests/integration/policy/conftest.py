from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from evolve.evaluation import Evaluation, Outcome
from evolve.program import Program
from evolve.proposal import Individual, Message, Prompt, Proposal
from service.net.retry import Backoff
from service.policy.breaker import Breaker
from service.policy.connection import ServerConnection
from service.policy.openai import OpenAIPolicy
from service.policy.request_options import PromptBuilder
from service.policy.tokens import Count
from service.policy_settings.settings import PolicySettings
from tests.fakes.openai_server import OpenAIServer, chain, openai_server

KEY = "sk-secret-key-of-the-test-9876"


def respond(body: Mapping[str, Any]) -> list[str]:
    """n chains of four answers, each different."""
    return [chain(*(f"x = {choice}{place}" for place in range(4))) for choice in range(body["n"])]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server(respond) as running:
        yield running


def proposal(*, answers: int = 4, samples: int = 2, limit: int | None = None, seed: int = 7) -> Proposal:
    parent = Individual(
        candidate_id="cnd_parent",
        program=Program.of({"p.py": "x = 1\n"}),
        evaluation=Evaluation(outcome=Outcome.OK, scores={"combined_score": 1.0}),
        measures={},
    )
    return Proposal(
        id="prp_1", number=1, island=0, operator="mutate", parent=parent, seed=seed,
        answers=answers, samples=samples, limit=answers * samples if limit is None else limit,
    )  # fmt: skip


def build_prompt(proposal: Proposal, *, count: Count, context_tokens: int) -> Prompt:
    text = f"Improve in {proposal.answers} ways:\n{proposal.parent.program.text}"
    return Prompt(messages=(Message(role="user", parts=(text,)),), tokens=count(text), shown=("cnd_parent",))


class Time:
    """A clock that only moves when somebody sleeps on it."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds


@pytest.fixture
def clock() -> Time:
    return Time()


def connected(clock: Time, key: str | None, failures: int, **settings: object) -> ServerConnection[Any]:
    """The way to a server by a clock of the test's own."""
    return ServerConnection(
        PolicySettings.model_validate(settings),
        key=SecretStr(key) if key else None,
        rng=np.random.default_rng(1),
        backoff=Backoff(attempts=3),
        breaker=Breaker(clock.monotonic, failures=failures),
        monotonic=clock.monotonic,
        sleep=clock.sleep,
    )


Make = Callable[..., OpenAIPolicy]


@pytest.fixture
async def make(server: OpenAIServer, clock: Time) -> AsyncIterator[Make]:
    """Makes policies against the server; the keyword arguments are settings."""
    made: list[OpenAIPolicy] = []

    def policy(
        key: str | None = None, failures: int = 100, build: PromptBuilder = build_prompt, **settings: object
    ) -> OpenAIPolicy:
        connection = connected(clock, key, failures, **{"base_url": server.url, **settings})
        made.append(OpenAIPolicy(connection, build_prompt=build))
        return made[-1]

    yield policy
    for each in made:
        await each.close()
