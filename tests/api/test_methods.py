"""HEAD, OPTIONS, bodies with a coding, and pages of other origins."""

import asyncio
import gzip
import json
from pathlib import Path

import httpx
import pytest

from tests.api.told import Told, open_told, small_run
from tests.contract.story import RUN
from tests.patience import PATIENCE_SECONDS


@pytest.mark.parametrize("path", ["/v1/runs", f"/v1/runs/{RUN}", "/healthz", "/v1/runs/none"])
async def test_head_answers_as_get_does_without_a_body(told: Told, owner: httpx.AsyncClient, path: str) -> None:
    small_run(told)
    get, head = await owner.get(path), await owner.head(path)
    assert (head.status_code, head.content) == (get.status_code, b"")
    varying = {"x-request-id", "ratelimit-remaining", "ratelimit-reset"}
    if get.status_code < 400:
        assert {k: v for k, v in head.headers.items() if k not in varying} == {
            k: v for k, v in get.headers.items() if k not in varying
        }
    if "etag" in get.headers:
        known = await owner.head(path, headers={"If-None-Match": get.headers["etag"]})
        assert known.status_code == 304


async def test_head_of_a_stream_ends(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    async with asyncio.timeout(PATIENCE_SECONDS):
        answer = await owner.head(f"/v1/runs/{RUN}/events", headers={"Accept": "text/event-stream"})
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["Content-Type"].startswith("text/event-stream")


async def test_options_lists_the_methods_of_an_address(owner: httpx.AsyncClient) -> None:
    answer = await owner.options("/v1/runs")
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["Allow"] == "GET, HEAD, OPTIONS, POST"
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert (await owner.options("/v1/nothing")).status_code == 404


async def test_a_body_with_a_coding_is_refused_by_its_name(owner: httpx.AsyncClient) -> None:
    body = gzip.compress(json.dumps({"problem": "p"}).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = await owner.post("/v1/runs", content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert "Content-Encoding: gzip" in answer.json()["detail"]
    assert answer.headers["Accept-Encoding"] == "identity"


async def test_pages_of_an_origin_that_is_named_may_call(tmp_path: Path) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    async with open_told(tmp_path, cors_origins=["https://lab.example"]) as told, told.client() as client:
        for origin, allowed in (("https://lab.example", "https://lab.example"), ("https://evil.example", None)):
            before = await client.options("/v1/runs", headers={"Origin": origin, **asked})
            answer = await client.get("/v1/runs", headers={"Origin": origin})
            for one in (before, answer):
                assert one.headers.get("Access-Control-Allow-Origin") == allowed
                assert "Access-Control-Allow-Credentials" not in one.headers
            assert answer.status_code == 200


@pytest.mark.parametrize("origin", ["lab.example", "https://lab.example/page", "null", "ftp://lab.example"])
async def test_an_origin_that_is_none_is_refused(tmp_path: Path, origin: str) -> None:
    with pytest.raises(ValueError, match="is not an origin"):
        async with open_told(tmp_path, cors_origins=[origin]):
            pass
