"""The registry over the API: versions, the gate, what a run names, and what other tenants see."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.ports import Scope
from tests.api.told import Told
from tests.fakes.tiny_llama import write_model

PROBLEMS = [f"maze {number}" for number in range(8)]


def files(folder: Path) -> dict[str, str]:
    return {path.name: base64.b64encode(path.read_bytes()).decode() for path in folder.iterdir()}


async def add(client: httpx.AsyncClient, folder: Path, seed: int, **words: Any) -> httpx.Response:
    body = {"binary_files": files(write_model(folder / str(seed), seed=seed)), **words}
    return await client.post("/v1/policies/walker/versions", json=body)


def evaluation(gap: float, against: int = 1, **changes: Any) -> dict[str, Any]:
    values = [0.5 + gap + 0.01 * place for place in range(8)]
    told = {"against": against, "metric": "best@64", "problems": PROBLEMS, "values": values, "baseline": [0.5] * 8}
    return told | changes


@pytest.fixture
async def walker(owner: httpx.AsyncClient, tmp_path: Path) -> str:
    """The place of a policy with two versions, of which the first is promoted."""
    made = await owner.post("/v1/policies", json={"name": "walker", "description": "walks"})
    assert made.status_code == 201, made.text
    place = str(made.headers["Location"])
    for seed in (1, 2):
        training = {"method": "vpo", "seed": seed, "runs": ["run_1"], "problems": ["maze 99"]}
        answer = await add(owner, tmp_path, seed, base="walker@1" if seed == 2 else "", training=training)
        assert answer.status_code == 201, answer.text
    promoted = await owner.post(f"{place}/versions/1/promote", json={})
    assert promoted.status_code == 200, promoted.text
    return place


@pytest.fixture
async def other(told: Told) -> AsyncIterator[httpx.AsyncClient]:
    async with told.client(tenant="other") as opened:
        yield opened


async def test_a_version_tells_how_it_was_made(owner: httpx.AsyncClient, walker: str) -> None:
    policy = (await owner.get(walker)).json()
    assert (policy["name"], policy["promoted"], policy["versions"], policy["own"]) == ("walker", 1, 2, True)
    second, first = (await owner.get(f"{walker}/versions")).json()["items"]
    assert (second["name"], second["state"], second["base"]) == ("walker@2", "candidate", "walker@1")
    assert second["training"] == {
        "code_version": "0.1.0",
        "method": "vpo",
        "seed": 2,
        "runs": ["run_1"],
        "problems": ["maze 99"],
    }
    assert (first["state"], first["promotion"]["forced"]) == ("promoted", False)
    assert (await owner.get(f"{walker}/versions/2")).json() == second
    assert (await owner.get("/v1/policies/registered")).json()["items"] == [policy]
    download = await owner.get(f"{walker}/versions/2/files")
    assert (download.status_code, download.headers["ETag"]) == (200, f'"{second["bundle_hash"]}"')


async def test_versions_come_in_pages(owner: httpx.AsyncClient, walker: str) -> None:
    page = (await owner.get(f"{walker}/versions", params={"limit": 1})).json()
    assert [one["version"] for one in page["items"]] == [2]
    rest = (await owner.get(f"{walker}/versions", params={"limit": 1, "cursor": page["next_cursor"]})).json()
    assert ([one["version"] for one in rest["items"]], rest["next_cursor"]) == ([1], None)


async def test_a_run_names_the_promoted_version_or_a_number(
    owner: httpx.AsyncClient, walker: str, problem: str
) -> None:
    for asked, name in (("walker", "walker@1"), ("walker@2", "walker@2")):
        run = await owner.post("/v1/runs", json={"problem": problem, "policy": asked})
        assert run.status_code == 201, run.text
        (policy,) = run.json()["policies"]
        version = (await owner.get(f"{walker}/versions/{name[-1]}")).json()
        assert (policy["name"], policy["kind"]) == (name, "bundled")
        assert policy["model"] == f"sha256:{version['bundle_hash']}"
    names = {one["name"] for one in (await owner.get("/v1/policies", params={"limit": 200})).json()["items"]}
    assert "walker" in names


async def test_a_run_keeps_its_version_when_another_is_promoted(
    owner: httpx.AsyncClient, walker: str, problem: str
) -> None:
    before = (await owner.post("/v1/runs", json={"problem": problem, "policy": "walker"})).json()
    assert (await owner.post(f"{walker}/versions/2/evaluations", json=evaluation(0.1))).status_code == 201
    assert (await owner.post(f"{walker}/versions/2/promote", json={})).json()["state"] == "promoted"
    after = (await owner.post("/v1/runs", json={"problem": problem, "policy": "walker"})).json()
    kept = (await owner.get(f"/v1/runs/{before['id']}")).json()
    assert [run["policies"][0]["name"] for run in (kept, after)] == ["walker@1", "walker@2"]


@pytest.mark.parametrize("gap", [-0.2, -0.04, None])
async def test_the_gate_refuses_a_version_that_was_not_found_better(
    owner: httpx.AsyncClient, walker: str, gap: float | None
) -> None:
    said = "was not evaluated against walker@1"
    if gap is not None:
        found = (await owner.post(f"{walker}/versions/2/evaluations", json=evaluation(gap))).json()
        (told,) = found["evaluations"]
        said = f"differs by {told['difference']:+.3f} [{told['low']:+.3f}, {told['high']:+.3f}]"
    refused = await owner.post(f"{walker}/versions/2/promote", json={})
    assert refused.status_code == 409
    assert said in refused.json()["detail"]
    assert (await owner.get(walker)).json()["promoted"] == 1


async def test_an_operator_promotes_against_the_gate_and_that_is_recorded(
    told: Told, owner: httpx.AsyncClient, walker: str
) -> None:
    async with told.client(Scope.RUNS_WRITE, Scope.RUNS_READ) as writer:
        refused = await writer.post(f"{walker}/versions/2/promote", json={"force": "trust me"})
        assert (refused.status_code, "operate" in refused.json()["detail"]) == (403, True)
    forced = (await owner.post(f"{walker}/versions/2/promote", json={"force": "a demonstration"})).json()
    assert (forced["promotion"]["forced"], forced["promotion"]["reason"]) == (True, "a demonstration")
    assert "was not evaluated" in forced["promotion"]["refusal"]


async def test_problems_of_the_training_of_a_version_or_its_base_do_not_count(
    owner: httpx.AsyncClient, walker: str
) -> None:
    seen = evaluation(0.3, problems=[*PROBLEMS[:7], "maze 99"])
    refused = await owner.post(f"{walker}/versions/2/evaluations", json=seen)
    assert refused.status_code == 422
    assert "was trained on 'maze 99'" in refused.json()["detail"]


async def test_an_archived_version_is_not_for_new_runs(owner: httpx.AsyncClient, walker: str, problem: str) -> None:
    assert (await owner.post(f"{walker}/versions/2/archive")).json()["state"] == "archived"
    refused = await owner.post("/v1/runs", json={"problem": problem, "policy": "walker@2"})
    assert (refused.status_code, "archived" in refused.json()["detail"]) == (422, True)
    assert (await owner.post(f"{walker}/versions/1/archive")).status_code == 409


@pytest.mark.parametrize("asked", ["walker@9", "walker@x", "walker@", "absent@1"])
async def test_a_version_that_is_not_there_is_not_found(
    owner: httpx.AsyncClient, walker: str, problem: str, asked: str
) -> None:
    answer = await owner.post("/v1/runs", json={"problem": problem, "policy": asked})
    assert answer.status_code == 404, answer.text


async def test_a_tenant_sees_and_runs_its_own_policies_and_shared_ones(
    owner: httpx.AsyncClient, other: httpx.AsyncClient, walker: str, tmp_path: Path
) -> None:
    for path in (walker, f"{walker}/versions", f"{walker}/versions/1", f"{walker}/versions/1/files"):
        assert (await other.get(path)).status_code == 404, path
    assert (await other.get("/v1/policies/registered")).json()["items"] == []
    assert (await other.post("/v1/policies", json={"name": "x", "shared": True})).status_code == 403
    await owner.post("/v1/policies", json={"name": "common", "shared": True})
    body = {"binary_files": files(write_model(tmp_path / "common"))}
    assert (await owner.post("/v1/policies/common/versions", json=body)).status_code == 201
    await owner.post("/v1/policies/common/versions/1/promote", json={})
    (seen,) = (await other.get("/v1/policies/registered")).json()["items"]
    assert (seen["name"], seen["own"]) == ("common", False)
    assert (await other.get("/v1/policies/common/versions/1")).status_code == 200
    for call in ("promote", "archive"):
        answer = await other.post(f"/v1/policies/common/versions/1/{call}", json={} if call == "promote" else None)
        assert answer.status_code == 403, answer.text
    assert (await other.post("/v1/policies/common/versions", json=body)).status_code == 403


@pytest.mark.parametrize("name", ["Walker", "a@1", "a/b", "", "-a", "a" * 49, "health", "registered", "syntax"])
async def test_names_that_cannot_be_told_from_others_are_refused(owner: httpx.AsyncClient, name: str) -> None:
    assert (await owner.post("/v1/policies", json={"name": name})).status_code in {409, 422}


async def test_files_that_are_no_model_are_refused(owner: httpx.AsyncClient, walker: str, tmp_path: Path) -> None:
    whole = files(write_model(tmp_path / "whole"))
    lacking = {name: content for name, content in whole.items() if name != "config.json"}
    for body in (lacking, whole | {"../evil": ""}, whole | {"evolve.toml": base64.b64encode(b"x = 1").decode()}):
        answer = await owner.post(f"{walker}/versions", json={"binary_files": body})
        assert answer.status_code == 422, answer.text
