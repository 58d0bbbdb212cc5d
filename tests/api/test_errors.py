"""Every error is problem+json with a closed code, whatever is sent; nothing is half-written, and no trace is shown."""

import asyncio
import gzip
import json
import re
from collections.abc import AsyncIterator, Iterator, MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from service.api.app import door_of, routes_of
from service.api.auth import queries_of
from service.api.dependencies import ApiDependencies
from service.api.middleware import SECURITY_HEADERS, STRANGERS_BYTES
from service.api.problem_errors import STATUSES, as_fault
from service.errors import StorageAwayError
from service.ports import Scope
from service.schemas.problem_details import MEANINGS, Code, ProblemDetails
from tests.api.conftest import FILES
from tests.api.told import Told, bearer, open_told, served, small_run
from tests.contract.story import RUN

JSON = {"Content-Type": "application/json"}
SMALL_MB = 1


def checked(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The body of an error, which is what errors are."""
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert set(body) == set(ProblemDetails.model_fields)
    assert (body["status"], body["code"], body["type"]) == (status, code, f"/problems/{code}")
    assert body["trace_id"] == answer.headers["X-Request-ID"]
    assert body["detail"]
    assert "Traceback" not in answer.text
    assert 'File "' not in answer.text
    dressed(answer)
    return body


def dressed(answer: httpx.Response) -> None:
    """An answer that no browser misreads."""
    assert {name: answer.headers.get(name) for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert "Cache-Control" in answer.headers


@pytest.fixture
async def remote(told: Told) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a real server."""
    async with (
        served(told.app) as url,
        httpx.AsyncClient(base_url=url, headers=bearer(told.key()), timeout=20) as opened,
    ):
        yield opened


def with_bodies() -> Iterator[tuple[str, APIRoute]]:
    for route in routes_of():
        if route.body_field is not None:
            for method in route.methods or ():
                yield method, route


def address(route: APIRoute) -> str:
    """An address of a route, in which nothing is there."""
    values = dict.fromkeys(route.param_convertors, "absent_0")
    values |= {"tenant": "absent", "number": "1", "bundle_hash": "b" * 64, "code": "internal"}
    return route.path.replace(":path}", "}").format_map(values)


BROKEN = {
    "no UTF-8": b'{"name": "\xff\xfe"}',
    "another encoding": '{"name": "é"}'.encode("utf-16"),
    "cut off": b'{"name": "x"',
    "two values": b"{} {}",
    "NaN": b'{"a": NaN}',
    "infinite": b'{"a": -Infinity}',
    "too large a float": b'{"a": 1e400}',
    "too large a whole number": b'{"a": 1' + b"0" * 400 + b"}",
    "more digits than Python reads": b'{"a": 1' + b"0" * 5000 + b"}",
    "a member twice": b'{"name": "a", "name": "b"}',
    "a member twice, below": b'{"a": [{"b": 1, "\\u0062": 2}]}',
    "nested without end": b"[" * 100_000,
    "nested and closed": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "a raw control character": b'{"a": "\x01"}',
    "a byte order mark": b"\xef\xbb\xbf{}",
}


@pytest.mark.parametrize("broken", BROKEN)
async def test_what_is_no_json_is_refused_by_every_route(owner: httpx.AsyncClient, broken: str) -> None:
    for method, route in with_bodies():
        answer = await owner.request(method, address(route), content=BROKEN[broken], headers=JSON)
        assert "JSON" in checked(answer, 400, "invalid_request")["detail"], route.path


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application",
        "é;;=",
        "application/jsonp",
    ],
)
async def test_what_is_said_to_be_no_json_is_refused_by_every_route(owner: httpx.AsyncClient, kind: str) -> None:
    for method, route in with_bodies():
        headers = [(b"Content-Type", kind.encode())] if kind else []
        answer = await owner.request(method, address(route), content=b"{}", headers=headers)
        checked(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "application/merge-patch+json", "APPLICATION/JSON"]
)
async def test_json_goes_by_several_names(owner: httpx.AsyncClient, kind: str) -> None:
    body = b'{"name": "v", "settings": {}}'
    assert (await owner.post("/v1/saved-filters", content=body, headers={"Content-Type": kind})).status_code == 201


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"3", b'"x"', b'{"no such member": 1}'])
async def test_bodies_of_another_shape_are_refused_by_every_route(owner: httpx.AsyncClient, body: bytes) -> None:
    lenient = {"create_share", "leave_worker", "update_webhook"}  # which need no member
    for method, route in with_bodies():
        answer = await owner.request(method, address(route), content=body, headers=JSON)
        if route.operation_id in lenient and body == b"{}":
            continue
        found = checked(answer, 422, "invalid_request")
        assert found["errors"], route.path


