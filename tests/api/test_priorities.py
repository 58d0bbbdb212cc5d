"""Priorities over the API: who may, what is refused, what stands, what it brought, and how pages show it."""

from dataclasses import replace

import httpx
import pytest

from evolve.change_events import CandidateBanned, PriorityGiven, PriorityLifted
from evolve.event_codec import encode
from evolve.event_types import ProposalCreated
from evolve.events import Event, EventKind
from service.ports import LoggedEvent, Scope
from tests.api.told import Told, bearer, small_run
from tests.api.visiting import visitor
from tests.contract.story import RUN, Story

PATH = f"/v1/runs/{RUN}/priorities"


def tell_given(told: Told, story: Story, candidate_id: str, proposals: int = 2) -> None:
    """What a search makes of a priority."""
    data = PriorityGiven(change_id="chg_1", by="ada", candidate_id=candidate_id, proposals=proposals)
    told.append([story.tell(EventKind.PRIORITY_GIVEN, **encode(data))])


def child_with_priority(story: Story, number: int, fitness: float | None) -> list[LoggedEvent]:
    """A child of the candidate 1.0, which has priority."""
    proposed, *rest = story.child(number, story.id(1), fitness)
    created, proposal = proposed.event.data, proposed.event.subject
    assert isinstance(created, ProposalCreated)
    event = Event(replace(created, priority="chg_1"), proposal)
    return [replace(proposed, event=event), *rest]


async def listed(client: httpx.AsyncClient) -> list[tuple[str, int, int, bool]]:
    items = (await client.get(PATH)).json()["items"]
    return [(one["candidate_id"], one["proposals"], one["remaining"], one["at"] is None) for one in items]


async def changes(client: httpx.AsyncClient) -> list[dict[str, object]]:
    items: list[dict[str, object]] = (await client.get(f"/v1/runs/{RUN}/changes")).json()["items"]
    return items


async def test_a_priority_waits_for_the_search_with_its_author_and_the_program(
    told: Told, owner: httpx.AsyncClient
) -> None:
    story = small_run(told)
    answer = await owner.post(PATH, json={"candidate_id": "1.0", "proposals": 5})
    assert (answer.status_code, answer.json()["id"]) == (202, RUN)
    [waiting] = told.parts.intents("default").changes(RUN)
    assert isinstance(waiting.data, PriorityGiven)
    assert (waiting.data.candidate_id, waiting.data.proposals) == (story.id(1), 5)
    assert waiting.data.by
    assert waiting.individual is not None
    assert waiting.individual.program == story.programs[story.id(1)]
    assert await listed(owner) == [(story.id(1), 5, 5, True)]
    [change] = await changes(owner)
    told_of = (change["kind"], change["candidate_id"], change["wanted"], change["at"])
    assert told_of == ("priority.given", story.id(1), 5, None)
    assert (await owner.post(PATH, json={"candidate_id": "2.0"})).status_code == 202
    assert [one[1] for one in await listed(owner)] == [5, 10]


async def test_a_priority_stands_until_it_is_used_up_and_its_change_tells_what_it_brought(
    told: Told, owner: httpx.AsyncClient
) -> None:
    story = small_run(told)
    tell_given(told, story, story.id(1))
    assert await listed(owner) == [(story.id(1), 2, 2, False)]
    told.append(child_with_priority(story, 4, 5.0))
    told.append(story.child(5, story.id(2), 4.0))
    assert await listed(owner) == [(story.id(1), 2, 1, False)]
    told.append(child_with_priority(story, 6, None))
    assert await listed(owner) == []
    [change] = await changes(owner)
    assert (change["proposals"], change["evaluations"], change["valid"], change["improvements"]) == (2, 2, 1, 1)
    assert change["best_fitness"] == 5.0


