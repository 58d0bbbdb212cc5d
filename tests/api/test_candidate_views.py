"""Views of candidates over REST: to those who may read programs, and never with rights of the service's own origin."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from evolve.views.candidate_view import HTML, ON_DEMAND, PNG, SVG, CandidateView
from service.ports import MAX_VIEW_REQUESTS, Scope, ViewRequest
from service.projections.drawings import NO_RUNNER, UNTAKEN_SECONDS, drawing_of
from tests.api.told import Client, Told, open_told
from tests.contract.story import RUN, Story, new_run
from tests.unit.views.drawings import address, png

CIRCLE = '<svg xmlns="http://www.w3.org/2000/svg"><circle r="1"/></svg>'
UNDRAWN = 5  # place of the candidate whose view is drawn on demand
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
    """A run whose seeds have a view of each form, one without, and one that is drawn on demand."""
    told.create(new_run())
    story = Story()
    for place, view in enumerate((*VIEWS, None, ON_DEMAND)):
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
    assert [item["view_type"] for item in items] == [SVG, HTML, PNG, "", None, None]
    assert [item["view_on_demand"] for item in items] == [False] * 5 + [True]


async def test_a_view_is_drawn_when_it_is_requested(told: Told, client: Client, story: Story) -> None:
    path = f"/v1/candidates/{story.id(0, UNDRAWN)}"
    shown = (await client.get(path)).json()
    assert (shown["view_type"], shown["view_on_demand"]) == (None, True)
    assert (shown["urls"]["view"], shown["urls"]["drawing"]) == (None, f"{path}/drawing")
    answer = await client.get(f"{path}/view")
    assert (answer.status_code, "not drawn yet" in answer.json()["detail"]) == (404, True)
    assert (await client.get(f"{path}/drawing")).json()["state"] == "undrawn"
    for _ in range(2):
        answer = await client.post(f"{path}/drawing")
        assert (answer.status_code, answer.json()["state"], answer.headers["Location"]) == (
            202,
            "waiting",
            f"{path}/drawing",
        )
    (taken,) = told.parts.views.take(9, 60.0)
    assert taken.candidate_id == story.id(0, UNDRAWN)
    told.parts.views.store(taken.candidate_id, VIEWS[0])
    drawn = {"candidate_id": taken.candidate_id, "state": "drawn", "reason": "", "waited_seconds": None}
    assert (await client.get(f"{path}/drawing")).json() == drawn
    assert (await client.post(f"{path}/drawing")).json() == drawn
    assert (await client.get(f"{path}/view")).content == VIEWS[0].data
    shown = (await client.get(path)).json()
    assert (shown["view_type"], shown["view_on_demand"], shown["urls"]["view"]) == (SVG, False, f"{path}/view")


async def test_a_view_that_is_drawn_while_it_is_requested_is_said_to_be_drawn(
    told: Told, client: Client, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, identity = told.parts.views.request, story.id(0, UNDRAWN)

    def overtaken(tenant: str, candidate_id: str, by: str) -> bool:
        told.parts.views.store(candidate_id, VIEWS[0])
        return request(tenant, candidate_id, by)

    monkeypatch.setattr(told.parts.views, "request", overtaken)
    answer = await client.post(f"/v1/candidates/{identity}/drawing")
    assert (answer.status_code, answer.json()["state"]) == (202, "drawn")
    assert told.parts.views.take(9, 60.0) == []


@pytest.mark.parametrize(("place", "state"), [(0, "drawn"), (3, "failed"), (4, "none")])
async def test_what_is_not_drawn_on_demand_cannot_be_ordered(
    told: Told, client: Client, story: Story, place: int, state: str
) -> None:
    for method in ("GET", "POST"):
        answer = await client.request(method, f"/v1/candidates/{story.id(0, place)}/drawing")
        assert (answer.status_code, answer.json()["state"]) == ({"GET": 200, "POST": 202}[method], state)
    assert told.parts.views.take(9, 60.0) == []


async def test_a_view_says_why_it_waits(told: Told, client: Client, story: Story) -> None:
    path = f"/v1/candidates/{story.id(0, UNDRAWN)}/drawing"
    await client.post(path)
    (taken,) = told.parts.views.take(1, 60.0)
    told.parts.views.put_off(taken, 60.0, "No worker takes evaluations of pool cpu.", tries=0)
    shown = (await client.get(path)).json()
    assert (shown["state"], shown["reason"]) == ("waiting", "No worker takes evaluations of pool cpu.")
    assert shown["waited_seconds"] >= 0.0


async def test_a_view_that_no_runner_takes_up_says_so(told: Told, client: Client, story: Story) -> None:
    async with told.client() as reading:
        await reading.post(f"/v1/candidates/{story.id(0, UNDRAWN)}/drawing")
    candidate = told.parts.readers.of("default").candidate(story.id(0, UNDRAWN))
    waiting = told.parts.views.waiting(candidate.id)
    assert waiting is not None
    late = waiting.created_at + timedelta(seconds=UNTAKEN_SECONDS + 1)
    assert drawing_of(candidate, waiting, late).reason == NO_RUNNER
    assert drawing_of(candidate, waiting, waiting.created_at).reason == ""
    taken = ViewRequest(run_id=RUN, candidate_id=candidate.id, created_at=waiting.created_at, tries=1)
    assert drawing_of(candidate, taken, late).reason == ""


async def test_a_share_and_a_key_without_sources_have_nothing_drawn(told: Told, story: Story) -> None:
    path = f"/v1/candidates/{story.id(0, UNDRAWN)}/drawing"
    async with told.client(Scope.RUNS_READ) as client:
        assert (await client.post(path)).status_code == 403
    async with told.client(tenant="other") as client:
        assert (await client.post(path)).status_code == 404
    async with told.client() as client:
        token = (await client.post(f"/v1/runs/{RUN}/shares", json={})).json()["token"]
        bearer = {"Authorization": f"Bearer {token}"}
        assert (await client.get(path, headers=bearer)).json()["state"] == "undrawn"
        assert (await client.post(path, headers=bearer)).status_code == 403
    assert told.parts.views.take(9, 60.0) == []


async def test_a_tenant_cannot_flood_the_workers(told: Told, client: Client, story: Story) -> None:
    answers = []
    for place in range(MAX_VIEW_REQUESTS + 1):
        candidate = story.id(0, UNDRAWN + 1 + place)
        told.append([story.create(0, UNDRAWN + 1 + place), story.evaluate(candidate, 1.0, view=ON_DEMAND)])
        answers.append(await client.post(f"/v1/candidates/{candidate}/drawing"))
    assert [answer.status_code for answer in answers] == [202] * MAX_VIEW_REQUESTS + [429]
    assert (answers[-1].json()["code"], "Retry-After" in answers[-1].headers) == ("quota_exceeded", True)
