"""What asking policies came to, as the metrics of a run tell it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from evolve.events import EventKind
from evolve.money import Money
from evolve.proposal import Charge, Usage
from tests.api.told import Told, open_told, small_run
from tests.contract.story import RUN, Story

METRICS = f"/v1/runs/{RUN}/metrics"


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    async with open_told(tmp_path) as opened:
        yield opened


@pytest.fixture
def story(told: Told) -> Story:
    """Three proposals that were answered, each with four answers in one and a half seconds."""
    return small_run(told)


@pytest.fixture
async def client(told: Told) -> AsyncIterator[httpx.AsyncClient]:
    async with told.client() as opened:
        yield opened


async def costs(client: httpx.AsyncClient) -> dict[str, Any]:
    metrics = (await client.get(METRICS)).raise_for_status().json()
    (by_policy,), (by_operator,) = metrics["policy_costs"], metrics["operator_costs"]
    assert (by_policy.pop("name"), by_operator.pop("name")) == ("syntax", "mutate")
    assert by_policy == by_operator
    found: dict[str, Any] = by_policy
    return found


async def test_they_sum_what_was_asked_and_answered(client: httpx.AsyncClient, story: Story) -> None:
    assert await costs(client) == {
        "proposals": 3,
        "answered": 3,
        "failed": 0,
        "answers": 12,
        "dropped": 3,
        "duplicates": 0,
        "rejected": 0,
        "tokens_input": 300,
        "tokens_cached": 180,
        "tokens_output": 120,
        "cost": "0.045 USD",
        "seconds": 4.5,
        "seconds_p50": 1.5,
        "seconds_p95": 1.5,
        "finish_reasons": {"stop": 3},
    }


async def test_they_keep_up_with_what_is_lost(told: Told, client: httpx.AsyncClient, story: Story) -> None:
    before = await costs(client)
    told.append([
        story.propose(4, story.id(0)),
        story.create(4, parents=[(story.id(0), "parent")]),
        story.tell(EventKind.CANDIDATE_DUPLICATE, candidate_id=story.id(4), of=story.id(1)),
        story.propose(5, story.id(0)),
        story.tell(EventKind.PROPOSAL_FAILED, proposal_number=5, reason="the server went away"),
    ])  # fmt: skip
    after = await costs(client)
    changed = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    assert changed == {"proposals": 2, "failed": 1, "duplicates": 1}


async def test_charges_stand_with_whom_they_were_paid_to(told: Told, client: httpx.AsyncClient, story: Story) -> None:
    charge = Charge(
        policy="judge",
        purpose="review",
        usage=Usage(input=7, cached=2, output=3),
        cost=Money.read("0.5 USD"),
        seconds=2.0,
    )
    told.append([story.propose(4, story.id(0)), story.answer(4, charges=[charge])])
    metrics = (await client.get(METRICS)).raise_for_status().json()
    by_policy = {one["name"]: one for one in metrics["policy_costs"]}
    (by_operator,) = metrics["operator_costs"]
    assert (by_policy["judge"]["tokens_input"], by_policy["judge"]["cost"]) == (7, "0.5 USD")
    assert (by_policy["judge"]["proposals"], by_policy["judge"]["seconds_p50"]) == (0, None)
    assert (by_policy["syntax"]["tokens_input"], by_policy["syntax"]["cost"]) == (400, "0.06 USD")
    assert (by_operator["tokens_input"], by_operator["cost"]) == (407, "0.56 USD")
    proposal = (await client.get(f"/v1/runs/{RUN}/proposals/4")).raise_for_status().json()
    tokens = {"input": 7, "cached": 2, "output": 3}
    told_of = {"policy": "judge", "purpose": "review", "tokens": tokens, "cost": "0.5 USD", "seconds": 2.0}
    assert proposal["charges"] == [told_of]
    assert proposal["tokens_input"] == 100
    usage = (await client.get(f"/v1/runs/{RUN}")).raise_for_status().json()["usage"]
    assert (usage["tokens_input"], usage["cost"]) == (407, "0.56 USD")


async def test_each_policy_is_told_over_the_evaluations(told: Told, client: httpx.AsyncClient, story: Story) -> None:
    charge = Charge(
        policy="judge", purpose="review", usage=Usage(input=7, output=3), cost=Money.read("0.5 USD"), seconds=2.0
    )
    told.append([story.propose(4, story.id(0)), story.answer(4, charges=[charge])])
    metrics = (await client.get(METRICS)).raise_for_status().json()
    judge, syntax = metrics["policy_curves"]
    assert judge == {
        "name": "judge",
        "evaluations": [0, 0, 0, 0],
        "gain": [0, 0, 0, 0],
        "tokens": [0, 0, 0, 10],
        "cost": [0, 0, 0, 0.5],
    }
    best = [point["best_fitness"] for point in metrics["points"]]
    assert syntax["evaluations"] == [0, 1, 2, 3]
    assert syntax["gain"] == pytest.approx([value - best[0] for value in best])
    assert syntax["tokens"] == [0, 140, 280, 560]
    assert syntax["cost"] == pytest.approx([0, 0.015, 0.03, 0.06])
    (success,) = metrics["policies"]
    assert syntax["gain"][-1] == success["gain"]
    seconds = [point["evaluation_seconds"] for point in metrics["points"]]
    assert seconds == sorted(seconds)
    assert success["seconds"] == pytest.approx(seconds[-1] - seconds[0])
    assert success["seconds"] > 0


async def test_cached_tokens_are_told_over_the_evaluations(client: httpx.AsyncClient, story: Story) -> None:
    points = (await client.get(METRICS)).json()["points"]
    assert [point["tokens_cached"] for point in points] == [0, 60, 120, 180]


async def test_money_of_what_was_cut_off_is_spent_and_what_has_no_price_is_not_known(
    told: Told, client: httpx.AsyncClient, story: Story
) -> None:
    tokens, cost = {"input": 10, "cached": 0, "output": 5}, "0.0050001 USD"
    proposed = story.propose(4, story.id(0))
    cut = story.tell(EventKind.PROPOSAL_FAILED, proposal_number=4, reason="it ended", tokens=tokens, cost=cost)
    told.append([proposed, cut])
    found = await costs(client)
    assert (found["cost"], found["tokens_output"], found["failed"]) == ("0.0500001 USD", 125, 1)
    run = (await client.get(f"/v1/runs/{RUN}")).json()
    assert run["usage"]["cost"] == "0.0500001 USD"
    last = (await client.get(METRICS)).json()["points"][-1]
    assert (last["cost"], last["tokens_input"], last["tokens_output"]) == ("0.0500001 USD", 310, 125)
    compared = (await client.get("/v1/compare", params={"runs": RUN, "over": "money"})).json()
    assert compared["axis"][-1] == 0.0500001
    told.append([story.propose(5, story.id(0)), story.answer(5, cost=None)])
    assert (await costs(client))["cost"] is None
    assert (await client.get(f"/v1/runs/{RUN}")).json()["usage"]["cost"] is None


async def test_a_budget_of_money_is_wanted_as_an_exact_decimal_where_the_cost_is_known(
    told: Told, client: httpx.AsyncClient, story: Story
) -> None:
    place = f"/v1/runs/{RUN}/extend"
    wanted = await client.post(place, json={"budget": {"money": "2.50 USD"}})
    assert (wanted.status_code, wanted.json()["desired_budget"]) == (202, {"money": "2.5 USD"})
