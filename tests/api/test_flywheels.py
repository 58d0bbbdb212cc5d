"""Flywheels over the API and on their pages: rounds with shares solved, versions, and decisions of the gate."""

from typing import Any

import httpx
import pytest

from evolve.event_types import EventKind
from service.db.training import SqlTrainingStore
from service.ports import JOB_ENDED, TrainingJob
from service.projections.batches import new_batch
from service.schemas.batches import BatchCreate
from tests.api.told import Told, small_run
from tests.api.visiting import visitor
from tests.contract.story import START, FixedClock

EVALUATION = {
    "metric": "best@16", "mean": 0.649, "baseline_mean": 0.628, "difference": 0.021, "low": 0.006, "high": 0.038,
}  # fmt: skip


def round_of(
    told: Told, number: int, last: dict[str, Any] | None, *, name: str = "mazes", known: float | None = 3.0
) -> None:
    """A round with a run whose best is 3 after 2 of 8 evaluations, and with a job if `last` is its last event."""
    batch, run = f"bat_{number:04}", f"run_0199{number:04}"
    labels = {"flywheel": name, "round": str(number)}
    policies = [{"name": f"walker@{number}", "kind": "syntax"}]
    config = {"budget": {"evaluations": 8}}
    asked = BatchCreate.model_validate({"name": "b", "runs": [{"problem": "p", "labels": labels}]})
    told.parts.batches.add(new_batch(batch, "default", asked, START))
    changes = {"batch_id": batch, "labels": labels, "known_best": known, "config": config, "policies": policies}
    story = small_run(told, run, **changes)
    told.append([story.tell(EventKind.RUN_FINISHED, reason="evaluations")])
    if last is None:
        return
    store = SqlTrainingStore(told.database, FixedClock())
    job = TrainingJob(
        id=f"trn_{number:04}", tenant="default", policy="walker", request={"backend": "maze"}, runs=[run],
        created_by="ci", created_at=START,
    )  # fmt: skip
    store.add(job)
    found = store.claim("trainer", 60, ["maze"])
    assert found is not None
    store.record(job.id, found[1], "training.succeeded", last, state="succeeded", version=last["version"])
    assert store.get("default", job.id).state in JOB_ENDED


@pytest.fixture
async def mazes(told: Told, owner: httpx.AsyncClient) -> None:
    """A flywheel of three rounds: a version was promoted, one refused, and one is not trained yet."""
    await owner.post("/v1/policies", json={"name": "walker"})
    round_of(told, 1, {"version": 2, "promoted": True, "evaluation": EVALUATION})
    refused = EVALUATION | {"difference": -0.01, "low": -0.03, "high": 0.01}
    refusal = "walker@3 was <i>not</i> found better"
    round_of(told, 2, {"version": 3, "promoted": False, "evaluation": refused, "refusal": refusal}, known=3.5)
    round_of(told, 3, None)


@pytest.mark.usefixtures("mazes")
async def test_the_rounds_of_a_flywheel_are_read(told: Told, owner: httpx.AsyncClient) -> None:
    (listed,) = (await owner.get("/v1/flywheels")).json()["items"]
    assert (listed["name"], listed["rounds"]) == ("mazes", 3)
    found = (await owner.get("/v1/flywheels/mazes")).json()
    rounds = found["items"]
    assert [one["number"] for one in rounds] == [1, 2, 3]
    assert [one["phase"] for one in rounds] == ["done", "done", "train"]
    assert [one["policy"] for one in rounds] == ["walker@1", "walker@2", "walker@3"]
    assert [(one["version"], one["promoted"]) for one in rounds] == [(2, True), (3, False), (None, False)]
    assert rounds[0]["evaluation"] == EVALUATION
    assert rounds[2]["evaluation"] is None
    half, whole = rounds[0]["shares"]
    assert (half["evaluations"], whole["evaluations"], whole["solved"], whole["share"]) == (4, 8, 1, 1.0)
    # Clopper and Pearson, of 1 of 1: the lower end is 0.025.
    assert (whole["low"], whole["high"]) == pytest.approx((0.025, 1.0))
    assert [share["solved"] for share in rounds[1]["shares"]] == [0, 0]
    assert (await owner.get("/v1/flywheels/absent")).status_code == 404


@pytest.mark.usefixtures("mazes")
async def test_another_tenant_sees_none_of_it(told: Told) -> None:
    async with told.client(tenant="lab") as other:
        assert (await other.get("/v1/flywheels")).json()["items"] == []
        assert (await other.get("/v1/flywheels/mazes")).status_code == 404


@pytest.mark.usefixtures("mazes")
async def test_pages_show_flywheels_and_the_rounds_of_one(told: Told) -> None:
    async with visitor(told) as client:
        policies, listed, page = [
            (await client.get(path)).text for path in ("/policies", "/flywheels", "/flywheels/mazes")
        ]
        absent = await client.get("/flywheels/absent")
    assert '<a href="/flywheels">Flywheels</a>' in policies
    assert '<a href="/flywheels/mazes">mazes</a>' in listed
    for found in (
        "3 rounds. The gate promoted 1 version.", "+0.021 [+0.006, +0.038]", "-0.010 [-0.030, +0.010]",
        'href="/batches/bat_0001"', 'href="/training/trn_0001">@2</a>', "1.000 [0.025, 1.000]",
        "walker@3 was &lt;i&gt;not&lt;/i&gt; found better", "Round 1, at 8 evaluations: 1.000 [0.025, 1.000]",
        "Solved at 4 evaluations",
    ):  # fmt: skip
        assert found in page
    assert page.count('class="interval"') == 6
    assert absent.status_code == 404


async def test_without_a_flywheel_the_page_says_how_to_begin_one(told: Told) -> None:
    async with visitor(told) as client:
        assert "evolve flywheel run NAME" in (await client.get("/flywheels")).text


async def test_without_a_known_best_there_is_no_chart(told: Told) -> None:
    round_of(told, 1, None, name="no best", known=None)
    async with visitor(told) as client:
        page = (await client.get("/flywheels/no%20best")).text
    assert "There is no chart yet" in page
    assert "<figure" not in page
    assert 'href="/batches/bat_0001"' in page
