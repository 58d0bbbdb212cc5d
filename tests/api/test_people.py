"""Keys, their audit, usage, quotas, limits and sessions over the API."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from evolve.events import EventKind
from service import keys
from service.api.one_time_login import OneTimeLogin
from service.ports import KeyRecord, Quotas, Scope
from service.signer import Signer
from tests.api.conftest import FILES
from tests.api.told import Told, bearer, open_told, small_run
from tests.api.visiting import visitor
from tests.contract.story import RUN, START, FixedClock, Story

AN_HOUR = timedelta(hours=1)
RECORD = KeyRecord(id="key_1", tenant="default", name="k", shown="", scopes=(), created_at=START, created_by="")
NO_TRAINING_LIMITS = dict.fromkeys(("active_training_jobs", "running_training_jobs", "training_seconds_per_day"))


def browser(told: Told) -> httpx.AsyncClient:
    """A client without a key."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(told.app), base_url="http://api")


async def made_key(client: httpx.AsyncClient, *scopes: str, **words: Any) -> dict[str, Any]:
    answer = await client.post("/v1/api-keys", json={"name": "k", "scopes": scopes or ["runs:read"]} | words)
    assert answer.status_code == 201, answer.text
    key: dict[str, Any] = answer.json()
    return key


async def audit(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    """The audit, the oldest line first."""
    items: list[dict[str, Any]] = (await client.get("/v1/audit", params={"limit": 200})).json()["items"]
    return items[::-1]


async def test_a_key_is_shown_once_and_opens_what_it_may(told: Told, owner: httpx.AsyncClient) -> None:
    made = await made_key(owner, "runs:read", "runs:read")
    assert keys.well_formed(made["key"])
    assert made["key"].startswith(made["shown"])
    assert made["scopes"] == ["runs:read"]
    listed = await owner.get("/v1/api-keys")
    assert made["key"] not in listed.text
    assert made["id"] in {key["id"] for key in listed.json()["items"]}
    async with browser(told) as client:
        assert (await client.get("/v1/runs", headers=bearer(made["key"]))).status_code == 200
        assert (
            await client.post("/v1/saved-filters", json={"name": "v", "settings": {}}, headers=bearer(made["key"]))
        ).status_code == 403


async def test_a_key_of_another_secret_is_told_from_an_unknown_one(told: Told, owner: httpx.AsyncClient) -> None:
    other = Signer("another secret, which is as long as it has to be")
    foreign = keys.mint(other)
    told.parts.keys.add(replace(RECORD, shown=foreign.shown), foreign.hash)
    revoked = await made_key(owner)
    await owner.delete(f"/v1/api-keys/{revoked['id']}")
    expected = {foreign.text: keys.FOREIGN, keys.mint(other).text: keys.UNKNOWN, revoked["key"]: keys.UNKNOWN}
    async with browser(told) as client:
        for text, detail in expected.items():
            for answer in (
                await client.get("/v1/runs", headers=bearer(text)),
                await client.post("/v1/session", json={"key": text}),
            ):
                assert answer.status_code == 401
                assert answer.json()["detail"] == detail


async def test_a_revoked_or_expired_key_opens_nothing(told: Told, owner: httpx.AsyncClient) -> None:
    soon = (datetime.now(UTC) + AN_HOUR).isoformat()
    made = await made_key(owner, expires_at=soon)
    async with browser(told) as client:
        assert (await client.get("/v1/runs", headers=bearer(made["key"]))).status_code == 200
        first = await owner.delete(f"/v1/api-keys/{made['id']}")
        again = await owner.delete(f"/v1/api-keys/{made['id']}")
        assert first.json()["revoked_at"] == again.json()["revoked_at"] is not None
        assert (await client.get("/v1/runs", headers=bearer(made["key"]))).status_code == 401
    assert (await owner.delete("/v1/api-keys/key_absent")).status_code == 404


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ({"scopes": []}, 422),
        ({"scopes": ["runs:fly"]}, 422),
        ({"scopes": "runs:read"}, 422),
        ({"expires_at": "2020-01-01T00:00:00Z"}, 422),
        ({"expires_at": "2030-01-01T00:00:00"}, 422),
        ({"expires_at": "1893456000"}, 422),
        ({"expires_at": 1893456000}, 422),
        ({"expires_at": "9999-12-31T23:59:59-23:59"}, 422),
        ({"expires_at": "0001-01-01T00:00:00+23:59"}, 422),
        ({"tenant": "A B"}, 422),
        ({"name": ""}, 422),
        ({"name": "x" * 201}, 422),
    ],
)
async def test_what_is_no_key_is_not_made(owner: httpx.AsyncClient, words: dict[str, Any], status: int) -> None:
    before = (await owner.get("/v1/api-keys")).json()
    answer = await owner.post("/v1/api-keys", json={"name": "k", "scopes": ["runs:read"]} | words)
    assert (answer.status_code, answer.json()["code"]) == (status, "invalid_request")
    assert (await owner.get("/v1/api-keys")).json() == before


