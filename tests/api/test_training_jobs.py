"""Training jobs over the API: submit, follow, cancel and resume, and what may be trained on."""

from typing import Any

import httpx
import pytest

from service.ports import Scope
from tests.api.told import Told, small_run
from tests.contract.story import RUN


@pytest.fixture
async def walker(owner: httpx.AsyncClient) -> str:
    """Name of a policy without versions."""
    made = await owner.post("/v1/policies", json={"name": "walker"})
    return str(made.json()["name"])


async def submitted(owner: httpx.AsyncClient, **words: Any) -> dict[str, Any]:
    answer = await owner.post("/v1/training-jobs", json={"policy": "walker", **words})
    assert answer.status_code == 201, answer.text
    job: dict[str, Any] = answer.json()
    assert answer.headers["Location"] == f"/v1/training-jobs/{job['id']}"
    return job


async def test_a_job_waits_for_a_trainer(owner: httpx.AsyncClient, walker: str) -> None:
    job = await submitted(owner, method="vector_max_at_k", k=4, steps=20, kinds=["hard"], promote=True)
    assert (job["state"], job["policy"], job["version"], job["progress"]) == ("queued", "walker", None, None)
    assert (job["request"]["method"], job["request"]["k"], job["request"]["promote"]) == ("vector_max_at_k", 4, True)
    assert (await owner.get(f"/v1/training-jobs/{job['id']}")).json() == job
    other = await submitted(owner)
    page = (await owner.get("/v1/training-jobs", params={"limit": 1})).json()
    rest = (await owner.get("/v1/training-jobs", params={"limit": 1, "cursor": page["next_cursor"]})).json()
    assert [one["id"] for one in (*page["items"], *rest["items"])] == [other["id"], job["id"]]


async def test_a_job_is_cancelled_and_resumed(owner: httpx.AsyncClient, walker: str) -> None:
    place = f"/v1/training-jobs/{(await submitted(owner))['id']}"
    for call, state in (("cancel", "cancelled"), ("cancel", "cancelled"), ("resume", "queued"), ("resume", "queued")):
        answer = await owner.post(f"{place}/{call}")
        assert (answer.status_code, answer.json()["state"]) == (202, state), answer.text
    kinds = [event["kind"] for event in (await owner.get(f"{place}/events")).json()["items"]]
    assert kinds == ["training.queued", "training.cancelled", "training.queued"]


async def test_events_come_in_pages_and_as_a_stream_to_the_end(owner: httpx.AsyncClient, walker: str) -> None:
    place = f"/v1/training-jobs/{(await submitted(owner))['id']}"
    await owner.post(f"{place}/cancel")
    page = (await owner.get(f"{place}/events", params={"limit": 1})).json()
    assert [event["sequence"] for event in page["items"]] == [1]
    rest = (await owner.get(f"{place}/events", params={"limit": 1, "cursor": page["next_cursor"]})).json()
    assert ([event["kind"] for event in rest["items"]], rest["next_cursor"]) == (["training.cancelled"], None)
    stream = (await owner.get(f"{place}/events", headers={"Accept": "text/event-stream"})).text
    assert [line for line in stream.splitlines() if line.startswith("event:")] == [
        "event: training.queued",
        "event: training.cancelled",
        "event: end",
    ]
    headers = {"Accept": "text/event-stream", "Last-Event-ID": "1"}
    assert "training.queued" not in (await owner.get(f"{place}/events", headers=headers)).text


