"""Runs whose children are compared by embeddings, with author and embedder behind real servers."""

import asyncio
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import evolve
from evolve.configuration import BudgetConfig, NoveltyConfig, RunConfig
from evolve.errors import ConfigurationError, PolicyUnavailable
from evolve.events import EventKind
from evolve.money import read_money
from service.bootstrap.policies import ConfiguredPolicies
from service.config import PoliciesSettings
from service.db.engine import Database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.errors import UsageError
from service.policy_settings.roles import together
from service.policy_settings.settings import PolicySettings
from service.policy_settings.sources import read_policy
from service.projections.columns import columns_of
from service.projections.statistics import fold_statistics
from service.runner.desired_state import RunOrders
from service.runner.run_job import RunJob
from service.runner.run_loop import drive
from service.runner.status import RunStatus
from service.timestamps import SystemClock
from service.usecases.plan import RunPlan, new_run
from tests.contract import story
from tests.contract.story import RUN
from tests.fakes.openai_server import OpenAIServer, chain, openai_server
from tests.fakes.vectors import direction
from tests.fakes.world import toy_problem
from tests.integration.runner.scene import Notes, ToyEvaluator
from tests.patience import PATIENCE_SECONDS

NOVELTY = NoveltyConfig(kind="embedding", min_distance=1 - math.cos(0.05))  # half a step of x
PRICE = {"input": "1000", "output": "0", "currency": "USD"}  # for a million


def write(body: Mapping[str, Any]) -> list[str]:
    """Programs around x = 0 to 20 by the seed: many are near to one that was there."""
    return [chain(*(f"x = {(body['seed'] * factor) % 200 / 10}" for factor in (1, 7)))]


def seen(text: str) -> list[float]:
    """The direction that turns by a tenth of x, with a length that nobody looks at."""
    found = re.search(r"x = (-?[\d.]+)", text)
    return [7 * float(number) for number in direction(float(found[1]) / 10 if found else 3.0)]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server(write, embed=seen) as running:
        yield running


def author(server: OpenAIServer, **more: object) -> PolicySettings:
    named = {"name": "author", "base_url": server.url, "answers": 2, "samples": 1, "concurrency": 2, **more}
    return read_policy({"price": {**PRICE, "output": "1000"}, **named}, "the test")


def eye(server: OpenAIServer, **more: object) -> PolicySettings:
    named = {"name": "eye", "role": "embedder", "base_url": server.url, **more}
    return read_policy({"price": PRICE, **named}, "the test")


def planned(*policies: PolicySettings, **config: Any) -> RunPlan:
    given = {"novelty": NOVELTY, "budget": BudgetConfig(evaluations=20), **config}
    return RunPlan(
        run_id=RUN, problem=toy_problem(), bundle=story.new_run().bundle, source="", config=RunConfig(**given),
        policies=policies,
    )  # fmt: skip


def play(log: SqlRunLog, plan: RunPlan, notes: Notes) -> RunStatus:
    async def scene() -> RunStatus:
        async with asyncio.timeout(PATIENCE_SECONDS), ConfiguredPolicies(PoliciesSettings()).open(plan) as asked:
            assert set(asked.health() or {}) == {"author", "eye"}
            job = RunJob(
                run_id=RUN, problem=plan.problem, config=plan.config, policies=asked.members, health=asked.health,
                embedder=asked.embedder, evaluator=ToyEvaluator(plan.problem), log=log, clock=SystemClock(),
                owner="test",
            )  # fmt: skip
            return await drive(job, observer=notes, orders=RunOrders())

    return asyncio.run(scene())


def test_a_child_too_near_is_refused_and_what_its_vector_cost_is_told_of_the_embedder(
    log: SqlRunLog, database: Database, server: OpenAIServer
) -> None:
    notes = Notes()
    status = play(log, planned(author(server), eye(server)), notes)
    assert (status.state, status.reason) == ("succeeded", "evaluations")
    payloads = [entry.event.payload for entry in notes.events]
    refused = [one["reason"] for one in payloads if "too near to a program of its island" in (one.get("reason") or "")]
    assert refused
    assert all("its distance in embedding from cnd_" in reason for reason in refused)
    charges = [charge for one in payloads for charge in one.get("charges", ())]
    assert {(charge["policy"], charge["purpose"]) for charge in charges} == {("eye", "embedding")}
    tokens = sum(charge["tokens"]["input"] for charge in charges)
    asked = sum(server.count(text) for request in server.embeddings for text in request.body["input"])
    # What was under way when the run ended may have been asked for in vain.
    assert asked - 2 * 2 * 20 <= tokens <= asked
    reader = SqlRunReader(database)
    statistics = fold_statistics(reader, columns_of(reader, reader.run(RUN)), reader.run(RUN))
    yields = {one.name: one for one in statistics.policies}
    assert (yields["eye"].tokens, yields["eye"].evaluations) == (tokens, 0)
    assert read_money(yields["eye"].cost).amount * 1000 == tokens


