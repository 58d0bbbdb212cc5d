"""The decision on a change over the API: pending, accepted or refused with the reason, and waiting for it."""

import asyncio
from typing import Any

import httpx
import pytest

from evolve.change_events import ChangeRefused, HintGiven
from evolve.event_codec import encode
from evolve.events import EventKind
from service.ports import Scope
from tests.api.told import Told, bearer, small_run
from tests.contract.story import RUN, Story

HINTS = f"/v1/runs/{RUN}/hints"


async def ask(owner: httpx.AsyncClient) -> str:
    """The path of the decision on a hint that was asked for."""
    answer = await owner.post(HINTS, json={"text": "try rings", "proposals": 2})
    assert answer.status_code == 202, answer.text
    assert answer.headers["Location"] == f"/v1/runs/{RUN}/changes/{answer.json()['change_id']}"
    return answer.headers["Location"]


def accept(told: Told, story: Story, path: str) -> None:
    hint = HintGiven(change_id=path.rpartition("/")[2], text="try rings", proposals=2, by="ada")
    told.append([story.tell(EventKind.HINT_GIVEN, **encode(hint))])


def refuse(told: Told, story: Story, path: str) -> None:
    change_id = path.rpartition("/")[2]
    refused = ChangeRefused(change_id=change_id, by="ada", requested="hint.given", reason="no island 7")
    told.append([story.tell(EventKind.CHANGE_REFUSED, **encode(refused))])


def essence(answer: httpx.Response) -> tuple[Any, ...]:
    told = answer.json()
    return told["state"], told["kind"], told["reason"], told["at"] is None


@pytest.mark.parametrize(
    ("decide", "expected"),
    [
        (accept, ("accepted", "hint.given", "", False)),
        (refuse, ("refused", "hint.given", "no island 7", False)),
    ],
)
async def test_a_decision_is_pending_until_the_search_accepts_or_refuses(
    told: Told, owner: httpx.AsyncClient, decide: Any, expected: tuple[Any, ...]
) -> None:
    story = small_run(told)
    path = await ask(owner)
    assert essence(await owner.get(path)) == ("pending", "hint.given", "", True)
    waiting = asyncio.create_task(owner.get(path, headers={"Prefer": "wait=30"}))
    finished, _ = await asyncio.wait([waiting], timeout=0.6)
    assert not finished
    told.append(story.child(4, story.id(0), 1.0))  # something else that happens
    finished, _ = await asyncio.wait([waiting], timeout=0.6)
    assert not finished
    decide(told, story, path)
    answer = await asyncio.wait_for(waiting, 10)
    assert (essence(answer), answer.headers["Preference-Applied"]) == (expected, "wait=30")
    assert essence(await owner.get(path)) == expected


async def test_waiting_ends_in_time_and_when_the_run_ends_without_a_decision(
    told: Told, owner: httpx.AsyncClient
) -> None:
    story = small_run(told)
    path = await ask(owner)
    still = await asyncio.wait_for(owner.get(path, headers={"Prefer": "wait=1"}), 10)
    assert essence(still)[0] == "pending"
    waiting = asyncio.create_task(owner.get(path, headers={"Prefer": "wait=60"}))
    await asyncio.sleep(0.2)
    told.append([story.tell(EventKind.RUN_CANCELLED, by="ada")])
    assert essence(await asyncio.wait_for(waiting, 10))[0] == "pending"


async def test_what_nobody_asked_for_is_not_found(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    answer = await owner.get(f"/v1/runs/{RUN}/changes/chg_0")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    strange = bearer(told.key(tenant="stranger"))
    assert (await owner.get(await ask(owner), headers=strange)).status_code == 404


async def test_the_same_request_with_a_key_names_the_same_change(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    once, again = [
        await owner.post(HINTS, json={"text": "try rings"}, headers={"Idempotency-Key": "k"}) for _ in range(2)
    ]
    assert once.json()["change_id"] == again.json()["change_id"]
    assert len(told.parts.intents("default").changes(RUN)) == 1


async def test_a_key_that_reads_runs_sees_decisions(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    path = await ask(owner)
    assert (await owner.get(path, headers=bearer(told.key(Scope.RUNS_READ)))).status_code == 200
    assert (await owner.get(path, headers=bearer(told.key(Scope.RUNS_CONTROL)))).status_code == 403