async def test_runs_are_trained_on_only_where_that_is_allowed(
    told: Told, owner: httpx.AsyncClient, walker: str
) -> None:
    small_run(told)
    body = {"policy": "walker", "runs": [RUN]}
    refused = await owner.post("/v1/training-jobs", json=body)
    assert (refused.status_code, "may not be trained on" in refused.json()["detail"]) == (403, True)
    answer = await owner.put("/v1/training-permissions", json={"run_id": RUN, "allowed": True})
    assert (answer.status_code, answer.json()["run_id"], answer.json()["by"]) == (200, RUN, "test")
    assert (await submitted(owner, runs=[RUN]))["runs"] == [RUN]
    await owner.put("/v1/training-permissions", json={"run_id": RUN, "allowed": False})
    assert (await owner.post("/v1/training-jobs", json=body)).status_code == 403
    await owner.put("/v1/training-permissions", json={"allowed": True})
    listed = (await owner.get("/v1/training-permissions")).json()["items"]
    assert [(one["run_id"], one["allowed"]) for one in listed] == [(None, True), (RUN, False)]


async def test_runs_that_compare_versions_are_of_other_problems_than_the_runs_that_are_trained_on(
    told: Told, owner: httpx.AsyncClient, walker: str
) -> None:
    small_run(told)
    await owner.put("/v1/training-permissions", json={"allowed": True})
    words = {"policy": walker, "backend": "trl", "method": "sft", "model": "m", "served": "http://127.0.0.1:9/v1"}
    same = await owner.post("/v1/training-jobs", json={**words, "runs": [RUN], "test_runs": [RUN]})
    assert (same.status_code, "which the job learns from" in same.json()["detail"]) == (422, True), same.text
    maze = await owner.post("/v1/training-jobs", json={"policy": walker, "test_runs": [RUN]})
    assert (maze.status_code, "held-out mazes of its own" in maze.json()["detail"]) == (422, True), maze.text


async def test_a_tenant_has_jobs_and_permissions_of_its_own(told: Told, owner: httpx.AsyncClient, walker: str) -> None:
    small_run(told)
    await owner.put("/v1/training-permissions", json={"allowed": True})
    job = await submitted(owner)
    async with told.client(tenant="other") as other:
        await other.post("/v1/policies", json={"name": "walker"})
        assert (await other.get(f"/v1/training-jobs/{job['id']}")).status_code == 404
        assert (await other.get(f"/v1/training-jobs/{job['id']}/events")).status_code == 404
        assert (await other.get("/v1/training-jobs")).json()["items"] == []
        assert (await other.get("/v1/training-permissions")).json()["items"] == []
        assert (await other.put("/v1/training-permissions", json={"run_id": RUN, "allowed": True})).status_code == 404
        stolen = await other.post("/v1/training-jobs", json={"policy": "walker", "runs": [RUN]})
        assert stolen.status_code == 404
    async with told.client(Scope.RUNS_READ) as reader:
        assert (await reader.post("/v1/training-jobs", json={"policy": "walker"})).status_code == 403


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ({"policy": "absent"}, 404),
        ({"backend": "absent"}, 422),
        ({"base": "walker"}, 422),
        ({"steps": 1}, 422),
        ({"labels": {"family": "none"}}, 422),
    ],
)
async def test_a_job_that_cannot_be_is_refused(
    owner: httpx.AsyncClient, walker: str, words: dict[str, Any], status: int
) -> None:
    answer = await owner.post("/v1/training-jobs", json={"policy": "walker", **words})
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ({"base": "absent@1"}, 404),
        ({"base": "runner@1"}, 404),
        ({"backend": "absent"}, 422),
        ({"runs": ["run_absent"]}, 404),
        ({"labels": {"family": "none"}}, 422),
        ({"policy": "registered"}, 409),
    ],
)
async def test_a_refused_job_registers_no_policy(owner: httpx.AsyncClient, words: dict[str, Any], status: int) -> None:
    body = {"policy": "runner", "new_policy": True}
    answer = await owner.post("/v1/training-jobs", json={**body, **words})
    assert answer.status_code == status, answer.text
    assert (await owner.get("/v1/policies/registered")).json()["items"] == []
    made = await owner.post("/v1/training-jobs", json=body)
    assert (made.status_code, "new_policy" in made.json()["request"]) == (201, False)
    (policy,) = (await owner.get("/v1/policies/registered")).json()["items"]
    assert (policy["name"], policy["created_by"]) == ("runner", "test")
