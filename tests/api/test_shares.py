"""What the bearer of a share reaches: one run, whatever else its tenant has."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.api.app import door_of, routes_of
from tests.api.told import Told, bearer, open_told, small_run
from tests.contract.story import RUN

OTHER = "run_0190bbbb000000000000000000000002"
SHOWN_TO_SHARES = frozenset({"runs", "annotations", "archives", "batches", "events", "exports", "metrics", "programs",
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
