"""Pages of batches: all of them, and one with its groups, runs and settings."""

import re

import httpx

from service.ports import Scope
from tests.api.conftest import FILES
from tests.api.test_batches import named, play, runs_of, swept
from tests.api.told import Told
from tests.api.visiting import visitor

MINIMISED = {"problem.toml": FILES["problem.toml"].replace('"gain"\n', '"gain"\ndirection = "minimize"\n')}


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


async def test_groups_show_a_minimised_score_as_it_is(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    await named(owner, name="p", files=MINIMISED)
    batch = await swept(owner)
    for run, best in zip(await runs_of(owner, batch), (4.0, 2.0), strict=True):
        play(told, run["id"], [-8.0, -best], end=True)
    async with visitor(told) as client:
        page = (await client.get(f"/batches/{batch['id']}")).text
    groups = page.split("</table>", maxsplit=1)[0]
    assert "A smaller score is better." in groups
    assert "Best score" in groups
    assert '<td class="num">2</td><td class="num">3</td>' in groups
    assert '<td class="num">2.5 to 3.5</td>' in groups


async def test_groups_of_different_directions_name_theirs(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    await named(owner, name="other", files=MINIMISED)
    batch = await swept(owner, problem=None, problems=["p", "other"], seeds=[1])
    async with visitor(told) as client:
        page = (await client.get(f"/batches/{batch['id']}")).text
    assert "Their problems have different directions." in page
    assert "<td>other@1 (smaller is better)</td>" in page
    assert "<td>p@1 (larger is better)</td>" in page
