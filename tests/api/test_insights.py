"""Insights over the API and on the overview: who may read and edit them, and that events quote none of them."""

from dataclasses import replace

import httpx
import pytest

from evolve.change_events import InsightsWritten
from evolve.event_codec import encode
from evolve.event_types import ProposalCreated
from evolve.events import Event, EventKind
from service.ports import LoggedEvent, Scope
from tests.api.told import Told, bearer, small_run
from tests.api.visiting import visitor
from tests.contract.story import RUN, Story

PATH = f"/v1/runs/{RUN}/insights"
FACTS = "Facts from 4 evaluated candidates of this run:\n- <b>rings</b>"


def written(story: Story, number: int, text: str, **more: object) -> LoggedEvent:
    data = InsightsWritten(change_id=f"chg_{number}", by="", text=text, source="facts", evaluations=4)
    return story.tell(EventKind.INSIGHTS_WRITTEN, **{**encode(data), **more})


def informed(story: Story, number: int, fitness: float, insights: str) -> list[LoggedEvent]:
    """A child of the seed, from a prompt with a version of insights."""
    proposed, *rest = story.child(number, story.id(0), fitness)
    created, proposal = proposed.event.data, proposed.event.subject
    assert isinstance(created, ProposalCreated)
    return [replace(proposed, event=Event(replace(created, insights=insights), proposal)), *rest]


async def test_the_versions_are_listed_with_what_waits(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    told.append([written(story, 1, FACTS), written(story, 2, "- squares", source="analyst", policy="ann")])
    answer = await owner.post(PATH, json={"text": " - mine "})
    assert answer.status_code == 202, answer.text
    items = (await owner.get(PATH)).json()["items"]
    assert [(one["version"], one["source"], one["text"]) for one in items] == [
        (0, "person", "- mine"),
        (2, "analyst", "- squares"),
        (1, "facts", FACTS),
    ]
    assert items[0]["by"]
    assert items[0]["at"] is None
    assert items[1]["policy"] == "ann"
    waiting = items[0]["id"]
    told.append([written(story, 3, "- mine", change_id=waiting, by="ada", source="person")])
    items = (await owner.get(PATH)).json()["items"]
    assert [(one["version"], one["by"]) for one in items] == [(3, "ada"), (2, ""), (1, "")]
    assert told.parts.intents("default").changes(RUN) == []


@pytest.mark.parametrize("body", [{"text": "x" * 4001}, {"text": "\x1b[0m"}, {}, {"text": "a", "n": 1}])
async def test_what_is_no_version_is_refused(told: Told, owner: httpx.AsyncClient, body: dict[str, object]) -> None:
    small_run(told)
    assert (await owner.post(PATH, json=body)).status_code == 422
    assert (await owner.get(PATH)).json()["items"] == []


async def test_reading_needs_the_right_to_programs_and_editing_the_right_to_steer(
    told: Told, owner: httpx.AsyncClient
) -> None:
    story = small_run(told)
    told.append([written(story, 1, FACTS)])
    runs_alone = dict(bearer(told.key(Scope.RUNS_READ)))
    assert (await owner.get(PATH, headers=runs_alone)).status_code == 403
    both = dict(bearer(told.key(Scope.RUNS_READ, Scope.PROGRAMS_READ)))
    assert (await owner.get(PATH, headers=both)).status_code == 200
    assert (await owner.post(PATH, json={"text": "a"}, headers=both)).status_code == 403
    events = (await owner.get(f"/v1/runs/{RUN}/events", headers=runs_alone)).json()["items"]
    (event,) = [one for one in events if one["kind"] == "insights.written"]
    assert event["evaluations"] == 4
    assert "text" not in event


async def test_edits_of_people_are_among_their_changes_with_what_they_brought(
    told: Told, owner: httpx.AsyncClient
) -> None:
    story = small_run(told)
    told.append([written(story, 1, FACTS), written(story, 2, "- <b>mine</b>", by="ada", source="person")])
    told.append(informed(story, 4, 5.0, "chg_2"))
    told.append([written(story, 3, FACTS)])
    told.append(informed(story, 5, 6.0, "chg_3"))
    path = f"/v1/runs/{RUN}/changes"
    [change] = (await owner.get(path)).json()["items"]
    assert (change["kind"], change["id"], change["by"], change["text"]) == (
        "insights.written", "chg_2", "ada", "- <b>mine</b>",
    )  # fmt: skip
    assert (change["proposals"], change["evaluations"], change["improvements"], change["best_fitness"]) == (1, 1, 1, 5)
    assert (await owner.post(PATH, json={"text": "- next"})).status_code == 202
    items = (await owner.get(path)).json()["items"]
    assert [(one["text"], one["at"] is None) for one in items] == [("- next", True), ("- <b>mine</b>", False)]
    async with visitor(told) as page:
        shown = (await page.get(f"/runs/{RUN}")).text
        assert "Insights: - &lt;b&gt;mine&lt;/b&gt;" in shown


async def test_an_ended_run_takes_no_version(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    told.append([story.tell(EventKind.RUN_CANCELLED, by="ada")])
    assert (await owner.post(PATH, json={"text": "a"})).status_code == 409


async def test_the_overview_shows_versions_with_their_differences_and_takes_an_edit(told: Told) -> None:
    story = small_run(told)
    async with visitor(told) as client:
        bare = (await client.get(f"/runs/{RUN}")).text
        assert "Insights</h2>" not in bare
        assert "insights-form" not in bare
        told.append([written(story, 1, FACTS), written(story, 2, "- squares\n- <b>rings</b>", reason="ann is down")])
        page = (await client.get(f"/runs/{RUN}")).text
        assert "<ins>- squares</ins>" in page
        assert "<del>Facts from 4 evaluated candidates of this run:</del>" in page
        assert "- &lt;b&gt;rings&lt;/b&gt;" in page
        assert "<b>rings" not in page
        assert "ann is down" in page
        csrf = {"csrf": client.cookies["evolve_csrf"]}
        place = f"/runs/{RUN}/insights"
        taken = await client.post(place, data=csrf | {"text": "- mine\r\n- too"})
        assert (taken.status_code, taken.headers["location"]) == (303, f"/runs/{RUN}#insights")
        [waiting] = told.parts.intents("default").changes(RUN)
        assert isinstance(waiting.data, InsightsWritten)
        assert waiting.data.text == "- mine\n- too"
        assert "Waits for the run" in (await client.get(place)).text
        assert (await client.post(place, data=csrf | {"text": "x" * 4001})).status_code == 422
