"""Traces, sent by the real SDK to a collector: one leads from a proposal over its request to the worker."""

import itertools
import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.evolving import SEED, Evolve, make_problem
from tests.fakes.openai_server import OpenAIServer, Reply, openai_server
from tests.patience import PATIENCE_SECONDS
from tests.trackers.collector import CollectedSpan, Collector, collector

pytestmark = [pytest.mark.trackers, pytest.mark.filterwarnings("default")]

KEY = "sk-of-nobody-but-this-test"
MARK = "quetzalcoatl"
INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER = range(1, 6)  # the numbers of OTLP
CALLER = "0af7651916cd43dd8448eb211c80319c"  # the example of W3C Trace Context


@pytest.fixture
def receiver() -> Iterator[Collector]:
    pytest.importorskip("opentelemetry.proto", reason="needs OpenTelemetry: make test-trackers")
    with collector() as found:
        yield found


@pytest.fixture
def evolve(tmp_path: Path, receiver: Collector) -> Iterator[Evolve]:
    made = Evolve(tmp_path)
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        made.environment |= {
            "TMPDIR": scratch,
            "EVOLVE_API__SECRET": "s" * 40,
            "EVOLVE_POLICY_API_KEY": KEY,
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }
        yield made


@pytest.fixture
def policy() -> Iterator[OpenAIServer]:
    numbers = itertools.count(1)

    def respond(body: Mapping[str, Any]) -> list[str]:
        program = SEED.replace("1.5", f"{next(numbers)}.25") + f"    # {MARK}\n"
        return [f"<answer_1>\n{program}</answer_1>"] * body["n"]

    with openai_server(respond, key=KEY) as server:
        yield server


@contextmanager
def started(evolve: Evolve, *words: str) -> Iterator[subprocess.Popen[str]]:
    process = evolve.start(*words)
    try:
        yield process
    finally:
        process.terminate()
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, err


@contextmanager
def worker(evolve: Evolve, *words: str) -> Iterator[None]:
    with started(evolve, "worker", "--slots", "1", *words) as process:
        assert process.stderr is not None
        assert "taking evaluations" in process.stderr.readline()
        yield


@contextmanager
def api(evolve: Evolve) -> Iterator[str]:
    with started(evolve, "api", "--port", "0", "--json") as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]


def run(evolve: Evolve, folder: Path, policy: OpenAIServer) -> None:
    problem = make_problem(folder, evaluations=6)
    evolve.call("run", str(problem), "--policy", policy.url, "--answers", "1", "--samples", "1")


def below(spans: list[CollectedSpan], above: CollectedSpan) -> list[CollectedSpan]:
    found = [one for one in spans if one.parent_id == above.span_id]
    assert {one.trace_id for one in found} <= {above.trace_id}
    return found


def check_traces(receiver: Collector, policy: OpenAIServer) -> None:
    """Whether each request and each evaluation of a candidate is in the trace of its proposal."""
    proposals = {one.attributes["evolve.proposal.number"]: one for one in receiver.named("propose")}
    assert {one.parent_id for one in proposals.values()} == {""}
    assert len({one.trace_id for one in proposals.values()}) == len(proposals)
    chats = receiver.named("chat fake")
    assert {one.parent_id for one in chats} <= {one.span_id for one in proposals.values()}
    sent = {f"00-{one.trace_id}-{one.span_id}" for one in chats}
    assert {one.headers["traceparent"].rpartition("-")[0] for one in policy.chats} == sent  # without the flags
    evaluations = [one for one in receiver.named("evaluate candidate") if one.attributes["evolve.proposal.number"]]
    assert len(evaluations) >= 4
    for evaluation in evaluations:
        assert evaluation.parent_id == proposals[evaluation.attributes["evolve.proposal.number"]].span_id
        (submitted,) = [one for one in below(receiver.spans, evaluation) if one.kind == PRODUCER]
        (process,) = [one for one in below(receiver.spans, submitted) if one.kind == CONSUMER]
        assert (submitted.service, process.service) == ("evolve", "evolve-worker")
        assert process.attributes["messaging.message.id"] == submitted.attributes["messaging.message.id"]
        assert process.attributes["evolve.evaluation.outcome"] == "ok"


