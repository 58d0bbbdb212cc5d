"""Notes, pins, views and shares over the API."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.api.told import Told, small_run
from tests.contract.story import RUN, Story, new_run

OTHER = "run_0190bbbb000000000000000000000002"
HERE = f"/v1/runs/{RUN}"


@pytest.fixture
def story(told: Told) -> Story:
    return small_run(told)


async def note(client: httpx.AsyncClient, body: str = "x", **words: Any) -> dict[str, Any]:
    answer = await client.post(f"{HERE}/notes", json={"body": body} | words)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def test_a_note_is_written_changed_and_removed(story: Story, owner: httpx.AsyncClient) -> None:
    first, second = await note(owner, "one"), await note(owner, "two", candidate_id=story.id(1))
    assert (first["candidate_id"], second["candidate_id"]) == (None, story.id(1))
    changed = (await owner.patch(f"{HERE}/notes/{first['id']}", json={"body": "uno"})).json()
    assert changed | {"updated_at": ""} == first | {"body": "uno", "updated_at": ""}
    assert (await owner.get(f"{HERE}/notes")).json()["items"] == [changed, second]
    for about, found in ((story.id(1), [second]), (story.id(0), [])):
        assert (await owner.get(f"{HERE}/notes", params={"candidate_id": about})).json()["items"] == found
    assert (await owner.delete(f"{HERE}/notes/{first['id']}")).status_code == 204
    for method in ("PATCH", "DELETE"):
        answer = await owner.request(method, f"{HERE}/notes/{first['id']}", json={"body": "z"})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert (await owner.get(f"{HERE}/notes")).json()["items"] == [second]


@pytest.mark.parametrize(
    "body",
    [{}, {"body": ""}, {"body": "x" * 20_001}, {"body": 1}, {"body": "x", "candidate_id": "x"}, {"body": "x", "at": 1}],
)
async def test_what_is_no_note_is_not_written(story: Story, owner: httpx.AsyncClient, body: Any) -> None:
    assert (await owner.post(f"{HERE}/notes", json=body)).status_code == 422
    assert (await owner.get(f"{HERE}/notes")).json()["items"] == []


async def test_notes_and_pins_are_of_candidates_of_the_run(told: Told, story: Story, owner: httpx.AsyncClient) -> None:
    told.create(new_run(OTHER))
    there = f"/v1/runs/{OTHER}"
    assert (await owner.post(f"{there}/notes", json={"body": "x", "candidate_id": story.id(1)})).status_code == 404
    assert (await owner.put(f"{there}/pins/{story.id(1)}")).status_code == 404
    assert (await owner.put(f"{HERE}/pins/cnd_absent")).status_code == 404
    mine = await note(owner)
    assert (await owner.delete(f"{there}/notes/{mine['id']}")).status_code == 404
    assert (await owner.get(f"{HERE}/notes")).json()["items"] == [mine]


async def test_notes_and_pins_take_names_of_candidates(story: Story, owner: httpx.AsyncClient) -> None:
    for named in ("1.0", f"{RUN}.1.0", f"{RUN[:12]}.1.0"):
        mine = await note(owner, candidate_id=named)
        assert mine["candidate_id"] == story.id(1)
        assert mine in (await owner.get(f"{HERE}/notes", params={"candidate_id": named})).json()["items"]
        assert (await owner.put(f"{HERE}/pins/{named}")).json()["candidate_id"] == story.id(1)
        assert (await owner.delete(f"{HERE}/pins/{named}")).status_code == 204
        assert (await owner.get(f"{HERE}/pins")).json()["items"] == []
    answer = await owner.post(f"{HERE}/notes", json={"body": "x", "candidate_id": "1.9"})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_a_walk_sees_every_note_once_while_others_are_written(story: Story, owner: httpx.AsyncClient) -> None:
    there = [(await note(owner, str(n)))["id"] for n in range(5)]
    seen: list[str] = []
    cursor: str | None = ""
    added = 0
    while cursor is not None:
        page = (await owner.get(f"{HERE}/notes", params={"limit": 2, "cursor": cursor})).json()
        seen += [one["id"] for one in page["items"]]
        cursor = page["next_cursor"]
        if added < 3:
            added += 1
            await note(owner, "later")
    assert sorted(one for one in seen if one in there) == sorted(there)
    assert len(seen) == len(set(seen)) == 8


async def test_pinning_twice_is_pinning_once(story: Story, owner: httpx.AsyncClient) -> None:
    place = f"{HERE}/pins/{story.id(2)}"
    first, again = await owner.put(place), await owner.put(place)
    assert (first.status_code, again.json()) == (200, first.json())
    await owner.put(f"{HERE}/pins/{story.id(0)}")
    listed = (await owner.get(f"{HERE}/pins")).json()["items"]
    assert [pin["candidate_id"] for pin in listed] == [story.id(2), story.id(0)]
    assert [(await owner.delete(place)).status_code for _ in range(2)] == [204, 204]
    assert len((await owner.get(f"{HERE}/pins")).json()["items"]) == 1


async def test_views_are_of_a_run_or_of_none(story: Story, owner: httpx.AsyncClient) -> None:
    of_run = (await owner.post("/v1/saved-filters", json={"name": "a", "settings": {"x": 1}, "run_id": RUN})).json()
    of_none = (await owner.post("/v1/saved-filters", json={"name": "b", "settings": {}})).json()
    assert (of_run["run_id"], of_none["run_id"]) == (RUN, None)
    assert (await owner.get("/v1/saved-filters", params={"run_id": RUN})).json()["items"] == [of_run]
    assert (await owner.get("/v1/saved-filters")).json()["items"] == [of_none]
    assert (await owner.get("/v1/saved-filters", params={"run_id": "run_absent"})).status_code == 404
    assert (
        await owner.post("/v1/saved-filters", json={"name": "c", "settings": {}, "run_id": "run_absent"})
    ).status_code == 404
    assert (await owner.delete(f"/v1/saved-filters/{of_none['id']}")).status_code == 204
    assert (await owner.delete(f"/v1/saved-filters/{of_none['id']}")).status_code == 404


async def test_shares_are_listed_without_their_tokens(story: Story, owner: httpx.AsyncClient) -> None:
    soon = (datetime.now(UTC) + timedelta(hours=1)).replace(microsecond=0)
    made = (await owner.post(f"{HERE}/shares", json={"expires_at": soon.isoformat()})).json()
    assert datetime.fromisoformat(made["expires_at"]) == soon
    listed = await owner.get(f"{HERE}/shares")
    assert made["token"] not in listed.text
    assert [share["id"] for share in listed.json()["items"]] == [made["id"]]
    assert (await owner.post(f"{HERE}/shares", json={"expires_at": "2020-01-01T00:00:00Z"})).status_code == 422
    assert (await owner.delete(f"{HERE}/shares/{made['id']}")).status_code == 204
    assert (await owner.get(f"{HERE}/shares")).json()["items"][0]["revoked_at"] is not None
    assert (await owner.delete(f"{HERE}/shares/shr_absent")).status_code == 404
