"""Streams and waits: as many as there may be, and no longer than their callers may have them."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from service.api.connection_limits import OpenConnections
from service.errors import StorageAwayError
from tests.api.told import Told, bearer, open_told, served, small_run
from tests.contract.story import RUN
from tests.patience import PATIENCE_SECONDS

EVENTS = f"/v1/runs/{RUN}/events"
STREAM = {"Accept": "text/event-stream"}


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    async with open_told(tmp_path, streams=2, all_streams=3) as opened:
        small_run(opened)
        yield opened


@asynccontextmanager
async def remote(told: Told, url: str, key: str = "") -> AsyncIterator[httpx.AsyncClient]:
    headers = bearer(key or told.key())
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE_SECONDS) as client:
        yield client


@asynccontextmanager
async def following(client: httpx.AsyncClient, path: str = EVENTS) -> AsyncIterator[AsyncIterator[str]]:
    """The lines of a stream that has begun."""
    async with client.stream("GET", path, headers=STREAM) as response:
        lines = response.aiter_lines()
        assert response.status_code == 200
        await anext(lines)
        yield lines


async def refused(client: httpx.AsyncClient, words: str, **headers: str) -> bool:
    answer = await client.get(EVENTS if not headers else f"/v1/runs/{RUN}", headers=headers or STREAM)
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert (answer.status_code, body["code"], int(answer.headers["Retry-After"]) > 0) == (429, "rate_limited", True)
    return words in body["detail"]


async def test_one_key_has_so_many_streams_and_waits_and_no_more(told: Told) -> None:
    async with served(told.app) as url, remote(told, url) as client, remote(told, url) as other:
        async with following(client), AsyncExitStack() as second:
            await second.enter_async_context(following(client, "/v1/events"))
            assert await refused(client, "2 streams and waits of this key")
            assert await refused(client, "2 streams and waits of this key", Prefer="wait=30")
            async with following(other):
                assert await refused(other, "the service has as many")
            assert (await client.get(f"/v1/runs/{RUN}")).status_code == 200
            await second.aclose()
            waited = await until_there_is_room(client)
        assert waited.headers["Preference-Applied"] == "wait=0"
    assert told.app.state.opened._open == {}


async def until_there_is_room(client: httpx.AsyncClient) -> httpx.Response:
    """The answer to a wait, when the server has noticed that a stream was hung up on."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            answer = await client.get(f"/v1/runs/{RUN}", headers={"Prefer": "wait=0"})
            if answer.status_code != 429:
                return answer
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("path", [EVENTS, "/v1/events"])
async def test_a_stream_ends_when_its_key_is_revoked(told: Told, path: str) -> None:
    async with served(told.app) as url, remote(told, url) as owner:
        made = (await owner.post("/v1/api-keys", json={"name": "ci", "scopes": ["runs:read"]})).json()
        async with remote(told, url, made["key"]) as client, following(client, path) as lines:
            began = time.monotonic()
            assert (await owner.delete(f"/v1/api-keys/{made['id']}")).status_code in {200, 204}
            rest = [line async for line in lines]  # which ends as a whole answer does
            assert time.monotonic() - began < 6.0
            assert not any("end" in line for line in rest if line.startswith("event"))
            assert (await client.get(path, headers=STREAM)).status_code == 401


async def test_a_stream_ends_when_its_share_is_closed(told: Told) -> None:
    async with served(told.app) as url, remote(told, url) as owner:
        share = (await owner.post(f"/v1/runs/{RUN}/shares", json={})).json()
        async with remote(told, url, share["token"]) as client, following(client) as lines:
            assert (await owner.delete(f"/v1/runs/{RUN}/shares/{share['id']}")).status_code in {200, 204}
            async with asyncio.timeout(6):
                rest = [line async for line in lines]
        assert "event: end" not in rest


async def test_all_streams_of_a_caller_ask_together_and_a_database_that_is_away_ends_none() -> None:
    asked, opened = 0, OpenConnections(each=64, maximum=64, ask_seconds=0.05)

    async def known() -> bool:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise StorageAwayError("away")
        return asked < 3

    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*(opened.lost("key_1", known) for _ in range(50)))
    assert asked == 3


async def test_a_stream_ends_with_the_server_while_a_silent_database_is_asked_for_its_key() -> None:
    asked, opened = asyncio.Event(), OpenConnections(each=1, maximum=1, ask_seconds=0.01)

    async def known() -> bool:
        asked.set()
        await asyncio.Event().wait()
        return True

    async with asyncio.timeout(PATIENCE_SECONDS):
        stream = asyncio.create_task(opened.lost("key_1", known))
        await asked.wait()
        opened.leaving.set()
        await stream
