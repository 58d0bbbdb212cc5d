"""Batches over the API: all or none, sweeps, sums, and steering as one."""

import asyncio
import statistics
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from evolve.events import EventKind
from service.ports import Quotas, RunRecord
from tests.api.conftest import FILES
from tests.api.told import Told, open_told
from tests.contract.story import Story

if TYPE_CHECKING:
    from collections.abc import Sequence


async def swept(client: httpx.AsyncClient, **words: Any) -> dict[str, Any]:
    answer = await client.post("/v1/batches", json={"name": "b", "sweep": {"problem": "p", "seeds": [1, 2]} | words})
    assert answer.status_code == 201, answer.text
    batch: dict[str, Any] = answer.json()
    return batch


async def runs_of(client: httpx.AsyncClient, batch: dict[str, Any]) -> list[dict[str, Any]]:
    page = (await client.get("/v1/runs", params={"batch_id": batch["id"], "limit": 200})).json()
    return list(page["items"])


async def test_a_list_of_runs_is_a_batch(owner: httpx.AsyncClient, problem: str) -> None:
    runs = [{"problem": "p", "config": {"seed": seed}, "labels": {"n": str(seed)}} for seed in (4, 5, 6)]
    answer = await owner.post("/v1/batches", json={"name": "three", "runs": runs})
    batch = answer.json()
    assert (answer.status_code, answer.headers["Location"]) == (201, f"/v1/batches/{batch['id']}")
    assert (batch["state"], batch["states"], batch["name"]) == ("queued", {"queued": 3}, "three")
    assert (await owner.get(answer.headers["Location"])).json() == batch
    assert sorted((run["seed"], run["labels"]["n"]) for run in await runs_of(owner, batch)) == [
        (4, "4"),
        (5, "5"),
        (6, "6"),
    ]
    assert [one["id"] for one in (await owner.get("/v1/batches")).json()["items"]] == [batch["id"]]


@pytest.mark.parametrize(
    "bad", [{"problem": "absent"}, {"problem": "p", "config": {"iland": 1}}, {"problem": "p", "policy": "absent"}]
)
async def test_one_run_that_is_off_stores_none(owner: httpx.AsyncClient, problem: str, bad: Any) -> None:
    answer = await owner.post("/v1/batches", json={"name": "b", "runs": [{"problem": "p"}] * 3 + [bad]})
    assert answer.status_code in {404, 422}
    for path in ("/v1/runs", "/v1/batches"):
        assert (await owner.get(path)).json()["items"] == []


