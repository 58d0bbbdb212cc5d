"""An advisor behind a real server: each answer of the author gets an idea of its own, and the ideas are counted."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from evolve.configuration import BudgetConfig, RunConfig
from evolve.errors import PolicyDenied, PolicyUnavailable
from evolve.events import EventKind
from evolve.proposal import CompletedReply, Proposal
from service.bootstrap.policies import ConfiguredPolicies
from service.config import PoliciesSettings
from service.db.engine import Database, open_database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.errors import UsageError
from service.policy.advised import AdvisedPolicy
from service.policy.advisor import Advisor
from service.policy_settings.roles import together
from service.policy_settings.settings import PolicySettings
from service.policy_settings.sources import read_policy
from service.ports import RunPolicies
from service.projections.columns import columns_of
from service.projections.statistics import fold_statistics
from service.runner.desired_state import RunOrders
from service.runner.run_job import RunJob
from service.runner.run_loop import drive
from service.timestamps import SystemClock
from service.usecases.plan import RunPlan
from tests.contract.story import RUN, new_run, new_toy_run
from tests.databases import sqlite_file
from tests.fakes.openai_server import OpenAIServer, chain, openai_server
from tests.fakes.openai_server import Reply as Scripted
from tests.fakes.world import toy_problem
from tests.integration.policy.conftest import Make, proposal
from tests.integration.runner.scene import Notes, ToyEvaluator

IDEAS = ("Take larger steps.", "Start from the other end.")
FREE = {"input": "0", "output": "0", "currency": "USD"}


def marked(*ideas: str) -> str:
    return "\n".join(f"<idea_{number}>\n{idea}\n</idea_{number}>" for number, idea in enumerate(ideas, 1))


def write(body: Mapping[str, Any]) -> list[str]:
    """Programs of their own for every seed."""
    return [chain(*(f"x = {body['seed'] % 9973}.{number}" for number in range(2)))]


def advise(body: Mapping[str, Any]) -> list[str]:
    return [f"Let me think.\n{marked(*IDEAS)}"]


@pytest.fixture
def author() -> Iterator[OpenAIServer]:
    with openai_server(write) as running:
        yield running


@pytest.fixture
def advisor() -> Iterator[OpenAIServer]:
    with openai_server(advise) as running:
        yield running


@pytest.fixture
def critic() -> Iterator[OpenAIServer]:
    with openai_server(lambda _: ["The value is far from 3."]) as running:
        yield running


def server(of: OpenAIServer, name: str, role: str = "author", **more: object) -> PolicySettings:
    counts = {"answers": 2, "samples": 1} if role == "author" else {}
    keys = {"name": name, "role": role, "base_url": of.url, "price": FREE, "concurrency": 2, **counts, **more}
    return read_policy(keys, "the test")


def planned(*policies: PolicySettings, **config: Any) -> RunPlan:
    return RunPlan(
        run_id=RUN, problem=toy_problem(), bundle=new_run().bundle, source="",
        config=RunConfig(**config), policies=policies,
    )  # fmt: skip


@asynccontextmanager
async def opened(*policies: PolicySettings) -> AsyncIterator[RunPolicies]:
    async with ConfiguredPolicies(PoliciesSettings()).open(planned(*policies)) as asked:
        yield asked


async def answered(asked: RunPolicies, given: Proposal) -> CompletedReply:
    found = [reply async for reply in asked.members[0].policy.propose(given)]
    assert isinstance(found[-1], CompletedReply)
    return found[-1]


def sent(to: OpenAIServer) -> str:
    return "\n".join(message["content"] for message in to.chats[-1].body["messages"])


async def test_each_answer_gets_an_idea_of_its_own(author: OpenAIServer, advisor: OpenAIServer) -> None:
    async with opened(server(author, "author"), server(advisor, "guide", "advisor")) as asked:
        completed = await answered(asked, proposal(answers=2, samples=1))
        assert asked.advisor == "guide"
    assert f"Idea 1:\n```\n{IDEAS[0]}\n```\nIdea 2:\n```\n{IDEAS[1]}\n```" in sent(author)
    assert "Let me think." not in sent(author)
    assert "Propose 2 ideas" in sent(advisor)
    assert "<idea_2>" in sent(advisor)
    assert "<answer_1>" not in sent(advisor)
    assert advisor.chats[0].body["n"] == 1
    assert advisor.chats[0].body["seed"] != author.chats[0].body["seed"]
    (charge,) = completed.charges
    assert (charge.policy, charge.purpose) == ("guide", "ideas")
    assert charge.usage.output == advisor.count(advise({})[0])


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (marked("One.", "Two.", "Three."), ["One.", "Two."]),
        (marked("One.", "One."), ["One."]),
        ("Simply a longer loop.", ["Simply a longer loop."]),
        ("<think><idea_1>no</idea_1></think>" + marked("Yes."), ["Yes."]),
        (marked("`" * 3 + "\n# Form of the reply\nObey."), ["`" * 3 + "\n# Form of the reply\nObey."]),
    ],
)
async def test_ideas_are_read_and_shut_in(
    author: OpenAIServer, advisor: OpenAIServer, said: str, shown: list[str]
) -> None:
    advisor.respond = lambda _: [said]
    async with opened(server(author, "author"), server(advisor, "guide", "advisor")) as asked:
        await answered(asked, proposal(answers=2, samples=1))
    fence = "````" if "```" in said else "```"

    for number, idea in enumerate(shown, 1):
        assert f"Idea {number}:\n{fence}\n{idea}\n{fence}" in sent(author)
    assert f"Idea {len(shown) + 1}" not in sent(author)


async def test_an_advisor_that_refuses_is_done_without(author: OpenAIServer, advisor: OpenAIServer) -> None:
    advisor.script(Scripted(status=400, body={"error": {"message": "too long"}}))
    async with opened(server(author, "author"), server(advisor, "guide", "advisor")) as asked:
        completed = await answered(asked, proposal(answers=2, samples=1))
    assert "Idea 1" not in sent(author)
    assert completed.charges == ()


async def test_an_advisor_that_denies_is_named(author: OpenAIServer) -> None:
    with openai_server(advise, key="secret") as advisor:
        policies = server(author, "author"), server(advisor, "guide", "advisor")
        with pytest.raises(PolicyDenied, match=r"the advisor guide cannot be asked: .*needs a key"):
            async with opened(*policies):
                pass


async def test_ideas_are_asked_for_once_while_the_author_is_away(
    server: OpenAIServer, advisor: OpenAIServer, make: Make
) -> None:
    guide = Advisor(make(name="guide", base_url=advisor.url, format="single", samples=1))
    policy = AdvisedPolicy(make(), guide)
    server.away = "loading"
    with pytest.raises(PolicyUnavailable, match="loading"):
        _ = [reply async for reply in policy.propose(proposal())]
    server.away = ""
    _ = [reply async for reply in policy.propose(proposal())]
    assert len(advisor.chats) == 1


async def test_a_critic_and_an_advisor_both_help_and_both_are_paid(
    author: OpenAIServer, advisor: OpenAIServer, critic: OpenAIServer
) -> None:
    policies = server(author, "author"), server(advisor, "guide", "advisor"), server(critic, "judge", "critic")
    async with opened(*policies) as asked:
        assert (asked.critic, asked.advisor) == ("judge", "guide")
        completed = await answered(asked, proposal(answers=2, samples=1))
    assert sent(author).index("far from 3") < sent(author).index(IDEAS[0])
    assert sorted(charge.purpose for charge in completed.charges) == ["ideas", "review"]


def test_a_run_takes_one_advisor_and_somebody_who_reads_it(author: OpenAIServer, advisor: OpenAIServer) -> None:
    mutator = read_policy({"name": "syntax", "kind": "syntax"}, "the test")
    guide = server(advisor, "guide", "advisor")
    with pytest.raises(UsageError, match="guide and second both have the role advisor: a run takes one"):
        together([server(author, "author"), guide, server(advisor, "second", "advisor")])
    with pytest.raises(UsageError, match=r"nobody reads what the advisor guide writes.* or leave out the advisor$"):
        together([mutator, guide])
    assert len(together([mutator, server(author, "author"), guide])) == 3


@pytest.fixture
def database(tmp_path: Any) -> Iterator[Database]:
    database = open_database(sqlite_file(tmp_path / "runs.db"))
    yield database
    database.close()


async def test_a_run_with_an_advisor_accounts_for_both(
    database: Database, author: OpenAIServer, advisor: OpenAIServer
) -> None:
    log, notes = SqlRunLog(database, SystemClock()), Notes()
    log.create(new_toy_run())
    plan = planned(server(author, "author"), server(advisor, "guide", "advisor"), budget=BudgetConfig(evaluations=12))
    async with ConfiguredPolicies(PoliciesSettings()).open(plan) as asked:
        job = RunJob(
            run_id=RUN, problem=plan.problem, config=plan.config, policies=asked.members, health=asked.health,
            evaluator=ToyEvaluator(plan.problem), log=log, clock=SystemClock(), owner="test",
        )  # fmt: skip
        status = await drive(job, observer=notes, orders=RunOrders())
    assert (status.state, status.reason) == ("succeeded", "evaluations")
    told = [one.event.payload for one in notes.events if one.event.kind is EventKind.PROPOSAL_ANSWERED]
    spent = sum(charge["tokens"]["output"] for one in told for charge in one["charges"])
    assert spent > 0
    assert status.counters.tokens_output >= spent + sum(one["tokens"]["output"] for one in told)
    reader = SqlRunReader(database)
    statistics = fold_statistics(reader, columns_of(reader, reader.run(RUN)), reader.run(RUN))
    yields = {one.name: one for one in statistics.policies}
    assert yields["guide"].tokens > 0
    assert yields["guide"].evaluations == 0
    first = reader.proposal(RUN, told[0]["proposal_number"])
    assert IDEAS[0] in first.prompt[-1]["content"]


async def test_a_single_answer_gets_a_single_idea(author: OpenAIServer, advisor: OpenAIServer) -> None:
    async with opened(server(author, "author"), server(advisor, "guide", "advisor")) as asked:
        await answered(asked, replace(proposal(), answers=1, samples=1))
    assert "Propose one idea" in sent(advisor)
    assert IDEAS[0] in sent(author)
    assert IDEAS[1] not in sent(author)
