"""What the bearer of a share reaches: one run, whatever else its tenant has."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.api.app import door_of, routes_of
from service.api.auth import SESSION_COOKIE, SHARE_COOKIE
from tests.api.told import Told, bearer, open_told, small_run
from tests.contract.story import RUN

OTHER = "run_0190bbbb000000000000000000000002"
SHOWN_TO_SHARES = frozenset({"runs", "annotations", "archives", "batches", "events", "exports", "metrics", "candidates",
                             "proposals"})  # fmt: skip


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    """Two runs of one tenant."""
    async with open_told(tmp_path) as opened:
        small_run(opened)
        small_run(opened, OTHER)
        yield opened


@pytest.fixture
async def bearing(told: Told) -> AsyncIterator[httpx.AsyncClient]:
    """A client with a share of the first run."""
    async with told.client() as owner:
        token = (await owner.post(f"/v1/runs/{RUN}/shares", json={})).json()["token"]
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(told.app), base_url="http://api", headers=bearer(token)
    ) as client:
        yield client


async def test_what_is_the_tenants_and_no_runs_stays_closed(told: Told, bearing: httpx.AsyncClient) -> None:
    async with told.client() as owner:
        hook: dict[str, Any] = {"url": "https://192.0.43.8/hook", "types": ["run.failed"]}
        webhook = (await owner.post("/v1/webhooks", json=hook)).json()["id"]
        problem = (await owner.get("/v1/problems")).json()["items"][0]["id"]
    for path in (
        "/v1/problems",
        f"/v1/problems/{problem}",
        f"/v1/problems/{problem}/bundle",
        "/v1/webhooks",
        f"/v1/webhooks/{webhook}",
        f"/v1/webhooks/{webhook}/deliveries",
        "/v1/usage",
        "/v1/policies",
        "/v1/audit",
    ):
        answer = await bearing.get(path)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), path


async def test_lists_hold_what_is_of_the_shared_run(bearing: httpx.AsyncClient) -> None:
    listed = (await bearing.get("/v1/runs?include=count")).json()
    assert ([run["id"] for run in listed["items"]], listed["count"]) == ([RUN], 1)
    assert OTHER not in (await bearing.get("/v1/events")).text
    for path in (f"/v1/compare?runs={RUN},{OTHER}", f"/v1/runs/{OTHER}/export", f"/v1/runs/{OTHER}/artifacts"):
        assert (await bearing.get(path)).status_code == 404, path


def test_a_new_route_is_closed_to_shares_until_it_says_otherwise() -> None:
    doors = [(route, door) for route in routes_of() if (door := door_of(route)) is not None]
    shared = {str(tag) for route, door in doors if door.shared for tag in route.tags}
    assert shared == SHOWN_TO_SHARES
    assert {method for route, door in doors if door.shared for method in route.methods or ()} <= {"GET", "HEAD"}


class TestAtABrowser:
    """The address of a share leaves its token in a cookie."""

    async def test_the_cookie_reads_the_run_until_the_share_is_revoked(self, told: Told) -> None:
        async with told.client() as owner:
            share = (await owner.post(f"/v1/runs/{RUN}/shares", json={})).json()
            async with browser(told, share["token"]) as guest:
                assert (await guest.get(f"/v1/runs/{RUN}")).status_code == 200
                assert (await guest.get(f"/v1/runs/{OTHER}")).status_code == 404
                await owner.delete(f"/v1/runs/{RUN}/shares/{share['id']}")
                assert (await guest.get(f"/v1/runs/{RUN}")).status_code == 401

    async def test_it_changes_nothing(self, told: Told) -> None:
        async with told.client() as owner:
            token = (await owner.post(f"/v1/runs/{RUN}/shares", json={})).json()["token"]
        async with browser(told, token) as guest:
            for method, path, body in (
                ("POST", f"/v1/runs/{RUN}/cancel", {}),
                ("POST", f"/v1/runs/{RUN}/notes", {"body": "mine"}),
                ("PATCH", f"/v1/runs/{RUN}", {"labels": {}}),
                ("DELETE", f"/v1/runs/{RUN}", None),
            ):
                answer = await guest.request(method, path, json=body)
                assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated"), path

    async def test_a_key_in_the_cookie_is_no_key(self, told: Told) -> None:
        async with browser(told, told.key()) as guest:
            assert (await guest.get(f"/v1/runs/{RUN}")).status_code == 401

    async def test_who_has_a_session_keeps_it(self, told: Told) -> None:
        async with told.client() as owner:
            token = (await owner.post(f"/v1/runs/{RUN}/shares", json={})).json()["token"]
        async with browser(told, token) as person:
            await person.post("/v1/session", json={"key": told.key()})
            assert SESSION_COOKIE in person.cookies
            assert (await person.get(f"/v1/runs/{OTHER}")).status_code == 200


def browser(told: Told, token: str) -> httpx.AsyncClient:
    """A browser that opened the address of a share."""
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(told.app), base_url="http://api", cookies={SHARE_COOKIE: token}
    )
