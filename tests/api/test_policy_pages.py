"""Pages of registered policies: all of them, the lineage of one's versions, and a version."""

import re
from datetime import UTC, datetime

import httpx

from service.dashboard.views.policies import lineage_of
from service.ports import Scope
from service.schemas.policy_registry import PolicyVersion
from tests.api.test_policy_registry import evaluation, walker
from tests.api.told import Told
from tests.api.visiting import visitor

__all__ = ["walker"]  # the fixture


def version(number: int, base: str = "") -> PolicyVersion:
    return PolicyVersion(
        policy="walker",
        version=number,
        name=f"walker@{number}",
        state="candidate",
        base=base,
        bundle_hash="",
        settings={},
        training={},
        card="",
        evaluations=[],
        promotion=None,
        created_by="",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        promoted_at=None,
        archived_at=None,
    )


def test_a_version_stands_below_its_base() -> None:
    versions = [
        version(1),
        version(2, "walker@1"),
        version(3, "walker@1"),
        version(4, "walker@2"),
        version(5, "other@1"),
    ]
    rows = [(row.version.version, row.depth) for row in lineage_of(versions[::-1])]
    assert rows == [(1, 0), (2, 1), (4, 2), (3, 1), (5, 0)]


async def test_pages_show_policies_their_lineage_and_a_version(
    told: Told, owner: httpx.AsyncClient, walker: str
) -> None:
    await owner.post(f"{walker}/versions/2/evaluations", json=evaluation(-0.2))
    async with visitor(told) as client:
        listed = (await client.get("/policies")).text
        page = (await client.get("/policies/walker")).text
        first, second = [(await client.get(f"/policies/walker/{number}")).text for number in (1, 2)]
    assert '<a href="/policies/walker/1">walker@1</a>' in listed
    assert page.index("walker@1</a>") < page.index("walker@2</a>")
    assert "-0.165 [" in page
    assert "maze 99" in second
    assert "best@64" in second
    assert "Promote</button>" in second
    assert "Promote</button>" not in first


async def test_a_version_is_promoted_or_archived_from_its_page(
    told: Told, owner: httpx.AsyncClient, walker: str
) -> None:
    async with visitor(told) as client:
        form = {"csrf": client.cookies["evolve_csrf"]}
        refused = await client.post("/policies/walker/2/promote", data=form)
        assert (refused.status_code, "was not evaluated against walker@1" in refused.text) == (409, True)
        forced = await client.post("/policies/walker/2/promote", data=form | {"force": "a test"})
        assert (forced.status_code, forced.headers["location"]) == (303, "/policies/walker")
        assert (await owner.get(walker)).json()["promoted"] == 2
        assert "by force" in (await client.get("/policies/walker")).text
        assert (await client.post("/policies/walker/1/archive", data=form)).status_code == 303
    assert (await owner.get(f"{walker}/versions/1")).json()["state"] == "archived"


async def test_whoever_only_reads_is_offered_nothing(told: Told, owner: httpx.AsyncClient, walker: str) -> None:
    async with visitor(told, Scope.RUNS_READ) as client:
        page = (await client.get("/policies/walker/2")).text
        missing = await client.get("/policies/absent")
    assert "Promote</button>" not in page
    assert missing.status_code == 404


async def test_without_a_policy_the_page_says_how_to_add_one(told: Told, owner: httpx.AsyncClient) -> None:
    await owner.post("/v1/policies", json={"name": "empty", "description": "<b>\x1b"})
    async with visitor(told) as client:
        empty = (await client.get("/policies/empty")).text
    assert re.search(r"evolve policy add empty FOLDER", empty)
    assert "<b>" not in empty.partition("<h1>")[2].partition("</main>")[0].replace("<b>No", "")
