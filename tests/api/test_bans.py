"""Bans over the API: who may, what is refused, what stands, and how a candidate's page shows it."""

import httpx
import pytest

from evolve.change_events import BanLifted, CandidateBanned
from evolve.event_codec import encode
from evolve.events import EventKind
from service.ports import Scope
from tests.api.told import Told, bearer, small_run
from tests.api.visiting import visitor
from tests.contract.story import RUN, Story

PATH = f"/v1/runs/{RUN}/bans"


def tell_banned(told: Told, story: Story, candidate_id: str, *, descendants: bool = False) -> None:
    """What a search makes of a ban."""
    data = CandidateBanned(change_id="chg_1", by="ada", candidate_id=candidate_id, descendants=descendants)
    told.append(
        [
            story.tell(EventKind.CANDIDATE_BANNED, **encode(data)),
            story.tell(EventKind.INDIVIDUALS_REMOVED, island=0, candidate_ids=[candidate_id]),
        ]
    )


async def listed(client: httpx.AsyncClient, **query: str) -> list[tuple[str, bool, bool]]:
    items = (await client.get(PATH, params=query)).json()["items"]
    return [(one["candidate_id"], one["descendants"], one["at"] is None) for one in items]


async def test_a_ban_waits_for_the_search_with_its_author(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    answer = await owner.post(PATH, json={"candidate_id": "1.0", "descendants": True})
    assert (answer.status_code, answer.json()["id"]) == (202, RUN)
    [waiting] = told.parts.intents("default").changes(RUN)
    assert isinstance(waiting.data, CandidateBanned)
    assert (waiting.data.candidate_id, waiting.data.descendants) == (story.id(1), True)
    assert waiting.data.by
    assert await listed(owner) == [(story.id(1), True, True)]
    [change] = (await owner.get(f"/v1/runs/{RUN}/changes")).json()["items"]
    assert (change["kind"], change["candidate_id"], change["descendants"], change["at"]) == (
        "candidate.banned",
        story.id(1),
        True,
        None,
    )


async def test_a_ban_that_was_made_stands_until_it_is_lifted(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    tell_banned(told, story, story.id(1))
    assert await listed(owner) == [(story.id(1), False, False)]
    assert (await owner.get(f"/v1/candidates/{story.id(1)}")).json()["islands"] == []
    answer = await owner.delete(f"{PATH}/1.0")
    assert answer.status_code == 202
    [waiting] = told.parts.intents("default").changes(RUN)
    assert isinstance(waiting.data, BanLifted)
    assert await listed(owner) == []
    assert (await owner.delete(f"{PATH}/1.0")).status_code == 409


async def test_a_narrower_ban_leaves_the_wider_one(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    tell_banned(told, story, story.id(1), descendants=True)
    assert (await owner.post(PATH, json={"candidate_id": "1.0"})).status_code == 202
    assert await listed(owner) == [(story.id(1), True, False)]
    tell_banned(told, story, story.id(0))
    assert (await owner.post(PATH, json={"candidate_id": "0.0", "descendants": True})).status_code == 202
    assert await listed(owner) == [(story.id(1), True, False), (story.id(0), True, True)]
    assert (await owner.delete(f"{PATH}/1.0")).status_code == 202
    assert await listed(owner) == [(story.id(0), True, True)]


async def test_a_candidate_is_banned_with_its_ancestors(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    tell_banned(told, story, story.id(0), descendants=True)
    for named in ("1.0", story.id(1)):
        assert await listed(owner, candidate_id=named) == [(story.id(0), True, False)]
    told.append([story.tell(EventKind.BAN_LIFTED, change_id="chg_2", by="ada", candidate_id=story.id(0))])
    tell_banned(told, story, story.id(0))
    assert await listed(owner, candidate_id=story.id(1)) == []


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 422, "required"),
        ({"candidate_id": ""}, 422, "match pattern"),
        ({"candidate_id": "x" * 101}, 422, "match pattern"),
        ({"candidate_id": "a b"}, 422, "match pattern"),
        ({"candidate_id": None}, 422, "valid string"),
        ({"candidate_id": "77.0"}, 404, "no candidate"),
        ({"candidate_id": "cnd_ffffffff"}, 404, "no candidate"),
        ({"candidate_id": "1.0", "descendants": "yes"}, 422, "boolean"),
        ({"candidate_id": "1.0", "share": 1}, 422, "not permitted"),
    ],
)
async def test_what_cannot_be_banned_is_refused(
    told: Told, owner: httpx.AsyncClient, body: dict[str, object], status: int, words: str
) -> None:
    small_run(told)
    answer = await owner.post(PATH, json=body)
    assert answer.status_code == status, answer.text
    told_words = answer.json()["detail"] + " ".join(fault["detail"] for fault in answer.json().get("errors", ()))
    assert words in told_words
    assert told.parts.intents("default").changes(RUN) == []


async def test_an_ended_run_takes_no_ban(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    told.append([story.tell(EventKind.RUN_CANCELLED, by="ada")])
    for answer in (await owner.post(PATH, json={"candidate_id": "1.0"}), await owner.delete(f"{PATH}/1.0")):
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


async def test_a_run_of_another_tenant_is_not_there(told: Told, owner: httpx.AsyncClient) -> None:
    del owner
    small_run(told)
    headers = dict(bearer(told.key(tenant="stranger")))
    async with told.client() as client:
        assert (await client.post(PATH, json={"candidate_id": "1.0"}, headers=headers)).status_code == 404
        assert (await client.delete(f"{PATH}/1.0", headers=headers)).status_code == 404
        assert (await client.get(PATH, headers=headers)).status_code == 404


async def test_it_needs_the_right_to_steer(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    headers = dict(bearer(told.key(Scope.RUNS_READ, Scope.RUNS_WRITE, Scope.PROGRAMS_READ)))
    assert (await owner.post(PATH, json={"candidate_id": "1.0"}, headers=headers)).status_code == 403
    assert (await owner.delete(f"{PATH}/1.0", headers=headers)).status_code == 403


async def test_a_change_that_the_search_refused_says_why(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    await owner.post(PATH, json={"candidate_id": "1.0"})
    [waiting] = told.parts.intents("default").changes(RUN)
    told.append(
        [
            story.tell(
                EventKind.CHANGE_REFUSED,
                change_id=waiting.data.change_id,
                by="ada",
                requested="candidate.banned",
                reason="without it there is nothing to start from",
            )
        ]
    )
    assert await listed(owner) == []
    [change] = (await owner.get(f"/v1/runs/{RUN}/changes")).json()["items"]
    assert (change["kind"], change["requested"]) == ("change.refused", "candidate.banned")
    assert change["reason"] == "without it there is nothing to start from"


async def test_the_pages_of_a_banned_candidate_and_its_run_say_so(told: Told) -> None:
    async with visitor(told) as page:
        story = small_run(told)
        fresh = (await page.get(f"/candidates/{story.id(1)}")).text
        assert f'action="/candidates/{story.id(1)}/ban"' in fresh
        tell_banned(told, story, story.id(0), descendants=True)
        own = (await page.get(f"/candidates/{story.id(0)}")).text
        assert "Banned with its descendants by ada" in " ".join(own.split())
        assert f'action="/candidates/{story.id(0)}/unban"' in own
        child = (await page.get(f"/candidates/{story.id(1)}")).text
        assert "Banned with its ancestor" in child
        line = (await page.get(f"/runs/{RUN}/lineage?at=1.0")).text
        assert line.count('<span class="state">banned</span>') == 2
        assert "Ban of" in (await page.get(f"/runs/{RUN}")).text