async def test_texts_that_cannot_be_kept_are_refused(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    for escape in (r"\u0000", r"\ud800", r"\udfff\ud800"):
        for path, body in (
            (f"/v1/runs/{RUN}/notes", '{"body": "%s"}'),
            ("/v1/saved-filters", '{"name": "%s", "settings": {}}'),
            ("/v1/api-keys", '{"name": "%s", "scopes": ["runs:read"]}'),
            ("/v1/runs", '{"problem": "%s"}'),
            ("/v1/runs", '{"problem": "p", "labels": {"a": "%s"}}'),
            ("/v1/problems", '{"files": {"%s": "x"}}'),
            ("/v1/problems", '{"files": {"a.py": "%s"}}'),
            ("/v1/batches", '{"name": "%s", "runs": [{"problem": "p"}]}'),
        ):
            content = (body % escape).encode()
            checked(await owner.post(path, content=content, headers=JSON), 422, "invalid_request")
    for body in (r'{"name": "v", "settings": {"a": ["\ud800"]}}', r'{"name": "v", "settings": {"\udc00": 1}}'):
        checked(await owner.post("/v1/saved-filters", content=body.encode(), headers=JSON), 422, "invalid_request")
    assert (await owner.get("/v1/saved-filters")).json()["items"] == []
    assert (await owner.get(f"/v1/runs/{RUN}/notes")).json()["items"] == []


async def test_settings_come_back_as_they_were_sent(owner: httpx.AsyncClient) -> None:
    settings = {"a": [1, 2.5, None, True, {"é": "\x00\n"}], "big": 10**200, "": "x"}
    made = (await owner.post("/v1/saved-filters", json={"name": "v", "settings": settings})).json()
    listed = (await owner.get("/v1/saved-filters")).json()["items"]
    assert listed == [made]
    assert made["settings"] == settings


async def test_settings_are_neither_deep_nor_large(owner: httpx.AsyncClient) -> None:
    deep: Any = {}
    for _ in range(70):
        deep = {"a": deep}
    for settings in (deep, {"a": "x" * 20_001}):
        answer = await owner.post("/v1/saved-filters", json={"name": "v", "settings": settings})
        assert checked(answer, 422, "invalid_request")["errors"][0]["pointer"] == "/settings"


@pytest.mark.parametrize(
    ("policies", "pointer", "detail"),
    [
        ([3], "/sweep/policies/0", "must be the name of a policy, a description of one, or a list of these"),
        (["a", ["b", 3]], "/sweep/policies/1/1", "must be the name of a policy, or a description of one"),
        ([[" "]], "/sweep/policies/0/0", "must not be blank"),
        ([[]], "/sweep/policies/0", "List should have at least 1 item after validation, not 0"),
    ],
)
async def test_complaints_of_one_of_several_forms_point_at_what_was_sent(
    owner: httpx.AsyncClient, policies: list[Any], pointer: str, detail: str
) -> None:
    sent = {"name": "b", "sweep": {"problem": "p", "seeds": [1], "policies": policies}}
    (fault,) = checked(await owner.post("/v1/batches", json=sent), 422, "invalid_request")["errors"]
    assert (fault["pointer"], fault["detail"]) == (pointer, detail)


async def test_complaints_point_at_what_is_missing(owner: httpx.AsyncClient) -> None:
    faults = checked(await owner.post("/v1/batches", json={"runs": [{}, {"zz": 1}]}), 422, "invalid_request")["errors"]
    assert [fault["pointer"] for fault in faults] == ["/name", "/runs/0/problem", "/runs/1/problem", "/runs/1/zz"]


PATHS = [
    "/v1/runs/%FF%FE",
    "/v1/runs/%00",
    "/v1/runs/a%0Ab",
    "/v1/runs/%F0%9F%98%80",
    "/v1/runs/..%2F..",
    "/v1/runs/" + "a" * 3000,
    "/v1/problems/%00",
    "/v1/problems/%FF",
    "/v1/candidates/%00/source",
    "/v1/webhooks/%ED%A0%80",
    "/problems/%FF",
    "/problems/%00",
    "/v1/tenants/%00/quotas",
    "/v1/batches/%20",
    "/v1/runs/%",
]


@pytest.mark.parametrize("path", PATHS)
async def test_hostile_paths_lead_nowhere(remote: httpx.AsyncClient, path: str) -> None:
    answer = await remote.get(path)
    assert answer.status_code in {404, 422}, answer.text
    checked(answer, answer.status_code, "not_found" if answer.status_code == 404 else "invalid_request")


QUERIES = [
    "limit=%FF",
    "limit=1&limit=0",
    "limit=" + "9" * 5000,
    "cursor=%FF%FE",
    "cursor=%00",
    "state=%00",
    "labels=%00%3D",
    "problem=%00",
    "include=%FF",
    "limit=1e3",
    "limit=0x10",
    "limit=NaN",
    "limit=null",
    "stat=queued",
    "Limit=1",
    "=",
    "%00=1",
]


@pytest.mark.parametrize("query", QUERIES)
async def test_hostile_queries_are_refused(remote: httpx.AsyncClient, query: str) -> None:
    answer = await remote.get(f"/v1/runs?{query}")
    code = "invalid_cursor" if answer.status_code == 400 else "invalid_request"
    assert answer.status_code in {400, 422}
    checked(answer, answer.status_code, code)


@pytest.mark.parametrize(
    ("address", "pointer", "detail"),
    [
        (
            "runs?created_after=abc",
            "created_after",
            "must be a time as RFC 3339 writes it, such as 2026-01-31T12:00:00Z",
        ),
        (
            "runs?state=failed,zzz",
            "state",
            "'zzz' is not one of queued, running, pausing, paused, cancelling, cancelled, succeeded, failed",
        ),
        (
            "runs?labels=nonsense",
            "labels",
            "'nonsense' has the wrong form (only with these labels: key=value,key=value)",
        ),
        ("runs?problem=%00", "problem", "must not hold NUL characters"),
        ("runs/a%20b", "run_id", "'a b' has the wrong form (id of a run, or a beginning that no other run's has)"),
        (
            f"runs/{RUN}/candidates?status=zzz",
            "status",
            "'zzz' is not one of pending, evaluating, evaluated, duplicate, rejected",
        ),
        (f"runs/{RUN}/candidates?island=x", "island", "must be a whole number"),
        (
            f"runs/{RUN}/events?kinds=run.started,run.stoped",
            "kinds",
            "'run.stoped' is not one of the 41 possible values, such as run.started, run.paused, run.resumed",
        ),
    ],
)
async def test_a_parameter_is_refused_in_one_sentence(
    owner: httpx.AsyncClient, address: str, pointer: str, detail: str
) -> None:
    body = checked(await owner.get(f"/v1/{address}"), 422, "invalid_request")
    assert body["detail"] == f"{pointer}: {detail}"
    assert [(fault["pointer"], fault["detail"]) for fault in body["errors"]] == [(pointer, detail)]


async def test_every_route_refuses_a_repeated_parameter(owner: httpx.AsyncClient) -> None:
    for route in routes_of():
        if door_of(route) is None:
            continue
        method = min(set(route.methods or ()) - {"HEAD"})
        path = re.sub(r"{[^}]*}", "run_absent", route.path)
        for name in queries_of(route):
            answer = await owner.request(method, path, params=[(name, "1"), (name, "2")])
            body = checked(answer, 422, "invalid_request")
            assert body["detail"] == f"the parameter '{name}' is given 2 times: give it once"
            assert (body["errors"][0]["pointer"], body["errors"][0]["code"]) == (name, "repeated")


@pytest.mark.parametrize(
    "headers",
    [
        {"Idempotency-Key": "x" * 256},
        {"Idempotency-Key": "a\tb"},
        {"Idempotency-Key": "é"},
    ],
)
async def test_hostile_headers_are_refused(remote: httpx.AsyncClient, headers: dict[str, str]) -> None:
    body = {"name": "v", "settings": {}}
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    checked(await remote.post("/v1/saved-filters", json=body, headers=encoded), 422, "invalid_request")
    assert (await remote.get("/v1/saved-filters")).json()["items"] == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": 'evolve_session=x; a="\x7f; expires=1; =; é'},
        {"Cookie": "evolve_session=" + "A" * 3000},
        {"Prefer": "wait=-1, wait=x, wait=99999"},
        {"If-None-Match": 'W/"x", , "'},
        {"Host": "[::1"},
        {"Host": "a b"},
        {"X-Request-ID": "<script>alert(1)</script>"},
        {"traceparent": "00-zz-zz-00"},
        {"Accept": "\x7f/é"},
        {"Range": "bytes=9-1"},
    ],
)
async def test_hostile_headers_that_say_nothing_are_passed_over(
    told: Told, owner: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    small_run(told)
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    answer = await owner.get(f"/v1/runs/{RUN}", headers=encoded)
    assert answer.status_code == 200, answer.text
    dressed(answer)
    checked(await owner.get("/v1/runs/absent_0", headers=encoded), 404, "not_found")


async def test_a_header_beyond_all_bounds_is_refused_by_the_server(remote: httpx.AsyncClient) -> None:
    reader, writer = await asyncio.open_connection(remote.base_url.host, remote.base_url.port)
    writer.write(b"GET /v1/runs HTTP/1.1\r\nHost: api\r\nX-Long: " + b"x" * 20_000)
    assert (await reader.readline()).startswith(b"HTTP/1.1 400 ")
    writer.close()
    assert (await remote.get("/v1/runs")).status_code == 200


async def test_there_is_nothing_at_other_addresses(owner: httpx.AsyncClient) -> None:
    for path in (
        "/v1",
        "/v2/runs",
        "/v1/runs/",
        "/V1/runs",
        "//v1/runs",
        "/v1//runs",
        "/docs",
        "/redoc",
        "/.env",
        "/v1/runs/x/y/z",
    ):
        for method in ("GET", "POST", "DELETE", "HEAD", "OPTIONS", "PROPFIND"):
            answer = await owner.request(method, path)
            assert answer.status_code == 404, (method, path)
            if method != "HEAD":
                checked(answer, 404, "not_found")


async def test_other_methods_are_answered_with_those_that_there_are(owner: httpx.AsyncClient) -> None:
    known: dict[str, set[str]] = {}
    for route in routes_of():
        known.setdefault(address(route), {"OPTIONS"}).update(route.methods or ())
    for path, methods in known.items():
        methods |= {"HEAD"} if "GET" in methods else set()
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW"} - methods:
            if path == "/v1/problems/check" and method in {"GET", "HEAD", "DELETE"}:
                continue  # which are those of a problem of this name
            if path == "/v1/runs/check" and method in {"GET", "HEAD", "PATCH", "DELETE"}:
                continue  # which are those of a run whose id begins so
            answer = await owner.request(method, path)
            assert answer.status_code == 405, (method, path)
            assert set(answer.headers["Allow"].split(", ")) == methods, (method, path)
            dressed(answer)
            if method != "HEAD":
                checked(answer, 405, "method_not_allowed")


@pytest.fixture
async def small(tmp_path: Path) -> AsyncIterator[Told]:
    """An API that takes bodies of a megabyte."""
    async with open_told(tmp_path, body_limit_mb=SMALL_MB) as opened:
        yield opened


async def chunks(count: int) -> AsyncIterator[bytes]:
    yield b'{"name": "v", "settings": {}, "more": "'
    for _ in range(count):
        yield b"x" * 65536


async def test_a_body_beyond_the_limit_is_refused_however_it_comes(small: Told) -> None:
    async with served(small.app) as url, httpx.AsyncClient(base_url=url, headers=bearer(small.key())) as client:
        told_length = await client.post("/v1/saved-filters", content=b"x" * (SMALL_MB * 2**20 + 1), headers=JSON)
        checked(told_length, 413, "too_large")
        chunked = await client.post("/v1/saved-filters", content=chunks(32), headers=JSON)
        assert "Content-Length" not in chunked.request.headers
        checked(chunked, 413, "too_large")
        assert (await client.get("/v1/saved-filters")).json()["items"] == []


async def test_a_body_at_the_limit_is_read(small: Told) -> None:
    frame = '{"name": "v", "settings": {}, "more": "%s"}'
    body = (frame % ("x" * (SMALL_MB * 2**20 - len(frame) + 2))).encode()
    assert len(body) == SMALL_MB * 2**20
    async with small.client() as client:
        checked(await client.post("/v1/saved-filters", content=body, headers=JSON), 422, "invalid_request")


@pytest.mark.parametrize("chunked", [False, True])
async def test_who_is_not_known_may_send_little(told: Told, owner: httpx.AsyncClient, chunked: bool) -> None:
    small_run(told)
    share = (await owner.post(f"/v1/runs/{RUN}/shares", json={})).json()["token"]
    body = b'{"key": "' + b"x" * STRANGERS_BYTES + b'"}'

    async def pieces() -> AsyncIterator[bytes]:
        yield body

    async def send(client: httpx.AsyncClient, **headers: str) -> tuple[int, str]:
        kind = {"Content-Type": "application/json"}
        answer = await client.post("/v1/session", content=pieces() if chunked else body, headers=kind | headers)
        return answer.status_code, answer.json()["code"]

    async with httpx.AsyncClient(transport=httpx.ASGITransport(told.app), base_url="http://api") as client:
        for shown in ({}, bearer(share), bearer("evo_" + "0" * 43), {"Cookie": "evolve_session=forged"}):
            assert await send(client, **shown) == (413, "too_large")
        await client.post("/v1/session", json={"key": told.key()})
        assert await send(client) == (422, "invalid_request")
        await client.delete("/v1/session")
    assert await send(owner) == (422, "invalid_request")


@pytest.mark.parametrize("length", ["9" * 30, "9" * 5000])
async def test_a_length_beyond_all_bounds_is_too_large(small: Told, length: str) -> None:
    async with small.client() as client:
        answer = await client.post("/v1/saved-filters", content=b"{}", headers=JSON | {"Content-Length": length})
        checked(answer, 413, "too_large")


async def test_what_nobody_expected_is_told_without_its_trace(
    tmp_path: Path, logs: list[MutableMapping[str, Any]]
) -> None:
    def fail(*_: object) -> list[Any]:
        raise ZeroDivisionError("the secret is 42")

    def change(parts: ApiDependencies) -> ApiDependencies:
        store = type("Failing", (), {"batches": staticmethod(fail)})()
        return replace(parts, batches=store)

    async with open_told(tmp_path, change) as told, told.client() as client:
        body = checked(await client.get("/v1/batches"), 500, "internal")
        assert "secret" not in json.dumps(body)
        assert (await client.get("/v1/runs")).status_code == 200
    failed, *others = [entry for entry in logs if entry["event"] == "request.failed"]
    assert (failed["request_id"], str(failed["exc_info"]), others) == (body["trace_id"], "the secret is 42", [])


async def test_a_database_that_is_away_is_worth_another_try(tmp_path: Path) -> None:
    def fail(*_: object) -> list[Any]:
        raise StorageAwayError("the database does not answer")

    async with (
        open_told(
            tmp_path, lambda parts: replace(parts, batches=type("Away", (), {"batches": staticmethod(fail)})())
        ) as told,
        told.client() as client,
    ):
        answer = await client.get("/v1/batches")
    checked(answer, 503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0


def test_every_code_is_raised_somewhere_and_explained() -> None:
    assert set(MEANINGS) == set(Code)
    room = Path(__file__).parents[2] / "service" / "api"
    texts = [path.read_text() for path in room.rglob("*.py") if path.name != "system.py"]
    assert not [code for code in Code if not any(f"Code.{code.name}" in text for text in texts)]


def test_the_first_class_that_an_error_belongs_to_decides() -> None:
    reached = [next(kind for kind, *_ in STATUSES if issubclass(error, kind)) for error, *_ in STATUSES]
    assert reached == [error for error, *_ in STATUSES]
    assert (as_fault(KeyError("x")).status, as_fault(KeyError("x")).code) == (500, Code.INTERNAL)


async def test_every_code_has_its_page(owner: httpx.AsyncClient) -> None:
    for code in Code:
        page = await owner.get(f"/problems/{code}")
        assert page.json() == {"code": code, "meaning": MEANINGS[code]}
    checked(await owner.get("/problems/absent"), 404, "not_found")


async def test_a_request_is_found_again_by_its_id(owner: httpx.AsyncClient) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    for headers, shown in (
        ({"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}, trace),
        ({"X-Request-ID": "my-request-0001"}, "my-request-0001"),
        ({"X-Request-ID": "my-request-0001", "traceparent": f"00-{trace}-00f067aa0ba902b7-01"}, trace),
    ):
        assert (await owner.get("/v1/runs", headers=headers)).headers["X-Request-ID"] == shown
    for headers in ({"X-Request-ID": "short"}, {"X-Request-ID": "a b" * 9}, {"traceparent": f"00-{'0' * 32}-1-01"}):
        assert (await owner.get("/v1/runs", headers=headers)).headers["X-Request-ID"] not in headers.values()


async def test_large_answers_are_compressed_for_who_takes_it(told: Told) -> None:
    small_run(told)
    async with told.client(Scope.RUNS_READ) as client:
        plain = await client.get(f"/v1/runs/{RUN}/candidates", headers={"Accept-Encoding": "identity"})
        async with client.stream("GET", f"/v1/runs/{RUN}/candidates", headers={"Accept-Encoding": "gzip"}) as packed:
            assert packed.headers["Content-Encoding"] == "gzip"
            assert "Accept-Encoding" in packed.headers["Vary"]
            raw = b"".join([part async for part in packed.aiter_raw()])
    assert "Content-Encoding" not in plain.headers
    assert gzip.decompress(raw) == plain.content


async def test_every_answer_is_dressed(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    for path in ("/healthz", "/readyz", "/openapi.json", "/v1/runs", f"/v1/runs/{RUN}", f"/v1/runs/{RUN}/export"):
        answer = await owner.get(path)
        assert answer.status_code == 200
        dressed(answer)
    dressed(await owner.post("/v1/problems", json={"files": FILES}))


def test_every_route_with_a_body_reads_strict_json() -> None:
    assert {type(route).__name__ for _, route in with_bodies()} == {"ApiRoute"}
