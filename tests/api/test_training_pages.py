"""Pages of training jobs: all of them, and one with its curves, its end, and what may be done with it."""

from typing import Any

import httpx
import pytest

from service.db.training import SqlTrainingStore
from service.ports import Scope
from tests.api.test_training_jobs import submitted, walker
from tests.api.told import Told
from tests.api.visiting import visitor
from tests.contract.story import FixedClock

__all__ = ["walker"]  # the fixture
EVALUATION = {
    "metric": "best@16", "mean": 0.649, "baseline_mean": 0.628, "difference": 0.021, "low": 0.006, "high": 0.038,
}  # fmt: skip


def progress(step: int, **figures: float) -> dict[str, Any]:
    return {"stage": "reinforce", "step": step, "steps": 4, "figures": figures}


def trained(told: Told, state: str, last: dict[str, Any], **changes: Any) -> None:
    """The oldest queued job, after three steps and its end."""
    store = SqlTrainingStore(told.database, FixedClock())
    found = store.claim("trainer-1", 60, ["maze"])
    assert found is not None
    job, fence = found
    store.record(job.id, fence, "training.started", {"checkpoint": {}}, state="running")
    for step in range(1, 4):
        figures = progress(step, best=0.5 + step / 100, entropy=0.7 - step / 10)
        store.record(job.id, fence, "training.progress", figures, progress=figures)
    store.record(job.id, fence, f"training.{state}", last, state=state, **changes)
    store.release(job.id, fence)


async def test_pages_show_jobs_and_the_curves_of_one(told: Told, owner: httpx.AsyncClient, walker: str) -> None:
    job = await submitted(owner, method="vector_max_at_k")
    trained(told, "succeeded", {"version": 1, "promoted": True, "evaluation": EVALUATION}, version=1)
    async with visitor(told) as client:
        policies, listed = [(await client.get(path)).text for path in ("/policies", "/training")]
        page = (await client.get(f"/training/{job['id']}")).text
        part = (await client.get(f"/training/{job['id']}/standing")).text
    assert '<a href="/training">Training jobs</a>' in policies
    for found in (
        f'href="/training/{job["id"]}"',
        "vector_max_at_k",
        "3 of 4",
        'href="/policies/walker/1">walker@1</a>',
    ):
        assert found in listed
    for found in ("which is promoted", "+0.021 [+0.006, +0.038]", "step 3 of 4", "<path d=", "best over the steps"):
        assert found in page
        assert found in part
    assert "<title>" not in part
    assert "hx-get" not in part  # it has ended
    assert "<button" not in part


async def test_a_job_is_cancelled_and_resumed_from_its_page(told: Told, owner: httpx.AsyncClient, walker: str) -> None:
    job = (await submitted(owner))["id"]
    async with visitor(told) as client:
        form = {"csrf": client.cookies["evolve_csrf"]}
        page = (await client.get(f"/training/{job}")).text
        assert "No step yet" in page
        assert "hx-get" in page
        for action, state in (("cancel", "cancelled"), ("resume", "queued")):
            assert f"{action.capitalize()}</button>" in (await client.get(f"/training/{job}")).text
            answer = await client.post(f"/training/{job}/{action}", data=form)
            assert (answer.status_code, answer.headers["location"]) == (303, f"/training/{job}")
            assert (await owner.get(f"/v1/training-jobs/{job}")).json()["state"] == state
        assert (await client.post(f"/training/{job}/remove", data=form)).status_code == 404
        assert (await client.post(f"/training/{job}/cancel")).status_code == 403
    trained(told, "failed", {"error": "the <b>disk</b> is full"}, error="the <b>disk</b> is full")
    async with visitor(told, Scope.RUNS_READ) as client:
        page = (await client.get(f"/training/{job}")).text
        assert "the &lt;b&gt;disk&lt;/b&gt; is full" in page
        assert "<button" not in page.partition("<main")[2].partition("</main>")[0]


@pytest.mark.parametrize("refusal", ["the interval <i>must</i> lie above 0"])
async def test_a_refusal_of_the_gate_is_told(told: Told, owner: httpx.AsyncClient, walker: str, refusal: str) -> None:
    job = await submitted(owner)
    last = {"version": 1, "promoted": False, "evaluation": EVALUATION, "refusal": refusal}
    trained(told, "succeeded", last, version=1)
    async with visitor(told) as client:
        page = (await client.get(f"/training/{job['id']}")).text
    assert "Not promoted: the interval &lt;i&gt;must&lt;/i&gt; lie above 0" in page
    assert "which is promoted" not in page


async def test_without_a_job_the_page_says_how_to_submit_one(told: Told, owner: httpx.AsyncClient) -> None:
    async with visitor(told) as client:
        assert "evolve training submit POLICY" in (await client.get("/training")).text
        assert (await client.get("/training/trn_absent")).status_code == 404


async def test_many_jobs_are_paged(told: Told, owner: httpx.AsyncClient, walker: str) -> None:
    for _ in range(51):
        await submitted(owner)
    async with visitor(told) as client:
        page = (await client.get("/training")).text
        following = page.partition('href="/training?cursor=')[2].partition('"')[0]
        rest = (await client.get(f"/training?cursor={following}")).text
    assert (page.count('class="id"'), rest.count('class="id"')) == (50, 1)