def test_a_run_waits_for_its_embedder_and_goes_on(log: SqlRunLog, server: OpenAIServer) -> None:
    waited: list[str] = []
    asked: list[str] = []

    def embed(text: str) -> list[float]:
        asked.append(text)
        if len(asked) == 5:
            server.embedder_away = "loading"  # from the next request on
        return seen(text)

    def react(events: Sequence[Any]) -> None:
        for one in events:
            if one.event.kind is EventKind.RUN_WAITING:
                waited.append(one.event.payload["reason"])
                server.embedder_away = ""

    server.embed = embed
    status = play(log, planned(author(server), eye(server)), Notes(react=react))
    assert status.reason == "evaluations"
    assert waited
    assert waited[0].startswith(f"the embedder eye cannot be asked: no reply from the policy server {server.url}")
    assert "status 503: loading" in waited[0]


async def test_a_new_run_wants_its_embedder_there_and_one_that_was_begun_waits_for_it(
    log: SqlRunLog, database: Database, server: OpenAIServer
) -> None:
    plan = planned(author(server), eye(server))
    server.embedder_away = "loading"
    with pytest.raises(PolicyUnavailable, match=r"the embedder eye cannot be asked: .*status 503: loading"):
        async with ConfiguredPolicies(PoliciesSettings()).open(plan):
            pass
    async with ConfiguredPolicies(PoliciesSettings()).open(
        replace(plan, record=SqlRunReader(database).run(RUN))
    ) as asked:
        assert asked.embedder is not None
        with pytest.raises(PolicyUnavailable):
            await asked.embedder.embed(plan.problem.seeds)
        server.embedder_away = ""


async def test_prices_of_embedder_and_author_share_a_currency(server: OpenAIServer) -> None:
    with pytest.raises(ConfigurationError, match="share one currency"):
        async with ConfiguredPolicies(PoliciesSettings()).open(
            planned(author(server), eye(server, price={**PRICE, "currency": "EUR"}))
        ):
            pass
    bare = read_policy({"name": "eye", "role": "embedder", "base_url": server.url}, "the test")
    async with ConfiguredPolicies(PoliciesSettings()).open(planned(author(server), bare)) as asked:
        assert [member.currency for member in asked.members] == [None]


def test_what_does_not_go_together_is_refused_before_a_run_is_stored(server: OpenAIServer) -> None:
    def stored(plan: RunPlan) -> None:
        new_run(plan, "none", datetime(2026, 3, 1, tzinfo=UTC))

    stored(planned(author(server), eye(server)))
    with pytest.raises(ConfigurationError, match=r"novelty\.kind = 'embedding' needs an embedder"):
        stored(planned(author(server)))
    with pytest.raises(ConfigurationError, match="the policy eye is an embedder, and nothing asks for embeddings"):
        stored(planned(author(server), eye(server), novelty=NoveltyConfig(kind="syntax")))
    with pytest.raises(UsageError, match="eye and second both have the role embedder: a run takes one"):
        together([author(server), eye(server), eye(server, name="second")])
    with pytest.raises(UsageError, match="eye is embedder of the run, but a run also needs a policy that writes"):
        together([eye(server)])


def test_a_function_may_write_while_a_server_embeds(server: OpenAIServer, tmp_path: Path) -> None:
    file = tmp_path / "eye.toml"
    file.write_text(f'[[policies]]\nname = "eye"\nrole = "embedder"\nbase_url = "{server.url}"\n')
    values = iter(range(10_000))
    result = evolve.run(
        "x = 0.0\n",
        evaluate=lambda text: -abs(float(text.split("=")[1]) - 3),
        policy=[lambda _: f"x = {next(values) / 10}\n", str(file)],
        novelty={"kind": "embedding", "min_distance": NOVELTY.min_distance},
        evaluations=5,
        islands=1,
        deterministic={"window": 1},  # each is told when the one before is a member
    )
    taken = sorted(float(one["source"].split("=")[1]) for one in result.candidates if one["status"] == "evaluated")
    assert len(taken) == 5
    assert all(b - a > 0.49 for a, b in pairwise(taken))
    with pytest.raises(ConfigurationError, match="needs an embedder"):
        evolve.run("x = 0.0\n", evaluate=lambda _: 0.0, novelty={"kind": "embedding"}, evaluations=2)
