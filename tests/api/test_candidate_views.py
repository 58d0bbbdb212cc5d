"""Views of candidates over REST: to those who may read programs, and never with rights of the service's own origin."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from evolve.views.candidate_view import HTML, PNG, SVG, CandidateView
from service.ports import Scope
from tests.api.told import Client, Told, open_told
from tests.contract.story import RUN, Story, new_run
from tests.unit.views.drawings import address, png

CIRCLE = '<svg xmlns="http://www.w3.org/2000/svg"><circle r="1"/></svg>'
VIEWS = (
    CandidateView(media_type=SVG, content=CIRCLE),
    CandidateView(media_type=HTML, content="<p>A tour</p>"),
    CandidateView(media_type=PNG, content=address(png()).partition(",")[2]),
    CandidateView(reason="The view has 300 KB: up to 256 KB are kept."),
)


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    async with open_told(tmp_path) as opened:
        yield opened


@pytest.fixture
def story(told: Told) -> Story:
    """A run whose seeds have a view of each form, and one without."""
    told.create(new_run())
    story = Story()
    for place, view in enumerate((*VIEWS, None)):
        told.append([story.create(0, place), story.evaluate(story.id(0, place), 1.0, view=view)])
    return story


@pytest.fixture
async def client(told: Told) -> AsyncIterator[Client]:
    async with told.client() as opened:
        yield opened


async def test_a_view_is_served_as_what_it_is(client: Client, story: Story) -> None:
    for place, view in enumerate(VIEWS[:3]):
        shown = (await client.get(f"/v1/candidates/{story.id(0, place)}")).json()
        assert (shown["view_type"], shown["urls"]["view"]) == (
            view.media_type,
            f"/v1/candidates/{story.id(0, place)}/view",
        )
        answer = await client.get(shown["urls"]["view"])
        assert answer.content == view.data
        assert answer.headers["Content-Type"].partition(";")[0] == view.media_type
        again = await client.get(shown["urls"]["view"], headers={"If-None-Match": answer.headers["ETag"]})
        assert again.status_code == 304


async def test_a_view_runs_and_loads_nothing_and_is_framed_by_the_service_alone(client: Client, story: Story) -> None:
    for place in range(3):
        headers = (await client.get(f"/v1/candidates/{story.id(0, place)}/view")).headers
        policy = headers["Content-Security-Policy"].split("; ")
        assert policy[:2] == ["sandbox", "default-src 'none'"]
        assert "frame-ancestors 'self'" in policy
        assert not any("script-src" in part or "https:" in part for part in policy)
        assert (headers["X-Frame-Options"], headers["X-Content-Type-Options"]) == ("SAMEORIGIN", "nosniff")


async def test_what_cannot_be_shown_says_why(client: Client, story: Story) -> None:
    shown = (await client.get(f"/v1/candidates/{story.id(0, 3)}")).json()
    assert (shown["view_type"], shown["view_reason"], shown["urls"]["view"]) == ("", VIEWS[3].reason, None)
    answer = await client.get(f"/v1/candidates/{story.id(0, 3)}/view")
    assert (answer.status_code, VIEWS[3].reason in answer.json()["detail"]) == (404, True)


async def test_a_candidate_without_a_view_has_none(client: Client, story: Story) -> None:
    shown = (await client.get(f"/v1/candidates/{story.id(0, 4)}")).json()
    assert (shown["view_type"], shown["view_reason"], shown["urls"]["view"]) == (None, "", None)
    assert (await client.get(f"/v1/candidates/{story.id(0, 4)}/view")).status_code == 404


async def test_a_view_needs_the_scope_of_sources(told: Told, story: Story) -> None:
    async with told.client(Scope.RUNS_READ) as client:
        assert (await client.get(f"/v1/candidates/{story.id(0)}/view")).status_code == 403
        shown = (await client.get(f"/v1/candidates/{story.id(0, 3)}")).json()
        assert shown["view_reason"] is None


async def test_views_of_other_tenants_are_not_there(told: Told, story: Story) -> None:
    async with told.client(tenant="other") as client:
        assert (await client.get(f"/v1/candidates/{story.id(0)}/view")).status_code == 404


async def test_views_are_listed_with_candidates(client: Client, story: Story) -> None:
    items = (await client.get(f"/v1/runs/{RUN}/candidates")).json()["items"]
    assert [item["view_type"] for item in items] == [SVG, HTML, PNG, "", None]