async def test_a_priority_is_lifted_and_a_ban_ends_it(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    tell_given(told, story, story.id(1), 100)
    assert (await owner.delete(f"{PATH}/1.0")).status_code == 202
    [waiting] = told.parts.intents("default").changes(RUN)
    assert isinstance(waiting.data, PriorityLifted)
    assert await listed(owner) == []
    assert (await owner.delete(f"{PATH}/1.0")).status_code == 409
    told.append([story.tell(EventKind.PRIORITY_LIFTED, **encode(waiting.data))])
    tell_given(told, story, story.id(1), 100)
    ban = CandidateBanned(change_id="chg_2", by="ada", candidate_id=story.id(0), descendants=True)
    told.append([story.tell(EventKind.CANDIDATE_BANNED, **encode(ban))])
    assert await listed(owner) == []
    refused = await owner.post(PATH, json={"candidate_id": "1.0"})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "lift its ban first" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 422, "required"),
        ({"candidate_id": "a b"}, 422, "match pattern"),
        ({"candidate_id": "77.0"}, 404, "no candidate"),
        ({"candidate_id": "3.0"}, 409, "is not valid"),
        ({"candidate_id": "1.0", "proposals": 0}, 422, "greater than or equal to 1"),
        ({"candidate_id": "1.0", "proposals": 10_001}, 422, "less than or equal to 10000"),
        ({"candidate_id": "1.0", "proposals": "5"}, 422, "integer"),
        ({"candidate_id": "1.0", "share": 1}, 422, "not permitted"),
    ],
)
async def test_what_cannot_have_priority_is_refused(
    told: Told, owner: httpx.AsyncClient, body: dict[str, object], status: int, words: str
) -> None:
    small_run(told)
    answer = await owner.post(PATH, json=body)
    assert answer.status_code == status, answer.text
    told_words = answer.json()["detail"] + " ".join(fault["detail"] for fault in answer.json().get("errors", ()))
    assert words in told_words
    assert told.parts.intents("default").changes(RUN) == []


async def test_a_strategy_without_selection_takes_no_priority(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told, config={"strategy": "best_of_n", "budget": {"evaluations": 9}})
    answer = await owner.post(PATH, json={"candidate_id": "1.0"})
    assert (answer.status_code, "chooses no parents" in answer.json()["detail"]) == (409, True)


async def test_an_ended_run_takes_no_priority(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    told.append([story.tell(EventKind.RUN_CANCELLED, by="ada")])
    for answer in (await owner.post(PATH, json={"candidate_id": "1.0"}), await owner.delete(f"{PATH}/1.0")):
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


async def test_a_run_of_another_tenant_is_not_there_and_steering_needs_its_right(
    told: Told, owner: httpx.AsyncClient
) -> None:
    small_run(told)
    headers = dict(bearer(told.key(tenant="stranger")))
    async with told.client() as client:
        assert (await client.post(PATH, json={"candidate_id": "1.0"}, headers=headers)).status_code == 404
        assert (await client.delete(f"{PATH}/1.0", headers=headers)).status_code == 404
        assert (await client.get(PATH, headers=headers)).status_code == 404
    headers = dict(bearer(told.key(Scope.RUNS_READ, Scope.RUNS_WRITE, Scope.PROGRAMS_READ)))
    assert (await owner.post(PATH, json={"candidate_id": "1.0"}, headers=headers)).status_code == 403
    assert (await owner.delete(f"{PATH}/1.0", headers=headers)).status_code == 403


async def test_the_pages_of_a_candidate_with_priority_and_of_its_run_say_so(told: Told) -> None:
    async with visitor(told) as page:
        story = small_run(told)
        fresh = (await page.get(f"/candidates/{story.id(1)}")).text
        assert f'action="/candidates/{story.id(1)}/priority"' in fresh
        assert f'action="/candidates/{story.id(3)}/priority"' not in (await page.get(f"/candidates/{story.id(3)}")).text
        tell_given(told, story, story.id(1))
        own = " ".join((await page.get(f"/candidates/{story.id(1)}")).text.split())
        assert "Priority by ada" in own
        assert "2 of 2 proposals are still to start from it" in own
        assert f'action="/candidates/{story.id(1)}/no-priority"' in own
        overview = " ".join((await page.get(f"/runs/{RUN}")).text.split())
        assert "Priority of" in overview
        assert "0 of 2" in overview
