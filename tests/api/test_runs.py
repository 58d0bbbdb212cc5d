"""Runs over the API: submitted, read, waited for, steered, forked, removed."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import httpx
import pytest
from anyio import to_thread
from sqlalchemy import delete

from evolve.events import EventKind
from evolve.program import Program
from service.db.models import EventRow, RunRow
from service.ports import Scope
from tests.api.told import Told, open_told, small_run
from tests.contract.story import RUN, Story

OTHER = "run_0190bbbb000000000000000000000002"


async def submit(client: httpx.AsyncClient, **words: Any) -> dict[str, Any]:
    answer = await client.post("/v1/runs", json={"problem": "p"} | words)
    assert answer.status_code == 201, answer.text
    run: dict[str, Any] = answer.json()
    return run


def refused(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["Content-Type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


async def walk(client: httpx.AsyncClient, path: str, **query: Any) -> list[Any]:
    """Every item of a list, page by page."""
    items, cursor = [], ""
    while True:
        page = (await client.get(path, params=query | {"cursor": cursor})).json()
        items += page["items"]
        if page["next_cursor"] is None:
            return items
        cursor = page["next_cursor"]


async def test_a_submitted_run_is_queued_and_found_where_location_says(owner: httpx.AsyncClient, problem: str) -> None:
    answer = await owner.post("/v1/runs", json={"problem": "p", "config": {"seed": 5}, "labels": {"team": "a"}})
    run = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Location"] == run["urls"]["self"] == f"/v1/runs/{run['id']}"
    assert (run["state"], run["seed"], run["labels"], run["problem_id"]) == ("queued", 5, {"team": "a"}, problem)
    again = await owner.get(answer.headers["Location"])
    assert (again.json(), again.headers["ETag"]) == (run, answer.headers["ETag"])


async def test_a_run_is_of_the_key_that_it_was_submitted_with(
    told: Told, owner: httpx.AsyncClient, problem: str
) -> None:
    key = (await owner.post("/v1/api-keys", json={"name": "alice", "scopes": ["runs:read", "runs:write"]})).json()
    alices = {"Authorization": f"Bearer {key['key']}"}
    made = await owner.post("/v1/runs", json={"problem": "p"}, headers=alices)
    assert made.json()["created_by"] == "alice"
    assert (await submit(owner))["created_by"] == "test"
    page = (await owner.get("/v1/runs", params={"created_by": "alice", "include": "count"})).json()
    assert ([run["id"] for run in page["items"]], page["count"]) == ([made.json()["id"]], 1)
    batch = await owner.post("/v1/batches", json={"name": "b", "runs": [{"problem": "p"}]}, headers=alices)
    assert batch.status_code == 201, batch.text
    assert len(await walk(owner, "/v1/runs", created_by="alice")) == 2
    # Who opens a share learns no names.
    share = (await owner.post(f"/v1/runs/{made.json()['id']}/shares", json={})).json()
    shown = await owner.get(f"/v1/runs/{made.json()['id']}", headers={"Authorization": f"Bearer {share['token']}"})
    assert (shown.status_code, shown.json()["created_by"]) == (200, "")


@pytest.mark.parametrize("name", ["p", "p@1", "ID"])
async def test_a_problem_is_named_by_id_by_name_or_by_version(
    owner: httpx.AsyncClient, problem: str, name: str
) -> None:
    assert (await submit(owner, problem=problem if name == "ID" else name))["problem_id"] == problem


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ({"problem": "absent"}, (404, "not_found")),
        ({"problem": "p@2"}, (404, "not_found")),
        ({"problem": "p", "policy": "absent"}, (404, "not_found")),
        ({"problem": "p", "config": {"iland": 3}}, (422, "invalid_configuration")),
        ({"problem": "p", "config": {"islands": -1}}, (422, "invalid_configuration")),
        ({"problem": "p", "config": {"islands": "3"}}, (422, "invalid_configuration")),
        ({"problem": "p", "config": {"prompt": {"system": "\x00"}}}, (422, "invalid_configuration")),
        ({"problem": "p", "labels": {"Upper": "x"}}, (422, "invalid_request")),
        ({"problem": "p", "labels": {f"l{n}": "x" for n in range(17)}}, (422, "invalid_request")),
        ({"problem": "p", "labels": {"a": 1}}, (422, "invalid_request")),
        ({"problem": "p", "extra": 1}, (422, "invalid_request")),
        ({"problem": 3}, (422, "invalid_request")),
        ({"problem": ""}, (422, "invalid_request")),
        ({}, (422, "invalid_request")),
        ([], (422, "invalid_request")),
        ({"problem": "p", "policy": {"base_url": "http://10.0.0.1/v1", "model": "m"}}, (403, "refused")),
        ({"problem": "p", "policy": {"kind": "oracle"}}, (422, "invalid_request")),
        ({"problem": "p", "policy": []}, (422, "invalid_request")),
        ({"problem": "p", "policy": ["syntax"] * 17}, (422, "invalid_request")),
        ({"problem": "p", "policy": [["syntax"]]}, (422, "invalid_request")),
        ({"problem": "p", "policy": ["syntax", "syntax"]}, (422, "invalid_request")),
        ({"problem": "p", "policy": ["syntax", "absent"]}, (404, "not_found")),
        ({"problem": "p", "policy": ["syntax", {"base_url": "http://10.0.0.1/v1", "model": "m"}]}, (403, "refused")),
    ],
)
async def test_what_cannot_work_is_refused_before_anything_is_stored(
    owner: httpx.AsyncClient, problem: str, body: Any, outcome: tuple[int, str]
) -> None:
    assert refused(await owner.post("/v1/runs", json=body)) == outcome
    assert (await owner.get("/v1/runs")).json()["items"] == []


async def test_a_misspelt_key_is_answered_with_the_nearest_known_one(owner: httpx.AsyncClient, problem: str) -> None:
    answer = await owner.post("/v1/runs", json={"problem": "p", "config": {"iland": 3}})
    assert "islands" in answer.json()["detail"]


async def test_a_check_says_what_a_run_would_be_and_stores_nothing(owner: httpx.AsyncClient, problem: str) -> None:
    body = {"problem": "p", "policy": "syntax", "config": {"islands": 3, "budget": {"evaluations": 7}}}
    checked = await owner.post("/v1/runs/check", json=body)
    assert checked.status_code == 200, checked.text
    refused = await owner.post("/v1/runs/check", json={"problem": "p", "config": {"iland": 3}})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_configuration")
    assert (await owner.get("/v1/runs")).json()["items"] == []
    submitted = (await owner.post("/v1/runs", json=body)).json()
    assert checked.json() == {key: submitted[key] for key in ("problem", "config", "policies")}


async def test_a_run_may_ask_several_policies(owner: httpx.AsyncClient, problem: str) -> None:
    run = await submit(owner, policy=["syntax", {"kind": "syntax", "name": "mine", "weight": 2.5, "answers": 2}])
    assert [(policy["name"], policy.get("weight", 1.0)) for policy in run["policies"]] == [
        ("syntax", 1.0),
        ("mine", 2.5),
    ]


async def test_what_has_been_seen_is_not_sent_again(owner: httpx.AsyncClient, problem: str) -> None:
    run = await submit(owner)
    place = run["urls"]["self"]
    tag = (await owner.get(place)).headers["ETag"]
    for shown in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = await owner.get(place, headers={"If-None-Match": shown})
        assert (answer.status_code, answer.content, answer.headers["ETag"]) == (304, b"", tag)
    await owner.patch(place, json={"labels": {"a": "b"}})
    assert (await owner.get(place, headers={"If-None-Match": tag})).status_code == 200


async def test_a_change_of_what_was_changed_meanwhile_is_refused(owner: httpx.AsyncClient, problem: str) -> None:
    place = (await submit(owner))["urls"]["self"]
    tag = (await owner.get(place)).headers["ETag"]
    first = await owner.patch(place, json={"labels": {"by": "first"}}, headers={"If-Match": tag})
    assert (first.status_code, first.json()["labels"]) == (200, {"by": "first"})
    for shown in (tag, '"nonsense"', "7"):
        second = await owner.patch(place, json={"labels": {"by": "second"}}, headers={"If-Match": shown})
        assert refused(second) == (412, "stale")
        assert refused(await owner.delete(place, headers={"If-Match": shown})) == (412, "stale")
    assert (await owner.get(place)).json()["labels"] == {"by": "first"}
    now = first.headers["ETag"]
    assert (await owner.patch(place, json={"labels": {}}, headers={"If-Match": now})).json()["labels"] == {}
    assert (await owner.patch(place, json={"labels": {"c": "d"}}, headers={"If-Match": "*"})).status_code == 200


async def test_steering_is_intent_until_a_runner_follows(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    for verb, state in (("pause", "pausing"), ("resume", "running"), ("cancel", "cancelling")):
        answer = await owner.post(f"/v1/runs/{RUN}/{verb}")
        assert (answer.status_code, answer.json()["state"]) == (202, state)
        assert answer.headers["Location"] == f"/v1/runs/{RUN}"
        again = await owner.post(f"/v1/runs/{RUN}/{verb}")
        assert (again.status_code, again.headers["ETag"]) == (202, answer.headers["ETag"])
    for verb in ("pause", "resume"):
        assert refused(await owner.post(f"/v1/runs/{RUN}/{verb}")) == (409, "conflict")


async def test_an_ended_run_is_steered_no_more(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    told.append([story.tell(EventKind.RUN_FINISHED, reason="evaluations", candidate_id=story.id(2), fitness=3.0)])
    run = (await owner.get(f"/v1/runs/{RUN}")).json()
    assert (run["state"], run["reason"], run["succeeded_at"] is None) == ("succeeded", "evaluations", False)
    for verb in ("pause", "cancel"):
        answer = await owner.post(f"/v1/runs/{RUN}/{verb}")
        assert refused(answer) == (409, "conflict")
        assert "succeeded" in answer.json()["detail"]
    body = {"budget": {"evaluations": 1}}
    assert refused(await owner.post(f"/v1/runs/{RUN}/extend", json=body)) == (409, "conflict")


async def test_an_ended_run_is_continued_with_a_larger_budget(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    told.append([story.tell(EventKind.RUN_FINISHED, reason="evaluations", candidate_id=story.id(2), fitness=3.0)])
    told.log.release(RUN, told.fences[RUN])
    once = {"Idempotency-Key": "continue-it"}
    body = {"budget": {"evaluations": 900}}
    answer = await owner.post(f"/v1/runs/{RUN}/extend", json=body, headers=once)
    again = await owner.post(f"/v1/runs/{RUN}/extend", json=body, headers=once)
    assert (answer.status_code, answer.json()["state"], answer.json()["succeeded_at"]) == (202, "queued", None)
    assert again.json() == answer.json()
    events = (await owner.get(f"/v1/runs/{RUN}/events")).json()["items"]
    assert [event["kind"] for event in events[-3:]] == ["run.finished", "run.continued", "budget.extended"]


async def test_a_budget_is_extended_key_by_key(owner: httpx.AsyncClient, problem: str) -> None:
    place = (await submit(owner))["urls"]["self"]
    first = await owner.post(f"{place}/extend", json={"budget": {"evaluations": 500}})
    assert (first.status_code, first.json()["desired_budget"]) == (202, {"evaluations": 500})
    second = await owner.post(f"{place}/extend", json={"budget": {"tokens": 5.0, "evaluations": None}})
    assert second.json()["desired_budget"] == {"evaluations": None, "tokens": 5}


@pytest.mark.parametrize(
    "budget",
    [
        {},
        {"evaluations": 0},
        {"evaluations": 1.5},
        {"evaluations": True},
        {"money": 3},
        {"money": "much"},
        {"wall_seconds": 0},
        {"patience": "9"},
        {"tokens": -1},
        None,
    ],
)
async def test_no_budget_is_taken_that_no_runner_could_take(
    owner: httpx.AsyncClient, problem: str, budget: Any
) -> None:
    place = (await submit(owner))["urls"]["self"]
    assert refused(await owner.post(f"{place}/extend", json={"budget": budget})) == (422, "invalid_request")
    assert (await owner.get(place)).json()["desired_budget"] == {}


async def evolved(told: Told, owner: httpx.AsyncClient) -> tuple[str, str]:
    """A run of the problem, and a candidate of it that is no seed."""
    run = await submit(owner)
    story = Story(run["id"])
    told.fences[run["id"]] = told.log.take(run["id"], "test", 3600.0)
    program = Program.of({"seed.py": "def solve():\n    return 2\n"})
    told.append(
        [story.tell(EventKind.RUN_STARTED, by="test"), story.create(0, program=program), story.evaluate(story.id(0))]
    )
    return run["id"], story.id(0)


async def test_a_fork_begins_with_a_program_of_the_run(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    run, candidate = await evolved(told, owner)
    body = {"candidate_id": candidate, "config": {"seed": 3}, "labels": {"of": "it"}}
    answer = await owner.post(f"/v1/runs/{run}/fork", json=body)
    fork = answer.json()
    assert (answer.status_code, fork["fork_of"], fork["seed"], fork["labels"]) == (201, candidate, 3, {"of": "it"})
    assert answer.headers["Location"] == f"/v1/runs/{fork['id']}" != f"/v1/runs/{run}"


async def test_a_fork_takes_the_name_of_a_candidate(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    run, candidate = await evolved(told, owner)
    for named in ("0.0", f"{run}.0.0"):
        answer = await owner.post(f"/v1/runs/{run}/fork", json={"candidate_id": named})
        assert (answer.status_code, answer.json().get("fork_of")) == (201, candidate)
    other = (await submit(owner))["id"]
    for named in ("0.7", f"{other}.0.0"):
        answer = await owner.post(f"/v1/runs/{run}/fork", json={"candidate_id": named})
        assert refused(answer) == (404, "not_found")


async def test_a_fork_is_of_a_candidate_of_that_run(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    run, candidate = await evolved(told, owner)
    other = (await submit(owner))["id"]
    for place, body in ((other, {"candidate_id": candidate}), (run, {"candidate_id": "cnd_" + "0" * 32})):
        assert refused(await owner.post(f"/v1/runs/{place}/fork", json=body)) == (404, "not_found")
    assert len((await owner.get("/v1/runs")).json()["items"]) == 2


async def test_only_runs_that_nobody_works_at_are_removed(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    small_run(told)
    assert refused(await owner.delete(f"/v1/runs/{RUN}")) == (409, "conflict")
    place = (await submit(owner))["urls"]["self"]
    answer = await owner.delete(place)
    assert (answer.status_code, answer.content) == (202, b"")
    assert refused(await owner.get(place)) == (404, "not_found")
    assert refused(await owner.delete(place)) == (404, "not_found")
    assert [run["id"] for run in (await owner.get("/v1/runs")).json()["items"]] == [RUN]


async def test_waiting_ends_when_the_state_changes(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    waiting = asyncio.create_task(owner.get(f"/v1/runs/{RUN}", headers={"Prefer": "wait=30"}))
    finished, _ = await asyncio.wait([waiting], timeout=0.6)
    assert not finished
    told.append([story.tell(EventKind.RUN_FINISHED, reason="target", candidate_id=story.id(2), fitness=3.0)])
    answer = await asyncio.wait_for(waiting, 10)
    assert (answer.json()["state"], answer.headers["Preference-Applied"]) == ("succeeded", "wait=30")


async def test_waiting_ends_in_time_and_at_once_for_what_has_ended(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    still = await asyncio.wait_for(owner.get(f"/v1/runs/{RUN}", headers={"Prefer": "respond-async, wait=1"}), 10)
    assert (still.json()["state"], still.headers["Preference-Applied"]) == ("running", "wait=1")
    told.append([story.tell(EventKind.RUN_FINISHED, reason="target", candidate_id=story.id(2), fitness=3.0)])
    ended = await asyncio.wait_for(owner.get(f"/v1/runs/{RUN}", headers={"Prefer": "wait=9999"}), 10)
    assert (ended.json()["state"], ended.headers["Preference-Applied"]) == ("succeeded", "wait=60")


async def test_waiting_for_a_pause_ends_when_the_run_is_shown_as_paused(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    assert (await owner.post(f"/v1/runs/{RUN}/pause")).json()["state"] == "pausing"
    waiting = asyncio.create_task(owner.get(f"/v1/runs/{RUN}", headers={"Prefer": "wait=30"}))
    await asyncio.sleep(0.2)
    told.append([story.tell(EventKind.RUN_PAUSING, by="test")])
    finished, _ = await asyncio.wait([waiting], timeout=0.6)
    assert not finished
    told.append([story.tell(EventKind.RUN_PAUSED, by="test")])
    assert (await asyncio.wait_for(waiting, 10)).json()["state"] == "paused"


async def test_waiting_with_a_tag_ends_with_whatever_is_new(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    tag = (await owner.get(f"/v1/runs/{RUN}")).headers["ETag"]
    headers = {"Prefer": "wait=30", "If-None-Match": tag}
    waiting = asyncio.create_task(owner.get(f"/v1/runs/{RUN}", headers=headers))
    finished, _ = await asyncio.wait([waiting], timeout=0.6)
    assert not finished
    told.append(story.child(4, story.id(0), 2.5))
    answer = await asyncio.wait_for(waiting, 10)
    assert (answer.status_code, answer.json()["state"]) == (200, "running")
    assert answer.headers["ETag"] != tag


async def test_a_walk_sees_every_run_once_while_others_are_added(owner: httpx.AsyncClient, problem: str) -> None:
    there = [(await submit(owner))["id"] for _ in range(7)]
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await owner.get("/v1/runs", params={"limit": 2, "cursor": cursor})).json()
        seen += [run["id"] for run in page["items"]]
        cursor = page["next_cursor"]
        await submit(owner)
    assert [one for one in seen if one in there] == there[::-1]
    assert len(seen) == len(set(seen))


async def test_lists_are_filtered_and_counted(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    small_run(told)
    for number in range(3):
        await submit(owner, labels={"team": "a" if number else "b", "n": str(number)})
    queries: list[tuple[dict[str, str], int]] = [
        ({}, 4), ({"state": "queued"}, 3), ({"state": "running"}, 1), ({"state": "queued,running"}, 4),
        ({"state": "failed"}, 0), ({"problem": "p"}, 3), ({"problem": "packing"}, 1), ({"problem": "nobody's"}, 0),
        ({"labels": "team=a"}, 2), ({"labels": "team=a,n=2"}, 1), ({"labels": "team=c"}, 0), ({"labels": "none="}, 0),
        ({"batch_id": "bat_none"}, 0), ({"labels": "team=a", "state": "running"}, 0),
    ]  # fmt: skip
    for query, count in queries:
        page = (await owner.get("/v1/runs", params=query | {"include": "count", "limit": "1"})).json()
        assert page["count"] == len(await walk(owner, "/v1/runs", **query)) == count, query
        assert len(page["items"]) == min(count, 1)
    assert (await owner.get("/v1/runs")).json()["count"] is None


async def test_runs_are_sorted_and_chosen_by_their_time_and_a_walk_outlasts_removals(
    told: Told, owner: httpx.AsyncClient, problem: str
) -> None:
    ids = [(await submit(owner))["id"] for _ in range(4)]
    assert [one["id"] for one in await walk(owner, "/v1/runs", sort="created_at", problem="p")] == ids
    first = (await owner.get("/v1/runs", params={"sort": "created_at", "limit": 2, "problem": "p"})).json()
    with told.database.write() as connection:
        connection.execute(delete(EventRow).where(EventRow.run_id == ids[1]))
        connection.execute(delete(RunRow).where(RunRow.id == ids[1]))
    query = {"sort": "created_at", "problem": "p", "cursor": first["next_cursor"]}
    assert [one["id"] for one in (await owner.get("/v1/runs", params=query)).json()["items"]] == ids[2:]
    moment = (await owner.get(f"/v1/runs/{ids[2]}")).json()["created_at"]
    since = await walk(owner, "/v1/runs", created_after=moment, problem="p")
    assert {one["id"] for one in since} >= {ids[2], ids[3]}
    assert (await owner.get("/v1/runs", params={"created_after": "yesterday"})).status_code == 422
    assert (await owner.get("/v1/runs", params={"created_before": "2026-01-01T00:00:00"})).status_code == 422
    assert b"RunFilter" not in base64.urlsafe_b64decode(first["next_cursor"] + "===")


async def test_a_cursor_of_another_version_is_refused_with_a_sentence(told: Told, owner: httpx.AsyncClient) -> None:
    old = told.parts.signer.sign("cursor", {"about": {"list": "runs"}, "after": RUN})
    answer = await owner.get("/v1/runs", params={"cursor": old})
    assert refused(answer) == (400, "invalid_cursor")
    assert "begin again without one" in answer.json()["detail"]


async def test_a_cursor_goes_on_with_the_same_question_only(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    for _ in range(2):
        await submit(owner, labels={"a": "b"})
    cursor = (await owner.get("/v1/runs", params={"limit": 1})).json()["next_cursor"]
    assert (await owner.get("/v1/runs", params={"cursor": cursor})).status_code == 200
    for query in ({"state": "queued"}, {"labels": "a=b"}, {"problem": "p"}, {"batch_id": "bat_1"}):
        assert refused(await owner.get("/v1/runs", params={"cursor": cursor} | query)) == (400, "invalid_cursor")
    for lie in (cursor[:-2], cursor[::-1], "x", "é", "A" * 4096, cursor + "A"):
        assert refused(await owner.get("/v1/runs", params={"cursor": lie})) == (400, "invalid_cursor")
    assert refused(await owner.get("/v1/problems", params={"cursor": cursor})) == (400, "invalid_cursor")
    async with told.client(tenant="other") as foreign:
        assert refused(await foreign.get("/v1/runs", params={"cursor": cursor})) == (400, "invalid_cursor")


@pytest.mark.parametrize(("limit", "count"), [("1", 1), ("200", 3), ("100000000000000000000", 3)])
async def test_a_limit_that_is_too_large_is_the_largest(
    owner: httpx.AsyncClient, problem: str, limit: str, count: int
) -> None:
    for _ in range(3):
        await submit(owner)
    assert len((await owner.get("/v1/runs", params={"limit": limit})).json()["items"]) == count


@pytest.mark.parametrize(
    "query",
    [
        {"limit": "0"},
        {"limit": "-1"},
        {"limit": "1.5"},
        {"limit": "x"},
        {"limit": ""},
        {"state": "runing"},
        {"state": "queued,"},
        {"labels": "a"},
        {"labels": "=b"},
        {"include": "all"},
        {"problem": "\x00"},
        {"batch_id": "a b"},
        {"cursor": "x" * 5000},
    ],
)
async def test_queries_that_are_off_are_named(owner: httpx.AsyncClient, query: dict[str, str]) -> None:
    answer = await owner.get("/v1/runs", params=query)
    assert refused(answer) == (422, "invalid_request")
    assert answer.json()["errors"][0]["pointer"] == next(iter(query))


async def test_runs_of_others_are_steered_by_nobody(told: Told, problem: str, owner: httpx.AsyncClient) -> None:
    run = await submit(owner)
    async with told.client(tenant="other") as foreign:
        for verb in ("pause", "resume", "cancel"):
            assert refused(await foreign.post(f"/v1/runs/{run['id']}/{verb}")) == (404, "not_found")
    async with told.client(Scope.RUNS_READ) as reader:
        assert refused(await reader.post(f"/v1/runs/{run['id']}/cancel")) == (403, "forbidden")
    assert (await owner.get(run["urls"]["self"])).json() == run


async def test_as_many_requests_read_the_database_at_once_as_the_settings_say(tmp_path: Path) -> None:
    async with open_told(tmp_path, threads=3):
        assert to_thread.current_default_thread_limiter().total_tokens == 3


@pytest.mark.parametrize("beginning", ["n", "None", "run_0"])
async def test_what_is_too_short_to_name_a_run_is_not_there(tmp_path: Path, beginning: str) -> None:
    async with open_told(tmp_path) as told, told.client() as client:
        for method, path in (("GET", ""), ("POST", "/resume"), ("DELETE", "/shares/shr_1")):
            answer = await client.request(method, f"/v1/runs/{beginning}{path}")
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