async def test_a_key_gives_no_more_than_it_has(told: Told) -> None:
    async with told.client(Scope.KEYS_MANAGE, Scope.RUNS_READ) as manager:
        await made_key(manager, "runs:read")
        for words in (
            {"scopes": ["runs:write"]},
            {"scopes": ["operate"]},
            {"scopes": ["runs:read"], "tenant": "other"},
        ):
            answer = await manager.post("/v1/api-keys", json={"name": "k"} | words)
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    async with told.client(tenant="other") as foreign:
        answer = await foreign.post("/v1/api-keys", json={"name": "k", "scopes": ["runs:read"], "tenant": "default"})
        assert answer.status_code == 403


async def test_the_operator_makes_keys_of_other_tenants(told: Told, owner: httpx.AsyncClient) -> None:
    made = await made_key(owner, tenant="team-b")
    assert made["tenant"] == "team-b"
    assert made["id"] not in (await owner.get("/v1/api-keys")).text
    async with told.client(Scope.KEYS_MANAGE) as manager:
        assert (await manager.delete(f"/v1/api-keys/{made['id']}")).status_code == 404
    async with browser(told) as client:
        assert (await client.get("/v1/usage", headers=bearer(made["key"]))).json()["tenant"] == "team-b"
        assert (await owner.delete(f"/v1/api-keys/{made['id']}")).json()["revoked_at"] is not None
        assert (await client.get("/v1/usage", headers=bearer(made["key"]))).status_code == 401


