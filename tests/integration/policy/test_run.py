"""The command against a server that misbehaves: the run waits with its reason and goes on, or says what is wrong."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.e2e.evolving import Evolve, EvolveHere, make_problem
from tests.fakes.openai_server import OpenAIServer, Reply, chain, openai_server

pytestmark = pytest.mark.slow


def respond(body: Mapping[str, Any]) -> list[str]:
    """Programs of their own for every seed."""
    programs = [[f"def give():\n    return {body['seed'] % 9973}.{c}{i}\n" for i in range(4)] for c in range(body["n"])]
    return [chain(*texts) for texts in programs]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server(respond) as running:
        yield running


@pytest.fixture
def evolve(tmp_path: Path) -> Evolve:
    return EvolveHere(tmp_path)


@pytest.fixture
def problem(tmp_path: Path) -> str:
    return str(make_problem(tmp_path / "problem", evaluations=20))


def test_a_run_waits_for_a_server_that_is_away_and_goes_on(evolve: Evolve, server: OpenAIServer, problem: str) -> None:
    server.away = "loading"
    told = []
    with evolve.start("run", problem, "--policy", server.url, "--json") as process:
        assert process.stdout is not None
        for line in process.stdout:
            told.append(json.loads(line))
            if told[-1].get("kind") == "run.waiting":
                server.away = ""
    assert process.returncode == 0
    *events, summary = told
    kinds = [event["kind"] for event in events]
    assert kinds.index("run.unblocked") > kinds.index("run.waiting")
    assert "status 503: loading" in events[kinds.index("run.waiting")]["reason"]
    assert (summary["state"], summary["evaluations"]) == ("succeeded", 20)
    assert "proposal.failed" not in kinds


def test_a_run_of_two_policies_goes_on_when_the_server_of_one_dies(evolve: Evolve, problem: str) -> None:
    words = ("--answers", "1", "--samples", "1", "--evaluations", "40", "--set", "concurrency.policy=2", "--json")
    told, died = [], 0
    with ExitStack() as mortal, openai_server(respond, latency_seconds=0.02) as survivor:
        dying = mortal.enter_context(openai_server(respond, latency_seconds=0.02))
        name, other = (urlsplit(server.url).netloc for server in (dying, survivor))
        with evolve.start("run", problem, "--policy", dying.url, "--policy", survivor.url, *words) as process:
            assert process.stdout is not None
            for line in process.stdout:
                told.append(json.loads(line))
                if not died and sum(event["kind"] == "proposal.answered" for event in told) >= 6:
                    mortal.close()
                    died = len(told)
    assert process.returncode == 0
    *events, summary = told
    assert (summary["state"], summary["reason"], summary["evaluations"]) == ("succeeded", "evaluations", 40)
    (away,) = [event for event in events if event["kind"] == "policy.unavailable"]
    assert away["policy"] == name
    assert "cannot be reached" in away["reason"]
    asked = {event["proposal_number"]: event["policy"] for event in events if event["kind"] == "proposal.created"}
    answered = [asked[event["proposal_number"]] for event in events if event["kind"] == "proposal.answered"]
    assert set(answered) == {name, other}
    given_up = [event for event in events if event["kind"] == "proposal.failed" and event.get("away")]
    assert given_up
    assert {asked[event["proposal_number"]] for event in given_up} == {name}
    assert {asked[event["proposal_number"]] for event in events[died:] if event["kind"] == "proposal.answered"} >= {
        other
    }
    assert "run.waiting" not in {event["kind"] for event in events}


def test_a_refused_proposal_fails_alone(evolve: Evolve, server: OpenAIServer, problem: str) -> None:
    server.script(Reply(status=400, body={"error": {"message": "too long"}}))
    *events, summary = evolve.lines("run", problem, "--policy", server.url, "--json")
    (failed,) = [event for event in events if event["kind"] == "proposal.failed"]
    assert "too long" in failed["reason"]
    assert summary["state"] == "succeeded"


def test_an_answer_is_evaluated_while_the_next_is_written(evolve: Evolve, server: OpenAIServer, problem: str) -> None:
    server.characters = 1000
    server.respond = lambda body: [
        chain(f"def give():\n    return {body['seed'] % 9973}.5\n"),
        chain("def give(): 1/0"),
    ]
    release = threading.Event()
    server.script(*[Reply(hold_after=1, release=release)] * 64)
    seen: list[str] = []
    answered_first = True
    with evolve.start("run", problem, "--policy", server.url, "--json") as process:
        assert process.stdout is not None
        for line in process.stdout:
            seen.append(json.loads(line)["kind"])
            # The first evaluation is the seed's, the second that of an answer.
            if seen.count("candidate.evaluated") == 2 and not release.is_set():
                answered_first = "proposal.answered" in seen
                release.set()
        release.set()
    assert process.returncode == 0
    assert not answered_first


def test_a_server_that_is_not_there_is_said_in_a_sentence(evolve: Evolve, problem: str) -> None:
    said = evolve.said("run", problem, "--policy", "http://127.0.0.1:9/v1")
    assert said.code == 6
    assert "cannot be reached (connection refused)" in said.err
    assert "Traceback" not in said.err


def test_a_key_that_is_named_and_not_set_is_said_in_a_sentence(evolve: Evolve, problem: str, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('[[policies]]\nbase_url = "http://h/v1"\napi_key_env = "NOT_SET_HERE"\n')
    said = evolve.said("run", problem, "--policy", str(tmp_path / "p.toml"))
    assert said.code == 2
    assert "NOT_SET_HERE" in said.err