def check_secrets(receiver: Collector) -> None:
    """Whether nothing of programs and keys was sent."""
    for body in receiver.bodies:
        assert not [word for word in (KEY, MARK, "return a * b", "s3cret") if word.encode() in body]


def test_one_trace_leads_from_the_proposal_over_redis_to_the_worker(
    evolve: Evolve, receiver: Collector, policy: OpenAIServer, tmp_path: Path, redis_url: str
) -> None:
    policy.script(Reply(status=500, body="overloaded"))
    evolve.environment["EVOLVE_QUEUE__URL"] = redis_url
    with worker(evolve):
        run(evolve, tmp_path / "toy", policy)
    check_traces(receiver, policy)
    check_secrets(receiver)
    (failed,) = [one for one in receiver.named("chat fake") if one.failed]
    assert failed.attributes["error.type"] == "PolicyUnavailable"
    chat = next(one for one in receiver.named("chat fake") if not one.failed)
    assert chat.kind == CLIENT
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "fake",
        "gen_ai.response.finish_reasons": ["stop"],
        "server.address": "127.0.0.1",
    }
    assert expected.items() <= chat.attributes.items()
    assert chat.attributes["gen_ai.usage.output_tokens"] > 0
    commits = receiver.named("commit events")
    written = [one for commit in commits for one in below(receiver.spans, commit)]
    assert {"sqlite"} == {one.attributes["db.system.name"] for one in written}
    assert "INSERT events" in {one.name for one in written}


def test_the_trace_continues_at_a_worker_that_knows_the_api_alone(
    evolve: Evolve, receiver: Collector, policy: OpenAIServer, tmp_path: Path, redis_url: str
) -> None:
    evolve.call("keys", "create", "worker", "--scope", "evaluations:lease", "-o", str(tmp_path / "key"))
    evolve.environment["EVOLVE_QUEUE__URL"] = redis_url
    with api(evolve) as url:
        del evolve.environment["EVOLVE_QUEUE__URL"]
        with worker(evolve, "--server", url, "--api-key-file", str(tmp_path / "key")):
            evolve.environment["EVOLVE_QUEUE__URL"] = redis_url
            run(evolve, tmp_path / "toy", policy)
    check_traces(receiver, policy)
    check_secrets(receiver)


def test_requests_continue_the_trace_of_their_caller_and_send_no_token(evolve: Evolve, receiver: Collector) -> None:
    token = f"evs_{'T0' * 20}"
    with api(evolve) as url:
        headers = {"traceparent": f"00-{CALLER}-b7ad6b7169203331-01"}
        assert httpx.get(f"{url}/v1/runs?q={token}", headers=headers).status_code == 401
        httpx.get(f"{url}/shared/{token}")
        httpx.get(f"{url}/login?token={token}")
    (listed,) = [one for one in receiver.named("GET /v1/runs") if one.trace_id == CALLER]
    assert (listed.parent_id, listed.kind) == ("b7ad6b7169203331", SERVER)
    assert listed.service == "evolve-api"
    expected = {"http.request.method": "GET", "http.route": "/v1/runs", "http.response.status_code": 401}
    assert expected.items() <= listed.attributes.items()
    shared = [one for one in receiver.named("GET /shared/{token}") if one.kind == SERVER]
    assert [one.attributes["url.path"] for one in shared] == ["/shared/{token}"]
    (asked,) = [one for one in receiver.spans if one.parent_id == shared[0].span_id and one.kind == SERVER]
    assert asked.attributes["http.route"] == "/v1/runs"
    assert not [body for body in receiver.bodies if token.encode() in body]


def test_variables_name_the_service_and_switch_traces_off(
    evolve: Evolve, receiver: Collector, policy: OpenAIServer, tmp_path: Path
) -> None:
    evolve.environment["OTEL_SDK_DISABLED"] = "true"
    run(evolve, tmp_path / "off", policy)
    assert receiver.spans == []
    evolve.environment |= {
        "OTEL_SDK_DISABLED": "false",
        "OTEL_SERVICE_NAME": "mine",
        "OTEL_TRACES_SAMPLER": "always_on",
    }
    run(evolve, tmp_path / "on", policy)
    assert {one.service for one in receiver.spans} == {"mine"}
