"""What only HTTP can do to leases: strangers, forged tokens, bodies with what no number is, a service that is away."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from evolve.evaluation import Outcome
from service.client.leases import RemoteEvaluationLeases, connect_service
from service.errors import RefusedError, ServiceError, UnreachableError, UsageError
from service.ports import EvaluationQueue, LeaseState, Scope
from tests.contract.http_leases import HttpBench, http_bench
from tests.contract.queueing import BUNDLE, GOOD, POOL, MemoryBench, heartbeat, results, task


@pytest.fixture
async def bench() -> AsyncIterator[HttpBench]:
    async with http_bench(MemoryBench()) as opened:
        yield opened


@pytest.fixture
async def queue(bench: HttpBench) -> EvaluationQueue:
    queue = bench.submitter()
    await queue.submit(task(), BUNDLE)
    return queue


async def lease(client: httpx.AsyncClient, worker_id: str = "a") -> dict[str, Any]:
    answer = await client.post("/v1/evaluations/lease", json={"worker_id": worker_id, "pool": POOL})
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def completion(token: str, **evaluation: object) -> dict[str, Any]:
    return {"token": token, "evaluation": {"outcome": "ok", "scores": {"value": 1.5}, **evaluation}}


def conflict(answer: httpx.Response) -> bool:
    assert answer.headers["content-type"] == "application/problem+json"
    return (answer.status_code, answer.json()["code"]) == (409, "conflict")


async def test_a_lease_is_completed_once(bench: HttpBench, queue: EvaluationQueue) -> None:
    client = bench.default
    held = await lease(client)
    path, body = f"/v1/evaluations/{held['lease_id']}/complete", completion(held["token"])
    assert (await client.post(path, json=body)).status_code == 204
    assert conflict(await client.post(path, json=body))
    [(_, evaluation)] = await results(queue, 1)
    assert (evaluation.scores, evaluation.worker) == ({"value": 1.5}, "a")


async def test_a_lease_that_lapsed_is_lost_to_its_holder(bench: HttpBench, queue: EvaluationQueue) -> None:
    client = bench.default
    held = await lease(client)
    await bench.lapse()
    again = await lease(client, "b")
    assert (again["lease_id"], again["delivery"]) == (held["lease_id"], 2)
    for words, body in (("renew", {"token": held["token"]}), ("complete", completion(held["token"]))):
        assert conflict(await client.post(f"/v1/evaluations/{held['lease_id']}/{words}", json=body))
    answer = await client.post(f"/v1/evaluations/{held['lease_id']}/complete", json=completion(again["token"]))
    assert answer.status_code == 204


def flipped(token: str) -> str:
    return token[:-2] + ("A" if token[-2] != "A" else "B") + token[-1]


@pytest.mark.parametrize("change", [flipped, lambda token: "A" * len(token), lambda _: "x"])
async def test_a_forged_token_opens_nothing(
    bench: HttpBench, queue: EvaluationQueue, change: Callable[[str], str]
) -> None:
    held = await lease(bench.default)
    path = f"/v1/evaluations/{held['lease_id']}/complete"
    assert conflict(await bench.default.post(path, json=completion(change(held["token"]))))
    assert (await bench.default.post(path, json=completion(held["token"]))).status_code == 204


async def test_a_token_is_of_use_only_with_its_lease_and_its_key(bench: HttpBench, queue: EvaluationQueue) -> None:
    await queue.submit(task(2), BUNDLE)
    first, second = await lease(bench.default), await lease(bench.default)
    path = f"/v1/evaluations/{first['lease_id']}/complete"
    assert conflict(await bench.default.post(path, json=completion(second["token"])))
    async with bench.client(bench.keys.make(bench.signer)) as stranger:
        assert conflict(await stranger.post(path, json=completion(first["token"])))


ROUTES = [
    ("POST", "/v1/evaluations/lease"),
    ("POST", "/v1/evaluations/1-1/renew"),
    ("POST", "/v1/evaluations/1-1/complete"),
    ("GET", f"/v1/bundles/{BUNDLE.hash}"),
    ("POST", "/v1/workers/a/heartbeat"),
    ("POST", "/v1/workers/a/leave"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_only_the_operators_keys_with_the_scope_may_lease(
    bench: HttpBench, queue: EvaluationQueue, method: str, path: str
) -> None:
    others = tuple(scope for scope in Scope if scope is not Scope.EVALUATIONS_LEASE)
    for key, status in (
        (bench.keys.make(bench.signer, scopes=others), 403),
        (bench.keys.make(bench.signer, tenant="guest"), 403),
        ("evo_nonsense", 401),
    ):
        async with bench.client(key) as client:
            assert (await client.request(method, path, json={})).status_code == status


NO_JSON = (
    '{"outcome": "ok", "scores": {"value": NaN}}',
    '{"outcome": "ok", "scores": {"value": Infinity}}',
    '{"outcome": "ok", "scores": {"value": 1e400}}',
    "{",
)


@pytest.mark.parametrize(
    "text",
    [
        *NO_JSON,
        '{"outcome": "ok", "scores": {"value": 1e101}}',
        '{"outcome": "ok", "scores": {"value": "1.5"}}',
        '{"outcome": "ok", "scores": {"value": true}}',
        '{"outcome": "ok", "seconds": -1}',
        '{"outcome": "fine"}',
        '{"outcome": "ok", "worker": "somebody else"}',
        '{"outcome": "ok", "feedback": "\\u0000"}',
        '{"outcome": "ok", "feedback": "\\ud800"}',
        "[]",
    ],
)
async def test_a_result_that_is_none_is_refused_and_the_lease_stays(
    bench: HttpBench, queue: EvaluationQueue, text: str
) -> None:
    held = await lease(bench.default)
    path = f"/v1/evaluations/{held['lease_id']}"
    body = f'{{"token": "{held["token"]}", "evaluation": {text}}}'
    answer = await bench.default.post(f"{path}/complete", content=body, headers={"Content-Type": "application/json"})
    # What is not JSON, numbers beyond those of JSON among it, is told apart from what is no result.
    assert answer.status_code == (400 if text in NO_JSON else 422)
    json.loads(answer.content, parse_constant=pytest.fail)
    assert (await bench.default.post(f"{path}/renew", json={"token": held["token"]})).json() == {"standing": "held"}


async def test_a_renewal_that_waits_answers_when_the_task_is_taken_back(
    bench: HttpBench, queue: EvaluationQueue
) -> None:
    worker = RemoteEvaluationLeases(bench.default, POOL, "a", hold_seconds=5.0)
    held = await worker.lease(0.5)
    assert held is not None
    renewing = asyncio.create_task(worker.renew(held))
    await asyncio.wait([renewing], timeout=0.01)
    began = time.monotonic()
    await queue.cancel(task().evaluation_id)
    assert await renewing is LeaseState.CANCELLED
    assert time.monotonic() - began < 4.0  # it would wait for five


async def test_calls_of_workers_are_not_counted_by_the_minute(bench: HttpBench) -> None:
    worker = bench.worker("a")
    limit = (await bench.app.state.parts.limiter.take("any")).limit
    for _ in range(limit + 1):
        assert await worker.lease(0.0) is None


def answering(status: int, body: object = None) -> httpx.MockTransport:
    return httpx.MockTransport(lambda _: httpx.Response(status, json=body))


def silent(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("nobody is there", request=request)


@pytest.mark.parametrize(
    ("transport", "kind"),
    [
        (httpx.MockTransport(silent), UnreachableError),
        (answering(503, {"detail": "the queue does not answer"}), UnreachableError),
        (answering(429), UnreachableError),
        (answering(302), UnreachableError),
        (answering(200, {"not": "what was asked"}), UnreachableError),
        (answering(401, {"detail": "the key is unknown"}), RefusedError),
        (answering(403, ["no details"]), RefusedError),
        (answering(422), UsageError),
    ],
)
async def test_what_the_service_answers_is_an_error_of_ours(
    transport: httpx.MockTransport, kind: type[ServiceError]
) -> None:
    async with connect_service("https://evolve.test", "evo_key", transport) as client:
        worker = RemoteEvaluationLeases(client, POOL, "a")
        with pytest.raises(kind):
            await worker.lease(0.0)
        with pytest.raises(kind):
            await worker.heartbeat(heartbeat())


@pytest.mark.parametrize(
    "server", ["", "evolve.example", "ftp://evolve.example", "http://", "https://a:b", "http://evolve.test"]
)
async def test_what_is_no_address_is_a_usage_error(server: str) -> None:
    with pytest.raises(UsageError):
        async with connect_service(server, "evo_key"):
            pass


async def test_a_worker_gives_every_kind_of_result(bench: HttpBench, queue: EvaluationQueue) -> None:
    worker = bench.worker("a")
    for number, outcome in enumerate(Outcome):
        await queue.submit(task(number + 10), BUNDLE)
        held = await worker.lease(0.5)
        assert held is not None
        assert await worker.complete(held, replace(GOOD, outcome=outcome))
    assert [evaluation.outcome for _, evaluation in await results(queue, len(Outcome))] == list(Outcome)
