"""Hints over the API: who may give one, what is kept of it, and what the proposals that held it brought."""

import re
from dataclasses import replace

import httpx
import pytest

from evolve.change_events import HintGiven
from evolve.event_codec import encode
from evolve.event_types import ProposalCreated
from evolve.events import Event, EventKind
from service.ports import LoggedEvent, Scope
from tests.api.told import Told, bearer, small_run
from tests.api.visiting import visitor
from tests.contract.story import RUN, Story

PATH = f"/v1/runs/{RUN}/hints"
CHANGES = f"/v1/runs/{RUN}/changes"
FIGURES = ("proposals", "evaluations", "valid", "improvements", "best_fitness", "evaluations_before", "valid_before",
           "improvements_before")  # fmt: skip
HINT = HintGiven(change_id="hnt_1", text="try rings", proposals=2, by="ada")


def tell_hinted(told: Told, story: Story, number: int, hint: str, fitness: float) -> None:
    """A proposal whose prompt held a hint, and its one child."""
    told.append([_with_hint(logged, hint) for logged in story.child(number, story.id(0), fitness)])


def _with_hint(logged: LoggedEvent, hint: str) -> LoggedEvent:
    data = logged.event.data
    if not isinstance(data, ProposalCreated):
        return logged
    return replace(logged, event=Event(replace(data, hint=hint), logged.event.subject))


async def test_a_hint_waits_for_its_runner_and_then_tells_what_it_brought(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    answer = await owner.post(PATH, json={"text": " try rings ", "proposals": 2})
    assert answer.status_code == 202, answer.text
    [waiting] = (await owner.get(CHANGES)).json()["items"]
    assert (waiting["text"], waiting["wanted"], waiting["at"], waiting["proposals"]) == ("try rings", 2, None, 0)
    assert waiting["by"]
    told.append([story.tell(EventKind.HINT_GIVEN, **encode(replace(HINT, change_id=waiting["id"])))])
    tell_hinted(told, story, 4, waiting["id"], 9.0)
    tell_hinted(told, story, 5, waiting["id"], 1.0)
    tell_hinted(told, story, 6, "", 20.0)
    [given] = (await owner.get(CHANGES)).json()["items"]
    assert given["at"]
    assert {key: given[key] for key in FIGURES} == {
        "proposals": 2,
        "evaluations": 2,
        "valid": 2,
        "improvements": 1,
        "best_fitness": 9.0,
        "evaluations_before": 2,
        "valid_before": 1,
        "improvements_before": 1,
    }


async def test_a_hint_for_one_island_tells_what_its_proposals_brought_between_those_of_others(
    told: Told, owner: httpx.AsyncClient
) -> None:
    story = small_run(told, config={"islands": 2, "budget": {"evaluations": 9}})
    before = (await owner.get(f"/v1/runs/{RUN}/candidates")).json()["items"]
    assert (await owner.post(PATH, json={"text": "try rings", "proposals": 3, "island": 1})).status_code == 202
    [waiting] = (await owner.get(CHANGES)).json()["items"]
    assert (waiting["island"], waiting["at"]) == (1, None)
    given = replace(HINT, change_id=waiting["id"], proposals=3, island=1)
    told.append([story.tell(EventKind.HINT_GIVEN, **encode(given))])
    tell_hinted(told, story, 4, waiting["id"], 9.0)
    tell_hinted(told, story, 5, "", 20.0)
    tell_hinted(told, story, 6, waiting["id"], 1.0)
    told.append([story.tell(EventKind.HINT_GIVEN, **encode(replace(given, change_id="hnt_2", island=0)))])
    tell_hinted(told, story, 7, "hnt_2", 2.0)
    tell_hinted(told, story, 8, waiting["id"], 3.0)
    newer, older = (await owner.get(CHANGES)).json()["items"]
    assert (older["island"], older["proposals"], older["best_fitness"]) == (1, 3, 9.0)
    assert older["evaluations_before"] == sum(one["island"] == 1 for one in before)
    assert (newer["island"], newer["proposals"], newer["best_fitness"]) == (0, 1, 2.0)


async def test_a_hint_for_an_island_that_the_run_does_not_have_is_refused(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told, config={"islands": 2, "budget": {"evaluations": 9}})
    answer = await owner.post(PATH, json={"text": "try rings", "island": 2})
    assert (answer.status_code, answer.json()["detail"]) == (422, "the run has no island 2: its islands are 0 to 1")


async def test_the_page_offers_the_islands_of_a_run(told: Told) -> None:
    small_run(told, config={"islands": 2, "budget": {"evaluations": 9}})
    async with visitor(told) as client:
        page = (await client.get(f"/runs/{RUN}")).text
        assert '<select id="hint-island" name="island"><option value="">all islands</option><option>0</option>' in page
        csrf = re.search(r'name="csrf" value="([^"]+)"', page)
        assert csrf
        form = {"csrf": csrf[1], "text": "try rings", "proposals": "3", "island": "1"}
        assert (await client.post(f"/runs/{RUN}/hints", data=form)).status_code == 303
        assert "Hint for island 1: try rings" in (await client.get(f"/runs/{RUN}/changes")).text
        assert (await client.post(f"/runs/{RUN}/hints", data=form | {"island": "one"})).status_code == 422
    [waiting] = told.parts.intents("default").changes(RUN)
    assert isinstance(waiting.data, HintGiven)
    assert waiting.data.island == 1


@pytest.mark.parametrize(
    "body", [{"text": "x" * 2001}, {"text": "a", "proposals": 0}, {"text": "\x1b[0m"}, {}, {"text": "a", "n": 1}]
)
async def test_what_is_no_hint_is_refused(told: Told, owner: httpx.AsyncClient, body: dict[str, object]) -> None:
    small_run(told)
    assert (await owner.post(PATH, json=body)).status_code == 422
    assert (await owner.get(CHANGES)).json()["items"] == []


async def test_an_ended_run_takes_no_hint(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    told.append([story.tell(EventKind.RUN_CANCELLED, by="ada")])
    answer = await owner.post(PATH, json={"text": "try rings"})
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


async def test_a_hint_needs_the_right_to_steer(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    headers = dict(bearer(told.key(Scope.RUNS_READ, Scope.PROGRAMS_READ)))
    assert (await owner.post(PATH, json={"text": "try rings"}, headers=headers)).status_code == 403
    assert (await owner.get(CHANGES, headers=headers)).status_code == 200
