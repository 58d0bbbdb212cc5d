"""What a real service cannot be made to do: failures of the network and of what lies between, by a transport."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from service.client import AsyncClient, Call, Client, calls
from service.client.errors import ERRORS
from service.client.events import FollowedStream
from service.client.transport import Transport
from service.errors import QuotaError, RefusedError, ServiceError, StaleError, UnreachableError, UsageError
from service.net.retry import Backoff
from service.schemas.problem_details import Code
from service.schemas.runs import RunCreate

QUICK = Backoff(attempts=4, first_seconds=0.001, max_seconds=0.002)
HEALTH = {"status": "ok", "version": "1", "new": {"in": "a later version"}}
Step = httpx.Response | Exception


class Script:
    """Answers one request after the other; the last step again and again."""

    def __init__(self, *steps: Step) -> None:
        self._steps, self.requests = list(steps), list[httpx.Request]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        if isinstance(step, Exception):
            raise step
        return step


def problem(status: int, code: str, **headers: str) -> httpx.Response:
    body = {"type": f"/problems/{code}", "status": status, "detail": "one sentence", "code": code, "trace_id": "t1"}
    return httpx.Response(status, json=body, headers={"Content-Type": "application/problem+json", **headers})


def client_of(script: Callable[[httpx.Request], httpx.Response], backoff: Backoff = QUICK) -> Client:
    return Client("https://evolve.test", "evo_k", transport=httpx.MockTransport(script), backoff=backoff)


PASSING: dict[str, Callable[[], Step]] = {
    "refused": lambda: httpx.ConnectError("refused"),
    "slow": lambda: httpx.ReadTimeout("slow"),
    "cut": lambda: httpx.RemoteProtocolError("cut"),
    "unavailable": lambda: problem(503, "unavailable"),
    "bad gateway": lambda: httpx.Response(502, text="<html>bad gateway"),
    "gateway timeout": lambda: httpx.Response(504),
    "rate limited": lambda: problem(429, "rate_limited", **{"Retry-After": "0"}),
    "in progress": lambda: problem(409, "in_progress", **{"Retry-After": "0"}),
}


@pytest.mark.parametrize("make", PASSING.values(), ids=PASSING)
def test_what_may_pass_is_asked_again(make: Callable[[], Step]) -> None:
    script = Script(make(), make(), httpx.Response(200, json=HEALTH))
    assert client_of(script).send(calls.get_health()).status == "ok"
    assert len(script.requests) == 3


@pytest.mark.parametrize("make", PASSING.values(), ids=PASSING)
async def test_an_event_loop_asks_again_as_well(make: Callable[[], Step]) -> None:
    script = Script(make(), httpx.Response(200, json=HEALTH))
    transport = httpx.MockTransport(script)
    async with AsyncClient("https://evolve.test", "evo_k", transport=transport, backoff=QUICK) as client:
        assert (await client.send(calls.get_health())).version == "1"


def test_a_post_is_repeated_under_one_idempotency_key_and_each_has_its_own() -> None:
    script = Script(httpx.ReadError("cut"), problem(503, "unavailable"), problem(409, "conflict"))
    for _ in range(2):
        with pytest.raises(ServiceError):
            client_of(script).send(calls.create_run(RunCreate(problem="toy")))
    keys = [request.headers["Idempotency-Key"] for request in script.requests]
    assert keys[0] == keys[1] == keys[2]
    assert len(set(keys)) == 2
    assert {request.content for request in script.requests} == {b'{"problem":"toy"}'}


@pytest.mark.parametrize("call", [calls.delete_run("run_x"), calls.cancel_run("run_x")], ids=["DELETE", "POST"])
def test_a_delete_of_unknown_outcome_is_not_repeated(call: Call[Any]) -> None:
    script = Script(httpx.ReadError("cut"))
    with pytest.raises(UnreachableError):
        client_of(script).send(call)
    assert len(script.requests) == (1 if call.method == "DELETE" else QUICK.attempts)


LASTING = [
    problem(404, "not_found"),
    problem(429, "quota_exceeded"),
    problem(500, "internal"),
    problem(409, "conflict"),
]


@pytest.mark.parametrize("answer", LASTING, ids=repr)
def test_what_lasts_is_asked_once(answer: httpx.Response) -> None:
    script = Script(answer)
    with pytest.raises(ServiceError):
        client_of(script).send(calls.get_health())
    assert len(script.requests) == 1


def test_a_service_that_asks_for_more_patience_than_there_is_is_not_waited_for() -> None:
    script = Script(problem(503, "unavailable", **{"Retry-After": "3600"}))
    with pytest.raises(UnreachableError, match="one sentence"):
        client_of(script).send(calls.get_health())
    assert len(script.requests) == 1


def test_every_code_has_its_error() -> None:
    assert set(ERRORS) == set(Code)
    assert issubclass(ERRORS[Code.QUOTA_EXCEEDED], QuotaError)


ODD = [
    (problem(418, "of_a_later_version"), UnreachableError),
    (problem(412, "of_a_later_version"), StaleError),
    (problem(422, "of_a_later_version"), UsageError),
    (httpx.Response(403, text="<html>proxy"), RefusedError),
    (httpx.Response(404, text="<html>"), UnreachableError),
    (httpx.Response(400, json=["no", "object"]), UsageError),
    (httpx.Response(308, headers={"Location": "https://thief.test/"}), UnreachableError),
    (httpx.Response(200, text="<html>a captive portal"), UnreachableError),
    (httpx.Response(200, json={"status": "odd"}), UnreachableError),
    (httpx.Response(200, stream=httpx.ByteStream(b"no gzip"), headers={"Content-Encoding": "gzip"}), UnreachableError),
]


@pytest.mark.parametrize(("answer", "kind"), ODD, ids=repr)
def test_what_is_no_answer_of_ours_is_one_error(answer: httpx.Response, kind: type[Exception]) -> None:
    script = Script(answer)
    with pytest.raises(kind) as caught:
        client_of(script, Backoff(attempts=1)).send(calls.get_health())
    assert "\n" not in str(caught.value)
    assert {request.url.host for request in script.requests} == {"evolve.test"}


BAD_ADDRESSES = ["", "evolve.test", "ftp://evolve.test", "http://", "http://[", "https://me:pass@evolve.test",
                 "https://evolve.test/?a=1", "http://evolve.test", "http://10.0.0.1:8000", "http://[::1"]  # fmt: skip


@pytest.mark.parametrize("address", BAD_ADDRESSES)
def test_addresses_that_cannot_be_used_or_would_show_the_key_are_refused(address: str) -> None:
    with pytest.raises(UsageError) as caught:
        Client(address, "evo_k")
    assert "pass" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1", "https://a.test/base"]
)
def test_addresses_that_can_be_used_are_taken(address: str) -> None:
    with Client(address, "evo_k") as client:
        assert client.server == address
    with Client("http://evolve.test", "evo_k", allow_http=True) as client:
        assert client.server == "http://evolve.test"


@pytest.mark.parametrize("key", ["", "two words", "evo_\n", "evo_é"])
def test_keys_that_are_none_are_refused(key: str) -> None:
    with pytest.raises(UsageError):
        Client("https://evolve.test", key)


def test_a_path_below_the_address_is_kept() -> None:
    script = Script(httpx.Response(200, json=HEALTH))
    with Client("https://a.test/base/", "evo_k", transport=httpx.MockTransport(script)) as client:
        client.send(calls.get_health())
    assert script.requests[0].url == "https://a.test/base/healthz"
    assert script.requests[0].headers["Authorization"] == "Bearer evo_k"


def test_no_proxy_of_the_environment_sees_a_key_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.test:3128")
    with Client("http://127.0.0.1:1", "evo_k") as client:
        assert not client._http._mounts


class Broken(httpx.SyncByteStream):
    """A stream that breaks off."""

    def __init__(self, *parts: bytes) -> None:
        self._parts = parts

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts
        raise httpx.ReadError("cut")


def told(sequence: int) -> bytes:
    return f'event: candidate.created\ndata: {{"sequence": {sequence}}}\nid: {sequence}\n\n'.encode()


def test_half_an_event_is_asked_for_again_and_a_whole_one_is_not() -> None:
    script = Script(
        httpx.Response(200, stream=Broken(b"retry: 2000\n\n: ping\n\n", told(1), told(2)[:-1])),
        httpx.ConnectError("refused"),
        httpx.Response(503),
        httpx.Response(200, content=told(2) + told(3)),
        httpx.Response(200, content=b'event: end\ndata: {"state": "succeeded"}\n\n'),
    )
    seen = list(client_of(script).stream("run_x"))
    assert [event["sequence"] for event in seen] == [1, 2, 3]
    assert [request.headers.get("Last-Event-ID") for request in script.requests] == [None, "1", "1", "1", "3"]


def test_a_stream_that_is_refused_ends() -> None:
    with pytest.raises(RefusedError):
        list(client_of(Script(problem(403, "forbidden"))).stream("run_x"))


def following(patience_seconds: float, backoff: Backoff) -> FollowedStream:
    wire = Transport(httpx.Client(base_url="https://evolve.test"), "https://evolve.test", backoff)
    return FollowedStream(wire, "/v1/events", "", [], patience_seconds=patience_seconds)


def test_a_stream_is_not_taken_up_before_the_service_asks_for_it() -> None:
    busy = problem(503, "unavailable", **{"Retry-After": "60"})
    stream = following(61.0, Backoff(max_seconds=20.0))
    assert stream.broken(busy) == 60.0
    with pytest.raises(UnreachableError, match="one sentence"):
        following(59.0, Backoff(max_seconds=20.0)).broken(busy)


def test_waits_of_a_stream_grow_to_those_before_the_last_attempt_and_stay_there() -> None:
    stream = following(1e6, Backoff(attempts=4, first_seconds=1.0, max_seconds=64.0, jitter=0.0))
    assert [stream.broken(httpx.ConnectError("refused")) for _ in range(6)] == [1.0, 2.0, 4.0, 4.0, 4.0, 4.0]


def test_a_stream_of_all_runs_goes_on_behind_its_position() -> None:
    script = Script(
        httpx.Response(200, content=b'event: run.started\ndata: {"run_id": "run_a"}\nid: 5~a.1\n\n'),
        problem(403, "forbidden"),
    )
    stream = client_of(script).stream_all("4~")
    assert next(stream).id == "5~a.1"
    with pytest.raises(RefusedError):
        next(stream)
    assert [request.headers["Last-Event-ID"] for request in script.requests] == ["4~", "5~a.1"]


def test_a_long_answer_that_breaks_off_is_an_error() -> None:
    lines = client_of(Script(httpx.Response(200, stream=Broken(b"one\ntw")))).lines(calls.export_run("run_x"))
    assert next(lines) == "one\n"
    with pytest.raises(UnreachableError):
        next(lines)
