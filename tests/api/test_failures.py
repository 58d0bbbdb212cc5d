"""Failures of a run over the API and on its page: grouped by reason, for those who may read programs."""

import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import httpx
import pytest

from evolve.identity import proposal_id
from service.ports import Scope
from tests.api.told import Told, open_told, small_run
from tests.api.visiting import visitor
from tests.contract.story import RUN, Story

PATH = f"/v1/runs/{RUN}/failures"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    async with open_told(tmp_path) as opened:
        yield opened


@pytest.fixture
def story(told: Told) -> Story:
    """Three evaluations fail for one reason, and one for another."""
    story = small_run(told)
    reasons = ["the radius 3 is too large", "the radius 4.5 is too large", "the radius 5 is too large", HOSTILE]
    for number, reason in enumerate(reasons, start=10):
        events = [story.propose(number, story.id(0)), story.create(number)]
        told.append([*events, story.evaluate(story.id(number), None, reason=reason, seconds=2.0)])
    return story


@pytest.fixture
async def client(told: Told) -> AsyncIterator[httpx.AsyncClient]:
    async with told.client() as opened:
        yield opened


async def test_failures_are_grouped_by_what_their_reasons_share(client: httpx.AsyncClient, story: Story) -> None:
    found = (await client.get(PATH)).json()
    group = next(one for one in found["items"] if one["outcome"] == "timeout" and one["seconds"] == 6.0)
    assert (group["reason"], group["count"]) == ("the radius 3 is too large", 3)
    assert group["seconds_share"] == pytest.approx(6 / found["seconds"] * found["seconds_share"])
    assert HOSTILE in {group["reason"] for group in found["items"]}
    assert found["count"] == sum(group["count"] for group in found["items"])
    assert found["omitted"] == 0
    assert found["evaluation_seconds"] == pytest.approx(found["seconds"] / found["seconds_share"])


async def test_the_candidates_of_a_group_are_listed_by_its_reason(
    told: Told, client: httpx.AsyncClient, story: Story
) -> None:
    path = f"/v1/runs/{RUN}/candidates"
    for reason, numbers in (("the radius 99.5 is too large", [10, 11, 12]), (HOSTILE, [13]), ("the radius", [])):
        found = (await client.get(path, params={"reason": reason, "include": "count"})).json()
        assert [one["proposal_number"] for one in found["items"]] == numbers
        assert found["count"] == len(numbers)
    by_page = {"reason": "the radius 3 is too large", "limit": "2"}
    first = (await client.get(path, params=by_page)).json()
    second = (await client.get(path, params={**by_page, "cursor": first["next_cursor"]})).json()
    assert [one["proposal_number"] for one in first["items"] + second["items"]] == [10, 11, 12]
    async with told.client(Scope.RUNS_READ) as reader:
        assert (await reader.get(path, params={"reason": "x"})).status_code == 403


async def test_each_group_on_the_page_leads_to_its_members(told: Told, story: Story) -> None:
    async with visitor(told) as visiting:
        page = (await visiting.get(f"/runs/{RUN}")).text
        section = page.split('id="failures-title"')[1].split("</table>")[0]
        links = [unescape(one) for one in re.findall(r'<th scope="row"><a href="([^"]+)"', section)]
        counts = [int(one) for one in re.findall(r'</th>\s*<td class="num">(\d+)</td>', section)]
        assert links
        for link, count in zip(links, counts, strict=True):
            listed = (await visiting.get(link)).text
            if "/candidates?" in link:
                assert listed.count('name="id" value="cnd_') == count
            else:
                assert 'aria-label="Proposals"' in listed


async def test_failures_that_were_seen_are_not_grouped_again(client: httpx.AsyncClient, story: Story) -> None:
    tag = (await client.get(PATH)).headers["ETag"]
    assert (await client.get(PATH, headers={"If-None-Match": tag})).status_code == 304


async def test_reasons_are_for_those_who_may_read_programs(told: Told, story: Story) -> None:
    async with told.client(Scope.RUNS_READ) as reader:
        assert (await reader.get(PATH)).status_code == 403
    async with told.client(tenant="other") as foreign:
        assert (await foreign.get(PATH)).status_code == 404


async def test_a_proposal_is_read_by_its_id(told: Told, client: httpx.AsyncClient, story: Story) -> None:
    whole = proposal_id(RUN, 10)
    found = (await client.get(f"/v1/proposals/{whole}")).json()
    assert found == (await client.get(f"/v1/runs/{RUN}/proposals/10")).json()
    assert found["id"] == whole
    assert (await client.get("/v1/proposals/prp_0123456789abcdef")).status_code == 404
    async with told.client(tenant="other") as foreign:
        assert (await foreign.get(f"/v1/proposals/{whole}")).status_code == 404
