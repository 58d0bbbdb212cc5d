"""Pages of batches: all of them, and one with its groups, runs and settings."""

import re

import httpx

from service.ports import Scope
from tests.api.test_batches import swept
from tests.api.told import Told
from tests.api.visiting import visitor


async def test_a_batch_is_listed_and_shows_groups_settings_and_runs(
    told: Told, owner: httpx.AsyncClient, problem: str
) -> None:
    batch = await swept(owner, strategies=["islands", "best_of_n"])
    async with visitor(told) as client:
        listed = (await client.get("/batches")).text
        page = (await client.get(f"/batches/{batch['id']}")).text
    assert f'<a href="/batches/{batch["id"]}">b</a>' in listed
    assert "0 of 4" in listed
    assert page.count('<th scope="row"><a href="/runs/') == 4
    assert "<code>strategy</code>" in page
    assert "<code>seed</code>" not in page
    assert len(re.findall(r"<td>best_of_n</td>", page)) == 2
    assert "Compare the runs" in page


async def test_all_runs_of_a_batch_are_steered_from_its_page(
    told: Told, owner: httpx.AsyncClient, problem: str
) -> None:
    batch = await swept(owner)
    async with visitor(told) as client:
        form = {"csrf": client.cookies["evolve_csrf"]}
        answer = await client.post(f"/batches/{batch['id']}/pause", data=form)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/batches/{batch['id']}")
        wanted = (await owner.get("/v1/runs", params={"batch_id": batch["id"]})).json()["items"]
        assert [run["desired_state"] for run in wanted] == ["paused", "paused"]
        assert (await client.post(f"/batches/{batch['id']}/burn", data=form)).status_code == 404
    async with visitor(told, Scope.RUNS_READ) as client:
        page = (await client.get(f"/batches/{batch['id']}")).text
    assert "Pause all" not in page


async def test_without_a_batch_the_page_says_how_to_start_one(told: Told) -> None:
    async with visitor(told) as client:
        page = (await client.get("/batches")).text
        assert (await client.get("/batches/bat_none")).status_code == 404
    assert "evolve batch sweep.toml" in page