async def test_a_batch_beyond_the_quota_stores_none(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    told.parts.accounts.set_quotas("default", Quotas(active_runs=3))
    four = await owner.post("/v1/batches", json={"name": "b", "runs": [{"problem": "p"}] * 4})
    assert (four.status_code, four.json()["code"]) == (429, "quota_exceeded")
    assert (await owner.get("/v1/runs")).json()["items"] == []
    three = await owner.post("/v1/batches", json={"name": "b", "runs": [{"problem": "p"}] * 3})
    assert three.status_code == 201


async def test_a_sweep_is_every_combination(owner: httpx.AsyncClient, problem: str) -> None:
    batch = await swept(
        owner,
        seeds=[1, 2, 3],
        policies=[None, {"kind": "syntax", "name": "mine"}],
        strategies=["islands", "best_of_n"],
        variants={"small": {"budget": {"evaluations": 5}}, "large": {}},
        config={"budget": {"evaluations": 50, "patience": 9}},
        labels={"team": "a"},
    )
    runs = await runs_of(owner, batch)
    assert len(runs) == 3 * 2 * 2 * 2
    found = {
        (run["seed"], run["config"]["strategy"], run["labels"]["variant"], run["labels"].get("policy", ""))
        for run in runs
    }
    assert found == {
        (seed, strategy, variant, policy)
        for seed in (1, 2, 3)
        for strategy in ("islands", "best_of_n")
        for variant in ("small", "large")
        for policy in ("", "mine")
    }
    for run in runs:
        budget = run["config"]["budget"]
        assert (budget["evaluations"], budget["patience"]) == (5 if run["labels"]["variant"] == "small" else 50, 9)
        assert run["labels"]["team"] == "a"


async def test_policies_of_a_sweep_are_labelled_by_name_or_model_and_else_by_place(
    owner: httpx.AsyncClient, problem: str
) -> None:
    model = {"base_url": "https://192.0.43.8/v1"}
    policies = [
        {"kind": "syntax", "name": "mine"},
        {**model, "model": "large"},
        [{"kind": "syntax", "name": "one"}, {"kind": "tuner", "name": "two"}],
        {"kind": "syntax", "name": "twice"},
        {"kind": "tuner", "name": "twice"},
        {"kind": "syntax"},
    ]
    batch = await swept(owner, seeds=[1], policies=policies)
    found = [run["labels"]["policy"] for run in await runs_of(owner, batch)]
    assert sorted(found) == ["large", "mine", "one, two", "policy-3", "policy-4", "policy-5"]


@pytest.mark.parametrize(
    "body",
    [
        {"name": "b"},
        {"name": "", "sweep": {"problem": "p", "seeds": [1]}},
        {"name": " \n", "sweep": {"problem": "p", "seeds": [1]}},
        {"name": "b", "runs": [{"problem": "p"}, {"problem": " "}]},
        {"name": "b", "sweep": {"problem": " ", "seeds": [1]}},
        {"name": "b", "sweep": {"problem": "p", "seeds": [1], "policies": [" "]}},
        {"name": "b", "runs": []},
        {"name": "b", "runs": [{"problem": "p"}], "sweep": {"problem": "p", "seeds": [1]}},
        {"name": "b", "sweep": {"problem": "p", "seeds": []}},
        {"name": "b", "sweep": {"seeds": [1]}},
        {"name": "b", "sweep": {"problem": None, "problems": [], "seeds": [1]}},
        {"name": "b", "sweep": {"problem": "p", "problems": ["p"], "seeds": [1]}},
        {"name": "b", "sweep": {"problems": "p", "seeds": [1]}},
        {"name": "b", "sweep": {"problems": ["p", ""], "seeds": [1]}},
        {"name": "b", "sweep": {"problems": ["p", "\u2003"], "seeds": [1]}},
        {"name": "b", "sweep": {"problems": ["p", "p@1"], "seeds": [1, 2]}},
        {"name": "b", "sweep": {"problems": [f"p{n}" for n in range(21)], "seeds": [1]}},
        {"name": "b", "sweep": {"problems": ["p", "q"], "seeds": list(range(101))}},
        {"name": "b", "sweep": {"problem": "p", "seeds": [-1]}},
        {"name": "b", "sweep": {"problem": "p", "seeds": list(range(101)), "strategies": ["islands", "best_of_n"]}},
        {"name": "b", "runs": [{"problem": "p"}] * 201},
        {"name": "b", "sweep": {"problem": "p", "seeds": [1], "strategies": ["annealing"]}},
        {
            "name": "b",
            "sweep": {
                "problem": "p",
                "seeds": [1],
                "labels": {f"l{n}": "" for n in range(16)},
                "strategies": ["islands"],
            },
        },
    ],
)
async def test_what_is_no_batch_is_refused(owner: httpx.AsyncClient, problem: str, body: Any) -> None:
    answer = await owner.post("/v1/batches", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request"), answer.text
    assert (await owner.get("/v1/runs")).json()["items"] == []


def play(told: Told, run_id: str, fitnesses: list[float], end: bool) -> None:
    """Have a run evaluate a seed and children of these fitnesses."""
    told.fences[run_id] = told.log.take(run_id, "test", 3600.0)
    story = Story(run_id)
    told.append([*story.seed(fitnesses[0])])
    for number, fitness in enumerate(fitnesses[1:], 1):
        told.append([*story.child(number, story.id(0), fitness), story.improve(story.id(number), fitness)])
    if end:
        told.append(
            [story.tell(EventKind.RUN_FINISHED, reason="target", candidate_id=story.id(0), fitness=max(fitnesses))]
        )


async def test_the_summary_is_what_statistics_says(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    batch = await swept(owner, seeds=[1, 2, 3, 4], strategies=["islands", "sequential"])
    bests = {"islands": {1: 2.5, 2: 4.0, 3: 1.5, 4: 8.0}, "sequential": {1: 3.0, 2: 5.0}}
    for run in await runs_of(owner, batch):
        best = bests[run["config"]["strategy"]].get(run["seed"])
        if best is not None:
            play(told, run["id"], [1.0, best], end=run["seed"] == 1)
    summary = (await owner.get(f"/v1/batches/{batch['id']}/summary")).json()
    islands, sequential = summary["groups"]
    values = list(bests["islands"].values())
    first, median, third = statistics.quantiles(values, n=4, method="inclusive")
    assert islands == {
        "problem": "p@1", "group": "strategy=islands", "runs": 4, "ended": 1, "best": max(values), "median": median,
        "quartiles": [first, third], "evaluations": 8, "tokens": 4 * (100 + 40), "cost": "0.06 USD",
        "objectives": run["objectives"],
    }  # fmt: skip
    assert (sequential["runs"], sequential["ended"], sequential["best"]) == (4, 1, 5.0)
    assert (sequential["median"], sequential["quartiles"]) == (4.0, [3.5, 4.5])
    assert summary["batch"]["states"] == {"queued": 2, "running": 4, "succeeded": 2}
    assert summary["batch"]["state"] == "running"


async def named(client: httpx.AsyncClient, **words: Any) -> str:
    """Id of a further version of a problem, or of one of another name."""
    changed = FILES | {"readme.md": "another"} | words.pop("files", {})
    answer = await client.post("/v1/problems", json={"files": changed, **words})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def test_a_sweep_over_several_problems_is_summed_up_by_problem(
    told: Told, owner: httpx.AsyncClient, problem: str
) -> None:
    other = {"problem.toml": FILES["problem.toml"].replace('"p"', '"other"')}
    newer = await named(owner)
    await named(owner, files=other)
    problems = ["p@1", newer, "other"]
    batch = await swept(owner, problem=None, problems=problems, seeds=[1, 2], strategies=["islands", "sequential"])
    runs = await runs_of(owner, batch)
    assert sorted((run["problem"], run["seed"], run["config"]["strategy"]) for run in runs) == sorted(
        product(("p", "p", "other"), (1, 2), ("islands", "sequential"))
    )
    bests = {problem: 10.0 * number for number, problem in enumerate(("p@1", "p@2", "other@1"), 1)}
    for run in runs:
        play(told, run["id"], [1.0, bests[run["source"].removeprefix("api:")] + run["seed"]], end=True)
    groups = (await owner.get(f"/v1/batches/{batch['id']}/summary")).json()["groups"]
    assert [(one["problem"], one["group"], one["runs"], one["median"], one["best"]) for one in groups] == [
        (problem, f"strategy={strategy}", 2, bests[problem] + 1.5, bests[problem] + 2)
        for problem in ("other@1", "p@1", "p@2")
        for strategy in ("islands", "sequential")
    ]


async def test_a_problem_of_a_sweep_that_is_not_there_is_named(owner: httpx.AsyncClient, problem: str) -> None:
    sweep = {"problems": ["p", "absent \x1b"], "seeds": [1]}
    answer = await owner.post("/v1/batches", json={"name": "b", "sweep": sweep})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert "'absent \\x1b'" in answer.json()["detail"]
    assert (await owner.get("/v1/runs")).json()["items"] == []


async def test_a_summary_of_nothing_yet_has_no_numbers(owner: httpx.AsyncClient, problem: str) -> None:
    batch = await swept(owner)
    (group,) = (await owner.get(f"/v1/batches/{batch['id']}/summary")).json()["groups"]
    assert group == {
        "problem": "p@1", "group": "", "runs": 2, "ended": 0, "best": None, "median": None, "quartiles": [],
        "evaluations": 0, "tokens": 0, "cost": "0", "objectives": (await runs_of(owner, batch))[0]["objectives"],
    }  # fmt: skip


async def test_a_batch_is_steered_as_one_and_what_is_at_its_end_is_let_be(
    told: Told, owner: httpx.AsyncClient, problem: str
) -> None:
    batch = await swept(owner, seeds=[1, 2, 3])
    place = f"/v1/batches/{batch['id']}"
    by_seed = {run["seed"]: run["id"] for run in await runs_of(owner, batch)}
    play(told, by_seed[1], [1.0], end=True)
    assert (await owner.post(f"/v1/runs/{by_seed[2]}/cancel")).status_code == 202
    answer = await owner.post(f"{place}/pause")
    assert (answer.status_code, answer.headers["Location"]) == (202, place)
    assert {run["seed"]: run["state"] for run in await runs_of(owner, batch)} == {
        1: "succeeded",
        2: "cancelling",
        3: "pausing",
    }
    assert (await owner.post(f"{place}/resume")).status_code == 202
    assert {run["seed"]: run["state"] for run in await runs_of(owner, batch)}[3] == "queued"
    assert (await owner.post(f"{place}/cancel")).status_code == 202
    assert (await owner.post(f"{place}/cancel")).status_code == 202
    assert {run["seed"]: run["state"] for run in await runs_of(owner, batch)} == {
        1: "succeeded",
        2: "cancelling",
        3: "cancelling",
    }


async def test_there_is_no_batch_of_others(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    batch = await swept(owner)
    async with told.client(tenant="other") as foreign:
        for method, path in (
            ("GET", ""),
            ("GET", "/summary"),
            ("POST", "/pause"),
            ("POST", "/resume"),
            ("POST", "/cancel"),
        ):
            answer = await foreign.request(method, f"/v1/batches/{batch['id']}{path}")
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert (await foreign.get("/v1/batches")).json()["items"] == []
    assert (await owner.get(f"/v1/batches/{batch['id']}")).json() == batch


def end(told: Told, run_id: str) -> None:
    """A runner takes a run up and it ends."""
    fence = told.log.take(run_id, "test", 60)
    told.log.append(run_id, fence, [Story(run_id).tell(EventKind.RUN_FINISHED, reason="target")])
    told.log.release(run_id, fence)


async def test_a_batch_has_a_tag_that_changes_with_its_runs(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    batch = await swept(owner)
    path = f"/v1/batches/{batch['id']}"
    tag = (await owner.get(path)).headers["ETag"]
    assert (await owner.get(path, headers={"If-None-Match": tag})).status_code == 304
    end(told, (await runs_of(owner, batch))[0]["id"])
    answer = await owner.get(path, headers={"If-None-Match": tag})
    assert (answer.status_code, answer.json()["states"]) == (200, {"queued": 1, "succeeded": 1})


async def test_a_batch_is_waited_for(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    batch = await swept(owner)
    path, runs = f"/v1/batches/{batch['id']}", await runs_of(owner, batch)
    short = await owner.get(path, headers={"Prefer": "wait=1"})
    assert (short.json()["state"], short.headers["Preference-Applied"]) == ("queued", "wait=1")
    tag = short.headers["ETag"]
    waiting = asyncio.create_task(owner.get(path, headers={"Prefer": "wait=60", "If-None-Match": tag}))
    done, _ = await asyncio.wait([waiting], timeout=0.3)
    assert not done
    for run in runs:
        end(told, run["id"])
    answer = await asyncio.wait_for(waiting, 30)
    assert (answer.status_code, set(answer.json()["states"]) <= {"queued", "succeeded"}) == (200, True)
    assert answer.headers["ETag"] != tag
    at_once = await asyncio.wait_for(owner.get(path, headers={"Prefer": "wait=60"}), 30)
    assert at_once.json()["state"] == "succeeded"


async def test_what_the_runs_of_a_batch_leave_is_removed_only_if_the_batch_can_be_deleted(tmp_path: Path) -> None:
    removed: list[Sequence[RunRecord]] = []
    async with (
        open_told(tmp_path, lambda parts: replace(parts, leftovers=removed.append)) as told,
        told.client() as owner,
    ):
        assert (await owner.post("/v1/problems", json={"files": FILES})).status_code == 201
        batch = await swept(owner)
        path, runs = f"/v1/batches/{batch['id']}", [run["id"] for run in await runs_of(owner, batch)]
        story = Story(runs[0])
        fence = told.log.take(runs[0], "test", 60)
        told.log.append(runs[0], fence, [story.tell(EventKind.RUN_STARTED)])
        assert (await owner.delete(path)).status_code == 409
        assert removed == []
        told.log.append(runs[0], fence, [story.tell(EventKind.RUN_FINISHED, reason="target")])
        told.log.release(runs[0], fence)
        assert (await owner.delete(path)).status_code == 202
        assert [sorted(run.id for run in found) for found in removed] == [sorted(runs)]


async def test_a_batch_is_removed_with_its_runs_once_they_have_ended(
    told: Told, owner: httpx.AsyncClient, problem: str
) -> None:
    batch, other = await swept(owner), await swept(owner)
    path, runs = f"/v1/batches/{batch['id']}", await runs_of(owner, batch)
    tag = (await owner.get(path)).headers["ETag"]
    story = Story(runs[0]["id"])
    fence = told.log.take(story.run_id, "test", 60)
    told.log.append(story.run_id, fence, [story.tell(EventKind.RUN_STARTED)])
    assert (await owner.delete(path)).status_code == 409
    assert len(await runs_of(owner, batch)) == 2
    told.log.append(story.run_id, fence, [story.tell(EventKind.RUN_FINISHED, reason="target")])
    end(told, runs[1]["id"])
    assert (await owner.delete(path, headers={"If-Match": tag})).status_code == 412
    assert (await owner.delete(path)).status_code == 202
    assert (await owner.get(path)).status_code == 404
    assert {(await owner.get(f"/v1/runs/{run['id']}")).status_code for run in runs} == {404}
    assert len(await runs_of(owner, other)) == 2
    async with told.client(tenant="other") as foreign:
        assert (await foreign.delete(f"/v1/batches/{other['id']}")).status_code == 404


async def test_batches_are_chosen_by_name_and_time(owner: httpx.AsyncClient, problem: str) -> None:
    first, second = await swept(owner, labels={"n": "1"}), await swept(owner, labels={"n": "2"})
    named = await owner.post("/v1/batches", json={"name": "c", "runs": [{"problem": "p"}]})
    queries: list[tuple[dict[str, str], list[str]]] = [
        ({"name": "b"}, [second["id"], first["id"]]),
        ({"name": "c"}, [named.json()["id"]]),
        ({"created_before": first["created_at"]}, []),
        ({"created_after": first["created_at"], "name": "b"}, [second["id"], first["id"]]),
    ]
    for query, ids in queries:
        page = (await owner.get("/v1/batches", params=query)).json()
        assert [one["id"] for one in page["items"]] == ids, query
    cursor = (await owner.get("/v1/batches", params={"limit": 1})).json()["next_cursor"]
    assert (await owner.get("/v1/batches", params={"cursor": cursor, "name": "b"})).status_code == 400
