"""Votes over the API: counted by a rule, for those who may read programs of the run and for nobody else."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from service.ports import Scope
from tests.api.told import Told, bearer, open_told, small_run
from tests.api.visiting import visitor
from tests.contract.story import RUN, Story

PATH = f"/v1/runs/{RUN}/votes"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    async with open_told(tmp_path) as opened:
        yield opened


@pytest.fixture
def story(told: Told) -> Story:
    """Three candidates say a, the fittest says something else, and two of a small run say nothing."""
    story = small_run(told)
    for number, (answer, fitness) in enumerate((("a", 1.0), ("a", 2.0), (HOSTILE, 9.0), ("a", 3.0)), start=10):
        events = [story.propose(number, story.id(0)), story.create(number)]
        told.append([*events, story.evaluate(story.id(number), fitness, answer=answer)])
    return story


@pytest.fixture
async def client(told: Told) -> AsyncIterator[httpx.AsyncClient]:
    async with told.client() as opened:
        yield opened


async def test_votes_are_counted_and_the_rule_decides(client: httpx.AsyncClient, story: Story) -> None:
    found = (await client.get(PATH)).json()
    assert (found["rule"], found["votes"], found["answers"], found["omitted"]) == ("majority", 4, 2, 0)
    assert found["winner"] == found["items"][0] == {
        "answer": "a",
        "votes": 3,
        "share": 0.75,
        "weight": pytest.approx(0 + 1 / 8 + 2 / 8),
        "best_fitness": 3.0,
        "best_candidate_id": story.id(13),
    }  # fmt: skip
    assert found["confidence"] == pytest.approx(26 / 32)  # 1 - (C(5, 0) + C(5, 1)) / 2^5
    for query in ("rule=weighted", "rule=best_of_majority&min_share=0.25"):
        other = (await client.get(f"{PATH}?{query}")).json()
        assert (other["winner"]["answer"], other["confidence"]) == (HOSTILE, None)
    strict = (await client.get(PATH, params={"rule": "best_of_majority", "min_share": 0.8})).json()
    assert (strict["winner"], len(strict["items"])) == (None, 2)


@pytest.mark.parametrize("query", [{"rule": "plurality"}, {"min_share": 1.5}, {"min_share": "nan"}, {"share": 1}])
async def test_what_is_no_rule_or_share_is_refused(
    client: httpx.AsyncClient, story: Story, query: dict[str, str | float]
) -> None:
    assert (await client.get(PATH, params=query)).status_code == 422


async def test_a_run_without_answers_has_no_votes(told: Told, client: httpx.AsyncClient) -> None:
    small_run(told)
    found = (await client.get(PATH)).json()
    assert (found["votes"], found["answers"], found["winner"], found["items"]) == (0, 0, None, [])


async def test_votes_that_were_seen_are_not_counted_again(client: httpx.AsyncClient, story: Story, told: Told) -> None:
    tag = (await client.get(PATH)).headers["ETag"]
    assert (await client.get(PATH, headers={"If-None-Match": tag})).status_code == 304
    told.append([story.propose(20, story.id(0)), story.create(20)])
    assert (await client.get(PATH, headers={"If-None-Match": tag})).status_code == 200


async def test_answers_are_for_those_who_may_read_programs(told: Told, client: httpx.AsyncClient, story: Story) -> None:
    program = f"/v1/candidates/{story.id(10)}"
    assert (await client.get(program)).json()["answer"] == "a"
    assert (await client.get(f"{program}/evaluations")).json()["items"][0]["answer"] == "a"
    async with told.client(Scope.RUNS_READ) as reader:
        assert (await reader.get(PATH)).status_code == 403
        assert (await reader.get(program)).json()["answer"] is None
        assert (await reader.get(f"{program}/evaluations")).json()["items"][0]["answer"] is None


async def test_a_share_shows_the_votes_of_its_run(told: Told, client: httpx.AsyncClient, story: Story) -> None:
    token = (await client.post(f"/v1/runs/{RUN}/shares", json={})).json()["token"]
    shown = httpx.AsyncClient(transport=httpx.ASGITransport(told.app), base_url="http://api", headers=bearer(token))
    async with shown as bearing:
        assert (await bearing.get(PATH)).json()["votes"] == 4


async def test_the_votes_of_another_tenant_are_not_there(told: Told, story: Story) -> None:
    async with told.client(tenant="other") as foreign:
        assert (await foreign.get(PATH)).status_code == 404


async def test_the_page_shows_the_best_of_an_answer_in_the_direction_of_the_objective(told: Told) -> None:
    story = small_run(told, objectives=[{"name": "sum_radii", "direction": "minimize"}])
    told.append([story.propose(9, story.id(0)), story.create(9), story.evaluate(story.id(9), -0.125, answer="a")])
    async with visitor(told) as client:
        page = (await client.get(f"/runs/{RUN}/metrics")).text
    answers = page[page.index('<section id="answers">') :]
    assert "Best score" in answers
    assert '<td class="num">0.125</td>' in answers