async def test_every_change_and_every_refusal_stands_in_the_audit(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    run = f"/v1/runs/{RUN}"
    note = (await owner.post(f"{run}/notes", json={"body": "a text that nobody else reads"})).json()
    made = await made_key(owner)
    token = (await owner.post(f"{run}/shares", json={})).json()["token"]
    await owner.patch(f"{run}/notes/{note['id']}", json={"body": "x"})
    await owner.post(f"{run}/pause")
    await owner.post(f"{run}/extend", json={"budget": {"evaluations": 0}})
    await owner.post("/v1/runs/absent_0/cancel")
    await owner.get(run)
    async with told.client(Scope.RUNS_READ) as reader:
        await reader.delete(run)
    lines = await audit(owner)
    assert [(line["action"], line["subject"], line["outcome"]) for line in lines] == [
        ("create_note", note["id"], "201"),
        ("create_key", made["id"], "201"),
        ("create_share", lines[2]["subject"], "201"),
        ("update_note", note["id"], "200"),
        ("pause_run", RUN, "202"),
        ("extend_run", RUN, "422"),
        ("cancel_run", "absent_0", "404"),
        ("delete_run", RUN, "403"),
    ]
    assert lines[2]["subject"].startswith("shr_")
    assert len({line["request_id"] for line in lines}) == len(lines)
    assert len({line["actor"] for line in lines}) == 2
    text = (await owner.get("/v1/audit")).text
    assert not [secret for secret in (made["key"], token, "nobody else reads") if secret in text]


async def test_tenants_read_their_own_audit(told: Told, owner: httpx.AsyncClient) -> None:
    await owner.post("/v1/saved-filters", json={"name": "v", "settings": {}})
    async with told.client(tenant="other") as foreign:
        assert await audit(foreign) == []
        await foreign.post("/v1/saved-filters", json={"name": "w", "settings": {}})
        assert len(await audit(foreign)) == 1
    assert len(await audit(owner)) == 1


async def test_usage_counts_what_lies_in_the_time(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    end = START + timedelta(minutes=5)
    query = {"since": (START - AN_HOUR).isoformat(), "until": end.isoformat()}
    usage = (await owner.get("/v1/usage", params=query)).json()
    counted = {
        name: usage[name]
        for name in ("runs", "active_runs", "proposals", "evaluations", "tokens_input", "tokens_output")
    }
    assert counted == {
        "runs": 1, "active_runs": 1, "proposals": 3, "evaluations": 4, "tokens_input": 300, "tokens_output": 120
    }  # fmt: skip
    assert usage["evaluation_seconds"] == 4 * 0.25
    assert usage["quotas"] == {
        "tenant": "default",
        "active_runs": None,
        "evaluations_per_day": None,
        "tokens_per_day": None,
        **NO_TRAINING_LIMITS,
    }
    before = (await owner.get("/v1/usage", params={"until": (START - AN_HOUR).isoformat()})).json()
    assert (before["evaluations"], before["tokens_input"]) == (0, 0)


@pytest.mark.parametrize(
    "query",
    [
        {"since": "yesterday"}, {"since": "2026-01-01"}, {"since": "2026-01-01T00:00:00"}, {"since": "1700000000"},
        {"since": "2026-03-02T00:00:00Z", "until": "2026-03-01T00:00:00Z"},
        {"since": "2020-01-01T00:00:00Z", "until": "2026-03-01T00:00:00Z"},
        {"since": "9999-12-31T23:59:59Z"}, {"until": "9999-12-31T23:59:59-12:00"},
        {"until": "0001-01-01T00:00:00+12:00"},
        {"until": "0001-01-01T00:00:00Z"}, {"since": "x" * 50},
    ],
)  # fmt: skip
async def test_times_that_are_off_are_refused(owner: httpx.AsyncClient, query: dict[str, str]) -> None:
    answer = await owner.get("/v1/usage", params=query)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


async def test_the_page_of_retention_tells_its_rule_in_sentences(told: Told) -> None:
    async with visitor(told) as client:
        page = re.sub(r"<[^>]*>|\s+", " ", (await client.get("/admin/retention")).text)
    words = " ".join(page.split())
    assert "this service has no retention.days . The audit is kept for ever" in words


async def test_the_operator_reads_what_is_held_and_past_its_time(
    told: Told, owner: httpx.AsyncClient, problem: str
) -> None:
    await owner.post("/v1/runs", json={"problem": "p"})
    found = (await owner.get("/v1/retention")).json()
    assert (found["days"], found["set_days"], found["audit_days"]) == (None, None, None)
    assert found["database_bytes"] > 0
    (held,) = found["tenants"]
    assert (held["tenant"], held["runs"], held["ended"], held["due_runs"]) == ("default", 1, 0, 0)
    assert (await owner.get("/v1/retention?days=30")).json()["days"] == 30
    async with told.client(*(scope for scope in Scope if scope is not Scope.OPERATE)) as other:
        assert (await other.get("/v1/retention")).status_code == 403


async def test_quotas_bound_what_a_tenant_submits(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    await made_key(owner, tenant="other")
    path = "/v1/tenants/other/quotas"
    assert (await owner.get(path)).json()["active_runs"] is None
    wanted = {"active_runs": 1, "evaluations_per_day": None, "tokens_per_day": 10**6} | NO_TRAINING_LIMITS
    assert (await owner.put(path, json=wanted)).json() == {"tenant": "other"} | wanted
    assert (await owner.get(path)).json() == {"tenant": "other"} | wanted
    async with told.client(tenant="other") as tenant:
        await tenant.post("/v1/problems", json={"files": FILES})
        assert (await tenant.post("/v1/runs", json={"problem": "p"})).status_code == 201
        answer = await tenant.post("/v1/runs", json={"problem": "p"})
        assert (answer.status_code, answer.json()["code"]) == (429, "quota_exceeded")
        assert int(answer.headers["Retry-After"]) > 0
        assert (await tenant.get("/v1/usage")).json()["quotas"] == {"tenant": "other"} | wanted
        assert (await tenant.put(path, json={})).status_code == 403
    assert (await owner.post("/v1/runs", json={"problem": "p"})).status_code == 201
    for body in ({"active_runs": 0}, {"active_runs": "1"}, {"tokens": 1}, {"active_runs": 1.5}):
        assert (await owner.put(path, json=body)).status_code == 422
    for method in ("GET", "PUT"):
        assert (await owner.request(method, "/v1/tenants/absent/quotas", json={})).status_code == 404


async def test_a_paused_run_does_not_go_on_beyond_the_quotas_of_24_hours(
    told: Told, owner: httpx.AsyncClient, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = (await owner.post("/v1/runs", json={"problem": problem})).json()["id"]
    fence, story = told.log.take(run_id, "test", 60), Story(run_id)
    told.log.append(run_id, fence, [*story.seed(), story.tell(EventKind.RUN_PAUSED, by="quota")])
    told.log.release(run_id, fence)
    told.parts.accounts.set_quotas("default", Quotas(evaluations_per_day=1))
    monkeypatch.setattr(told.parts.submissions, "_clock", FixedClock(story.at))
    refused = await owner.post(f"/v1/runs/{run_id}/resume")
    assert (refused.status_code, refused.json().get("code")) == (429, "quota_exceeded")
    assert "has used 1 of 1 evaluations in 24 hours" in refused.json()["detail"]
    assert int(refused.headers["Retry-After"]) == 3600 - story.at.second
    told.parts.accounts.set_quotas("default", Quotas(evaluations_per_day=2))
    assert (await owner.post(f"/v1/runs/{run_id}/resume")).status_code == 202


async def test_a_run_that_is_continued_counts_against_the_quota(
    told: Told, owner: httpx.AsyncClient, problem: str
) -> None:
    made = [(await owner.post("/v1/runs", json={"problem": problem})).json()["id"] for _ in range(3)]
    for run_id, reason in ((made[0], "evaluations"), (made[1], "error")):
        fence, story = told.log.take(run_id, "test", 60), Story(run_id)
        told.log.append(run_id, fence, [*story.seed(), story.tell(EventKind.RUN_FINISHED, reason=reason)])
        told.log.release(run_id, fence)
    told.parts.accounts.set_quotas("default", Quotas(active_runs=1))
    more = {"budget": {"evaluations": 10_000}}
    for path, body in ((f"{made[0]}/extend", more), (f"{made[1]}/extend", more), (f"{made[1]}/resume", None)):
        answer = await owner.post(f"/v1/runs/{path}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (429, "quota_exceeded")
    assert [(await owner.get(f"/v1/runs/{run_id}")).json()["state"] for run_id in made] == [
        "succeeded", "failed", "queued",
    ]  # fmt: skip
    # A run that is at work already is no further one.
    assert (await owner.post(f"/v1/runs/{made[2]}/extend", json=more)).status_code == 202
    told.parts.accounts.set_quotas("default", Quotas(active_runs=2))
    assert (await owner.post(f"/v1/runs/{made[0]}/extend", json=more)).json()["state"] == "queued"
    answer = await owner.post(f"/v1/runs/{made[1]}/extend", json=more)
    assert (answer.status_code, answer.json()["code"]) == (429, "quota_exceeded")


async def test_who_asks_too_often_is_told_how_long_to_wait(tmp_path: Path) -> None:
    async with open_told(tmp_path, requests_per_minute=5) as told, told.client() as hurried, told.client() as calm:
        answers = [await hurried.get("/v1/runs") for _ in range(6)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429]
        assert [answer.headers["RateLimit"].split(";")[1] for answer in answers[:5]] == [
            f"r={n}" for n in (4, 3, 2, 1, 0)
        ]
        assert answers[0].headers["RateLimit-Policy"] == '"key";q=5;w=60'
        assert answers[5].json()["code"] == "rate_limited"
        assert 1 <= int(answers[5].headers["Retry-After"]) <= 13
        assert (await calm.get("/v1/runs")).status_code == 200


async def test_strangers_are_counted_by_their_address(tmp_path: Path) -> None:
    async with open_told(tmp_path, requests_per_minute=3) as told, browser(told) as stranger:
        wrong = bearer("evo_" + "0" * 43)
        calls = [
            await stranger.get("/v1/runs"),
            await stranger.get("/v1/runs", headers=wrong),
            await stranger.post("/v1/session", json={"key": "evo_x"}),
            await stranger.post("/v1/session", json={"key": "evo_x"}),
        ]
    assert [call.status_code for call in calls] == [401, 401, 401, 429]


@pytest.fixture
async def laptop(tmp_path: Path) -> AsyncIterator[tuple[Told, OneTimeLogin]]:
    """An API with a one-time address."""
    login = OneTimeLogin()
    async with open_told(tmp_path, lambda parts: replace(parts, login=login)) as told:
        yield told, login


async def test_a_one_time_address_opens_one_session(laptop: tuple[Told, OneTimeLogin]) -> None:
    told, login = laptop
    async with browser(told) as first, browser(told) as second:
        assert (await first.get("/login", params={"token": "wrong"})).status_code == 401
        opened = await first.get("/login", params={"token": login.token})
        assert (opened.status_code, opened.headers["Location"]) == (303, "/")
        assert (await second.get("/login", params={"token": login.token})).status_code == 401
        session = next(one for one in opened.headers.get_list("set-cookie") if one.startswith("evolve_session="))
        assert "HttpOnly" in session
        assert "SameSite=lax" in session
        assert (await first.get("/v1/runs")).status_code == 200
        assert (await second.get("/v1/runs")).status_code == 401
        ended = await first.delete("/v1/session", headers={"X-CSRF-Token": first.cookies["evolve_csrf"]})
        assert ended.status_code == 204
        assert (await first.get("/v1/runs")).status_code == 401


async def test_there_is_no_one_time_address_where_none_was_printed(told: Told) -> None:
    async with browser(told) as client:
        assert (await client.get("/login", params={"token": ""})).status_code == 401
        assert (await client.get("/login")).status_code == 422


@pytest.mark.parametrize("shown", ["", "evo_x", "evo_" + "0" * 43, "é", "x" * 200])
async def test_a_session_is_opened_with_a_valid_key(told: Told, shown: str) -> None:
    async with browser(told) as client:
        answer = await client.post("/v1/session", json={"key": shown})
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
        assert "set-cookie" not in answer.headers


async def test_who_signs_out_leaves_no_copy_of_the_session_behind(told: Told) -> None:
    key = told.key()
    async with browser(told) as client, browser(told) as thief, browser(told) as other:
        for one in (client, other):
            await one.post("/v1/session", json={"key": key})
        thief.cookies.update(client.cookies)
        assert (await thief.get("/v1/runs")).status_code == 200
        assert (await client.delete("/v1/session")).status_code == 204
        assert (await thief.get("/v1/runs")).status_code == 401
        assert (await thief.delete("/v1/session")).status_code == 204
        assert (await other.get("/v1/runs")).status_code == 200


async def test_sessions_opened_and_refused_stand_in_the_audit(told: Told, owner: httpx.AsyncClient) -> None:
    async with browser(told) as client:
        assert (await client.post("/v1/session", json={"key": told.key()})).status_code == 204
        assert (await client.post("/v1/saved-filters", json={"name": "v", "settings": {}})).status_code == 403
    lines = await audit(owner)
    assert [(line["action"], line["outcome"]) for line in lines] == [
        ("create_session", "204"),
        ("create_saved_filter", "403"),
    ]
    assert lines[1]["actor"].startswith("ses_")


@pytest.mark.parametrize("change", [lambda text: text[:-4] + "AAAA", lambda text: text[4:], lambda text: text.upper()])
async def test_a_forged_session_opens_nothing(told: Told, change: Any) -> None:
    async with browser(told) as client:
        await client.post("/v1/session", json={"key": told.key()})
        forged = change(client.cookies["evolve_session"])
        client.cookies.clear()
        assert (await client.get("/v1/runs", headers={"Cookie": f"evolve_session={forged}"})).status_code == 401
