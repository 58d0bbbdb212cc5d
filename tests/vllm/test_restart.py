"""A run whose vLLM is killed in the middle of a chain and started again: it waits, and goes on by itself."""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from pydantic import SecretStr

from evolve.configuration import BudgetConfig, RunConfig
from evolve.evaluation import PLAIN, Evaluation, ScoringRequest, read_result
from evolve.events import EventKind
from evolve.program import Program
from evolve.proposal import Answer, Proposal, Reply
from evolve.search.ensemble import EnsembleMember
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.policy.connection import ServerConnection
from service.policy.openai import OpenAIPolicy, PreflightResult
from service.policy_settings.settings import PolicySettings
from service.runner.desired_state import RunOrders
from service.runner.run_job import RunJob
from service.runner.run_loop import drive
from service.timestamps import SystemClock
from tests.conftest import VLLM_PYTHON
from tests.contract.story import RUN, new_run
from tests.fakes.world import toy_problem
from tests.integration.policy.conftest import build_prompt
from tests.integration.runner.scene import Notes, ToyEvaluator
from tests.vllm.conftest import KEY
from tests.vllm.server import START_SECONDS, VllmServer, vllm_server

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

EVALUATIONS = 160
# Each proposal has several chains, and they are written one after the other: at its first answer, others are still to
# be written, however busy the machine is.
SAMPLES = 4
ONE_BY_ONE = {"--max-num-seqs": "1"}


class Killing(OpenAIPolicy):
    """Kills its server at the first answer to its third proposal, with chains of that and others still to write."""

    server: VllmServer
    killed: asyncio.Event

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        async with aclosing(super().propose(proposal)) as replies:
            async for reply in replies:
                if proposal.number == 3 and isinstance(reply, Answer) and not self.killed.is_set():
                    self.server.kill()
                    self.killed.set()
                yield reply


class PointEvaluator(ToyEvaluator):
    """Scores whatever the tiny model writes by its length: what it is worth does not matter here."""

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        return read_result({"closeness": -float(len(program.text)), "magnitude": 0.0}, self.problem)


@pytest.fixture
def python() -> Path:
    return Path(os.environ[VLLM_PYTHON]).absolute()


async def test_a_vllm_that_is_killed_in_the_middle_of_a_chain_is_waited_for(python: Path, tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'runs.db'}")
    log, notes = SqlRunLog(database, SystemClock()), Notes()
    log.create(new_run())
    with ExitStack() as servers:
        slow = vllm_server(python, tmp_path, KEY, options=ONE_BY_ONE)
        first = await asyncio.to_thread(servers.enter_context, slow)
        settings = PolicySettings(base_url=first.url, concurrency=4, samples=SAMPLES, adapt=())
        connection: ServerConnection[PreflightResult] = ServerConnection(
            settings, key=SecretStr(KEY), rng=np.random.default_rng(1)
        )
        policy = Killing(connection, build_prompt=build_prompt)
        policy.server, policy.killed = first, asyncio.Event()
        problem = toy_problem()
        work = RunJob(
            run_id=RUN,
            problem=problem,
            config=RunConfig(budget=BudgetConfig(evaluations=EVALUATIONS)),
            policies=[EnsembleMember(policy=policy)],
            evaluator=PointEvaluator(problem),
            log=log,
            clock=SystemClock(),
            owner="test",
        )
        async with asyncio.timeout(START_SECONDS + 120):
            run = asyncio.create_task(drive(work, observer=notes, orders=RunOrders()))
            await policy.killed.wait()
            again = vllm_server(python, tmp_path, KEY, urlsplit(first.url).port or 0)
            await asyncio.to_thread(servers.enter_context, again)
            status = await run
            await policy.close()

    events = [entry.event for entry in log.events(RUN)]
    kinds = Counter(event.kind for event in events)
    assert (status.state, status.waiting, status.counters.evaluations) == ("succeeded", "", EVALUATIONS)
    reasons = [event.payload["reason"] for event in events if event.kind is EventKind.RUN_WAITING]
    assert any("cannot be reached (connection refused)" in reason for reason in reasons)
    assert kinds[EventKind.RUN_UNBLOCKED]
    assert not kinds[EventKind.PROPOSAL_FAILED]
    answered = {
        event.payload["proposal_number"]: event.payload for event in events if event.kind is EventKind.PROPOSAL_ANSWERED
    }
    assert kinds[EventKind.PROPOSAL_ANSWERED] == len(answered)
    reader = SqlRunReader(database)
    ends = {number: reader.proposal(RUN, number).finish_reasons for number in answered}
    cut = {number for number, reasons in ends.items() if "cut" in reasons}
    assert 3 in cut, ends
    assert len(cut) <= 4  # no more than were under way: nothing after the restart is cut
    created = [event.payload for event in events if event.kind is EventKind.CANDIDATE_CREATED]
    assert len({(payload["proposal_number"], payload["position"]) for payload in created}) == len(created)
    assert status.counters.tokens_output == sum(payload["tokens"]["output"] for payload in answered.values())
    database.close()
