"""A run whose server is killed while it writes, is away, loads, and is back: nothing is counted twice or lost."""

import asyncio
import multiprocessing
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import uvicorn

from evolve.configuration import BudgetConfig, RunConfig
from evolve.events import Event, EventKind
from evolve.search.ensemble import EnsembleMember
from service.db.engine import Database, open_database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.net.retry import Backoff
from service.policy.breaker import Breaker
from service.policy.connection import ServerConnection
from service.policy.openai import OpenAIPolicy, PreflightResult
from service.policy_settings.settings import PolicySettings
from service.ports import LoggedEvent
from service.runner.desired_state import RunOrders
from service.runner.run_job import RunJob
from service.runner.run_loop import drive
from service.runner.status import RunStatus
from service.timestamps import SystemClock
from tests.contract.story import RUN, new_toy_run
from tests.fakes.openai_server import OpenAIServer, Reply, chain
from tests.fakes.world import toy_problem
from tests.integration.policy.conftest import build_prompt
from tests.integration.runner.scene import Notes, ToyEvaluator

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

CALLS, ANSWERS = 3, 4
LOADING = "the model is loading"


def respond(body: Mapping[str, Any]) -> list[str]:
    return [chain(*(f"x = {body['seed'] % 99991}.{number}" for number in range(ANSWERS)))]


def serve(port: int, ready: Pipe, loading: int, held: int) -> None:
    """A server in a process of its own: it is loading for so many requests, and stands still in so many of its chains.

    A chain that stands still has shown its first answer and a part of the second.
    """
    server = OpenAIServer(respond, characters=len(chain("x = 12345.0")) + 14)
    server.script(*[Reply(status=503, body=LOADING)] * loading)
    server.script(*[Reply(hold_after=1, release=threading.Event())] * held)
    listener = socket.create_server(("127.0.0.1", port), backlog=64)
    ready.send(listener.getsockname()[1])
    config = uvicorn.Config(server.app(), loop="asyncio", http="h11", ws="none", lifespan="off", log_config=None)
    uvicorn.Server(config).run(sockets=[listener])


class Restarting:
    """The server's processes, one after the other at one port."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._processes: list[BaseProcess] = []
        self.port = self._start(0, loading=0, held=CALLS)

    def kill(self) -> None:
        self._processes[-1].kill()
        self._processes[-1].join()

    def come_back(self) -> None:
        self._start(self.port, loading=CALLS + 1, held=0)

    def _start(self, port: int, *, loading: int, held: int) -> int:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=serve, args=(port, theirs, loading, held), daemon=True)
        process.start()
        self._processes.append(process)
        with ours, theirs:
            bound: int = ours.recv()
        return bound


@pytest.fixture
def server() -> Iterator[Restarting]:
    restarting = Restarting()
    yield restarting
    restarting.kill()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_database(f"sqlite:///{tmp_path / 'runs.db'}")
    yield database
    database.close()


async def played(log: SqlRunLog, policy: OpenAIPolicy, notes: Notes) -> RunStatus:
    problem = toy_problem()
    work = RunJob(
        run_id=RUN,
        problem=problem,
        config=RunConfig(budget=BudgetConfig(evaluations=60)),
        policies=[EnsembleMember(policy=policy)],
        evaluator=ToyEvaluator(problem),
        log=log,
        clock=SystemClock(),
        owner="test",
    )
    async with asyncio.timeout(60):
        try:
            return await drive(work, observer=notes, orders=RunOrders())
        finally:
            await policy.close()


async def test_a_server_that_is_killed_while_it_writes_costs_what_it_had_not_said_and_nothing_else(
    server: Restarting, database: Database
) -> None:
    log = SqlRunLog(database, SystemClock())
    log.create(new_toy_run())
    connection: ServerConnection[PreflightResult] = ServerConnection(
        PolicySettings(base_url=f"http://127.0.0.1:{server.port}/v1", answers=ANSWERS, samples=1, concurrency=CALLS),
        rng=np.random.default_rng(1),
        backoff=Backoff(attempts=2, first_seconds=0.02),
        breaker=Breaker(SystemClock().monotonic, failures=4, first_seconds=0.2, max_seconds=0.4),
    )
    policy = OpenAIPolicy(connection, build_prompt=build_prompt)
    notes = Notes()
    seen: Counter[EventKind] = Counter()

    def react(events: Sequence[LoggedEvent]) -> None:
        before = seen.copy()
        seen.update(entry.event.kind for entry in events)
        evaluated = EventKind.CANDIDATE_EVALUATED
        if before[evaluated] < 1 + CALLS <= seen[evaluated]:  # the seed's, and of each call the first answer
            server.kill()
        if not before[EventKind.RUN_WAITING] and seen[EventKind.RUN_WAITING]:
            threading.Thread(target=server.come_back).start()

    notes.react = react
    status = await played(log, policy, notes)

    events = [entry.event for entry in log.events(RUN)]
    assert (status.state, status.reason, status.waiting) == ("succeeded", "evaluations", "")
    assert_it_waited_and_went_on(events)
    answered = {
        event.payload["proposal_number"]: event.payload for event in events if event.kind is EventKind.PROPOSAL_ANSWERED
    }
    assert seen[EventKind.PROPOSAL_ANSWERED] == len(answered)
    assert not seen[EventKind.PROPOSAL_FAILED]
    # What was under way when the server was killed has brought what it had said; all others brought everything.
    reader = SqlRunReader(database)
    cut = [number for number in answered if "cut" in reader.proposal(RUN, number).finish_reasons]
    assert sorted(cut) == list(range(1, CALLS + 1))
    full = set(answered) - set(cut)
    assert len(full) > CALLS
    came = Counter(event.payload["proposal_number"] for event in events if event.kind is EventKind.CANDIDATE_CREATED)
    assert all(came[number] == 1 for number in cut)
    assert_each_answer_once(events)
    assert status.counters.tokens_output == sum(payload["tokens"]["output"] for payload in answered.values())


def assert_it_waited_and_went_on(events: Sequence[Event]) -> None:
    kinds = [event.kind for event in events]
    reasons = [event.payload["reason"] for event in events if event.kind is EventKind.RUN_WAITING]
    assert any("connection refused" in reason for reason in reasons)
    assert any(LOADING in reason for reason in reasons)
    # Why the server gives no answer is told, also while it is left alone.
    assert all("no reply from " in reason or "closed its stream too early" in reason for reason in reasons)
    last = len(kinds) - 1 - kinds[::-1].index(EventKind.RUN_WAITING)
    assert EventKind.RUN_UNBLOCKED in kinds[last:]


def assert_each_answer_once(events: Sequence[Event]) -> None:
    created = [event.payload for event in events if event.kind is EventKind.CANDIDATE_CREATED]
    places = [(payload["proposal_number"], payload["position"]) for payload in created]
    assert len(set(places)) == len(places)
    evaluated = [event.payload["candidate_id"] for event in events if event.kind is EventKind.CANDIDATE_EVALUATED]
    assert len(set(evaluated)) == len(evaluated) == 60
