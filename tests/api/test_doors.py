"""Every route of the API, walked without a key, with each wrong scope, with a foreign key, and by a share's bearer."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from evolve.identity import proposal_id
from service import keys
from service.api.app import door_of, routes_of
from service.api.auth import queries_of
from service.ports import Scope, Share
from tests.api.told import Told, bearer, open_told
from tests.contract.story import RUN, START, Story, new_run
from tests.fakes.tiny_llama import write_model

OPEN = {
    "get_health",
    "get_readiness",
    "get_identity",
    "get_error_code",
    "log_in_once",
    "create_session",
    "delete_session",
}
BODIES: dict[str, Any] = {
    "create_run": {"problem": "packing"},
    "fork_run": {"candidate_id": "CANDIDATE"},
    "update_run": {"labels": {}},
    "extend_run": {"budget": {"evaluations": 500}},
    "create_hint": {"text": "try rings"},
    "edit_insights": {"text": "- rings"},
    "create_ban": {"candidate_id": "CANDIDATE"},
    "create_priority": {"candidate_id": "CANDIDATE"},
    "change_settings": {"settings": {"selection_options.exploration": 1}},
    "insert_candidate": {"files": {"program.py": "x = 77\n"}},
    "create_problem": {"files": {"problem.toml": "schema = 1\n"}},
    "check_problem": {"files": {"problem.toml": "schema = 1\n"}},
    "create_batch": {"name": "b", "runs": [{"problem": "packing"}]},
    "create_key": {"name": "k", "scopes": ["runs:read"]},
    "set_quotas": {"active_runs": 3},
    "create_note": {"body": "text"},
    "update_note": {"body": "text"},
    "create_saved_filter": {"name": "v", "settings": {}, "run_id": RUN},
    "create_share": {},
    "create_policy": {"name": "another"},
    "create_policy_version": {"binary_files": {"config.json": ""}},
    "evaluate_policy_version": {
        "against": 0,
        "metric": "best",
        "problems": ["a"],
        "values": [1.0],
        "baseline": [0.0],
    },
    "promote_policy_version": {},
    "create_training_job": {"policy": "walker"},
    "set_training_permission": {"run_id": RUN, "allowed": True},
    "create_webhook": {"url": "https://example.org/hook", "types": ["run.failed"]},
    "update_webhook": {"types": ["run.failed"]},
}


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    """A run of the tenant `default`, with everything that may lie beside one."""
    async with open_told(tmp_path) as opened:
        story = Story()
        opened.create(new_run())
        first = story.create(0)
        opened.append([first, story.evaluate(story.id(0)), story.create(1, parents=[(story.id(0), "parent")])])
        yield opened


@pytest.fixture
async def things(told: Told, tmp_path: Path) -> dict[str, str]:
    """Ids of everything that the owner has, by the name of the parameter that takes them."""
    async with told.client() as owner:

        async def make(path: str, body: Any) -> str:
            answer = await owner.post(path, json=body)
            assert answer.status_code in {201, 202}, answer.text
            return str(answer.json()["id"])

        webhook = await make("/v1/webhooks", {"url": "https://192.0.43.8/hook", "types": ["run.failed"]})
        problem = (await owner.get("/v1/problems")).json()["items"][0]["id"]
        return {
            "run_id": RUN,
            "program_id": Story().id(0),
            "candidate_id": Story().id(0),
            "proposal_id": proposal_id(RUN, 1),
            "problem_id": problem,
            "note_id": await make(f"/v1/runs/{RUN}/notes", {"body": "text"}),
            "share_id": await make(f"/v1/runs/{RUN}/shares", {}),
            "filter_id": await make("/v1/saved-filters", {"name": "v", "settings": {}, "run_id": RUN}),
            "webhook_id": webhook,
            "delivery_id": await make(f"/v1/webhooks/{webhook}/ping", None),
            "key_id": await make("/v1/api-keys", {"name": "k", "scopes": ["runs:read"]}),
            "tenant": "default",
            "number": "1",
            "island": "0",
            "change_id": (await owner.post(f"/v1/runs/{RUN}/hints", json={"text": "try rings"})).json()["change_id"],
            "name": "problem.tar.gz",
            "path": "program.py",
            "bundle_hash": "b" * 64,
            "worker_id": "w",
            "lease_id": "1-0",
            "batch_id": "bat_0199",
            "policy": policy(told, tmp_path),
            "version": "1",
            "job_id": "trn_0199",
            "flywheel": "mazes",
        }


def policy(told: Told, folder: Path) -> str:
    """Name of a registered policy with a version."""
    registry = told.parts.registry
    registry.register("default", "walker", "", shared=False, by="test")
    files = {path.name: path.read_bytes() for path in write_model(folder / "model").iterdir()}
    return registry.add_version("default", "walker", files).policy


def routes() -> list[tuple[str, APIRoute]]:
    return [(method, route) for route in routes_of() for method in sorted(set(route.methods or ()) - {"HEAD"})]


async def call(client: httpx.AsyncClient, method: str, route: APIRoute, things: dict[str, str]) -> httpx.Response:
    path = route.path.replace(":path}", "}")
    path = path.format_map(things)
    body = BODIES.get(str(route.operation_id))
    if body and "candidate_id" in body:
        body = body | {"candidate_id": things["candidate_id"]}
    params = {"against": things["program_id"], "to": things["program_id"], "runs": RUN}
    known = {name: value for name, value in params.items() if name in queries_of(route)}
    return await client.request(method, path, json=body, params=known or None)


def test_every_route_but_the_open_ones_has_a_door() -> None:
    assert {str(route.operation_id) for _, route in routes() if door_of(route) is None} == OPEN


async def test_nothing_opens_without_a_key(told: Told, things: dict[str, str]) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(told.app), base_url="http://api") as stranger:
        for method, route in routes():
            if door_of(route) is not None:
                answer = await call(stranger, method, route, things)
                assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated"), route.path
                assert answer.headers["WWW-Authenticate"].startswith("Bearer")


async def test_each_missing_scope_closes_the_door(told: Told, things: dict[str, str]) -> None:
    for scope in Scope:
        async with told.client(*(other for other in Scope if other is not scope)) as lacking:
            for method, route in routes():
                door = door_of(route)
                if door is not None and scope in door.scopes:
                    answer = await call(lacking, method, route, things)
                    assert answer.status_code == 403, (route.path, scope)
                    assert scope in answer.json()["detail"]


async def test_a_foreign_key_finds_nothing(told: Told, things: dict[str, str]) -> None:
    seen = set()
    async with told.client(tenant="other") as foreign:
        for method, route in routes():
            if "{" not in route.path or door_of(route) is None:
                continue
            answer = await call(foreign, method, route, things)
            assert answer.status_code in {403, 404}, (method, route.path, answer.text)
            seen.add(route.operation_id)
        for path in ("/v1/runs", "/v1/problems", "/v1/batches", "/v1/webhooks", "/v1/saved-filters"):
            assert (await foreign.get(path)).json()["items"] == [], path
        listed = (await foreign.get("/v1/api-keys")).json()["items"]
        assert [key["tenant"] for key in listed] == ["other"]
        assert (await foreign.get("/v1/audit")).status_code == 200
        assert (await foreign.get("/v1/usage")).json()["runs"] == 0
    assert len(seen) > 40


async def test_what_a_foreign_key_asked_for_is_as_it_was(told: Told, things: dict[str, str]) -> None:
    async with told.client() as owner, told.client(tenant="other") as foreign:
        before = [(await owner.get(path)).json() for path in mirrors(things)]
        for method, route in routes():
            if "{" in route.path and method != "GET" and door_of(route) is not None:
                await call(foreign, method, route, things)
        assert [(await owner.get(path)).json() for path in mirrors(things)] == before


def mirrors(things: dict[str, str]) -> list[str]:
    run = f"/v1/runs/{RUN}"
    return [run, f"{run}/notes", f"{run}/pins", f"{run}/shares", f"/v1/saved-filters?run_id={RUN}", "/v1/webhooks"]


async def test_a_share_reads_its_run_and_no_other(told: Told, things: dict[str, str]) -> None:
    other = "run_0190bbbb000000000000000000000002"
    told.create(new_run(other))
    token = (await made_share(told))["token"]
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(told.app), base_url="http://api", headers=bearer(token)
    ) as bearing:
        assert (await bearing.get(f"/v1/runs/{RUN}")).status_code == 200
        assert (await bearing.get(f"/v1/candidates/{things['program_id']}")).status_code == 200
        assert [run["id"] for run in (await bearing.get("/v1/runs")).json()["items"]] == [RUN]
        for path in (f"/v1/runs/{other}", f"/v1/runs/{other}/candidates", f"/v1/runs/{other}/events"):
            assert (await bearing.get(path)).status_code == 404
        for path, body in ((f"/v1/runs/{RUN}/notes", {"body": "x"}), (f"/v1/runs/{RUN}/cancel", None)):
            assert (await bearing.post(path, json=body)).status_code == 403
        assert (await bearing.get("/v1/api-keys")).status_code == 403


async def made_share(told: Told) -> dict[str, str]:
    async with told.client() as owner:
        made: dict[str, str] = (await owner.post(f"/v1/runs/{RUN}/shares", json={})).json()
        return made


async def test_a_revoked_share_opens_nothing(told: Told) -> None:
    share = await made_share(told)
    async with told.client() as owner:
        assert (await owner.delete(f"/v1/runs/{RUN}/shares/{share['id']}")).status_code == 204
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(told.app), base_url="http://api", headers=bearer(share["token"])
    ) as bearing:
        assert (await bearing.get(f"/v1/runs/{RUN}")).status_code == 401


async def test_an_expired_share_opens_nothing(told: Told) -> None:
    minted = keys.mint(told.parts.signer, keys.SHARE)
    share = Share(
        id="shr_1", tenant="default", run_id=RUN, created_by="test", created_at=START, expires_at=START
    )  # long ago by the system's clock
    told.parts.annotations("default").add_share(share, minted.hash)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(told.app), base_url="http://api", headers=bearer(minted.text)
    ) as bearing:
        assert (await bearing.get(f"/v1/runs/{RUN}")).status_code == 401


@pytest.mark.parametrize("shown", ["", "evo_", "evo_" + "a" * 43, "Basic dXNlcg==", "evs_" + "0" * 43, "\x00", "é"])
async def test_what_is_no_key_is_refused(told: Told, shown: str) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(told.app), base_url="http://api") as client:
        answer = await client.get("/v1/runs", headers={b"Authorization": f"Bearer {shown}".encode()})
    assert answer.status_code == 401


def test_operations_have_unique_names_and_descriptions() -> None:
    names = [str(route.operation_id) for _, route in routes()]
    assert len(names) == len(set(names))
    for name, route in zip(names, (route for _, route in routes()), strict=True):
        assert name.replace("_", "").isalnum(), route.path
        assert route.description, route.path


async def test_a_session_needs_its_token_for_what_changes_something(told: Told) -> None:
    key = told.key()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(told.app), base_url="http://api") as browser:
        assert (await browser.post("/v1/session", json={"key": key})).status_code == 204
        assert (await browser.get(f"/v1/runs/{RUN}")).status_code == 200
        pause = f"/v1/runs/{RUN}/pause"
        assert (await browser.post(pause)).status_code == 403
        token = browser.cookies["evolve_csrf"]
        assert (await browser.post(pause, headers={"X-CSRF-Token": token})).status_code == 202
        for lie in ("", "x", token[:-1]):
            assert (await browser.post(pause, headers={"X-CSRF-Token": lie})).status_code == 403
        listed = (await browser.get("/v1/api-keys")).json()["items"]
        first, *_ = [
            await browser.delete(f"/v1/api-keys/{one['id']}", headers={"X-CSRF-Token": token}) for one in listed
        ]
        assert first.status_code == 200
        assert (await browser.get("/v1/runs")).status_code == 401
