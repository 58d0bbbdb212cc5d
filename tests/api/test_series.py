"""What the API folds from runs: islands, migrations, fronts, grids, bests, metrics, comparisons."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from evolve.events import EventKind
from evolve.statistics.answer_sets import best_at_k
from tests.api.told import Told, open_told, small_run
from tests.contract.story import RUN, Story, new_run

OTHER = "run_0190bbbb000000000000000000000002"
TRADE = "run_0190cccc000000000000000000000003"
ACCURACY = {"name": "accuracy", "direction": "maximize", "low": 0.0, "high": 1.0}
DELAY = {"name": "delay", "direction": "minimize", "low": 0.0, "high": 10.0}
DEPTH = {"name": "depth", "bins": 2, "low": 0.0, "high": 4.0}


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    async with open_told(tmp_path) as opened:
        yield opened


@pytest.fixture
def story(told: Told) -> Story:
    return small_run(told)


@pytest.fixture
def trade(told: Told) -> Story:
    """Two objectives: three candidates that trade one for the other, and one that loses to them all."""
    told.create(new_run(TRADE, objectives=[ACCURACY, DELAY], measures=[DEPTH, {"name": "complexity", "bins": 4}]))
    story = Story(TRADE)
    told.append([story.tell(EventKind.RUN_STARTED, by="test"), story.create(0), *_traded(story, story.id(0), 0.5, 5.0)])
    for number, (accuracy, delay) in enumerate(((0.9, 9.0), (0.2, 1.0), (0.1, 9.5)), start=1):
        told.append([
            story.propose(number, story.id(0)),
            story.create(number, parents=[(story.id(0), "parent")]),
            story.answer(number),
            *_traded(story, story.id(number), accuracy, delay),
        ])  # fmt: skip
    return story


def _traded(story: Story, candidate: str, accuracy: float, delay: float) -> list[Any]:
    rewards = (accuracy, 1 - delay / 10)
    fitness = sum(rewards) / 2
    scores = {"accuracy": accuracy, "delay": delay}
    return [story.evaluate(candidate, fitness, scores=scores, rewards=rewards)]


@pytest.fixture
async def client(told: Told) -> AsyncIterator[httpx.AsyncClient]:
    async with told.client() as opened:
        yield opened


async def read(client: httpx.AsyncClient, path: str, **query: Any) -> Any:
    answer = await client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


class TestIslands:
    async def test_islands_are_listed_also_when_they_are_empty(self, told: Told, client: httpx.AsyncClient) -> None:
        story = small_run(told, OTHER, config={"strategy": "islands", "islands": 3})
        told.append([story.insert(story.id(1), 2), story.insert(story.id(2), 2)])
        islands = (await read(client, f"/v1/runs/{OTHER}/islands"))["items"]
        assert [(island["number"], island["members"]) for island in islands] == [(0, 1), (1, 0), (2, 2)]
        assert (islands[2]["best_candidate_id"], islands[2]["mean_fitness"]) == (story.id(2), 2.5)
        assert islands[1]["best_fitness"] is None
        assert [(island["filled"], island["cells"]) for island in islands] == [(None, None)] * 3

    async def test_cells_are_counted_that_the_members_of_an_island_fill(
        self, told: Told, client: httpx.AsyncClient, trade: Story
    ) -> None:
        told.append([trade.insert(trade.id(1)), trade.insert(trade.id(2))])
        (island, *_) = (await read(client, f"/v1/runs/{TRADE}/islands"))["items"]
        assert (island["members"], island["filled"]) == (2, 1)
        assert island["cells"] == (await read(client, f"/v1/runs/{TRADE}/grid"))["size"]

    async def test_members_are_paged_the_fittest_first(
        self, told: Told, client: httpx.AsyncClient, story: Story
    ) -> None:
        told.append([story.insert(story.id(1)), story.insert(story.id(2))])
        first = await read(client, f"/v1/runs/{RUN}/islands/0", limit=2)
        rest = await read(client, f"/v1/runs/{RUN}/islands/0", limit=2, cursor=first["next_cursor"])
        found = [member["candidate"]["id"] for member in (*first["items"], *rest["items"])]
        assert found == [story.id(2), story.id(1), story.id(0)]
        assert rest["next_cursor"] is None

    async def test_a_walk_goes_on_though_the_last_one_seen_has_left(
        self, told: Told, client: httpx.AsyncClient, story: Story
    ) -> None:
        told.append([story.insert(story.id(1)), story.insert(story.id(2))])
        first = await read(client, f"/v1/runs/{RUN}/islands/0", limit=1)
        told.append([story.insert(story.id(3), status="improved", displaced=[story.id(2)])])
        rest = await read(client, f"/v1/runs/{RUN}/islands/0", cursor=first["next_cursor"])
        assert [member["candidate"]["id"] for member in rest["items"]][:2] == [story.id(1), story.id(0)]

    async def test_an_island_that_is_not_there_is_not_found(self, client: httpx.AsyncClient, story: Story) -> None:
        assert (await client.get(f"/v1/runs/{RUN}/islands/99")).status_code == 404
        assert (await client.get(f"/v1/runs/{RUN}/islands/-1")).status_code == 422

    async def test_migrations_are_those_of_the_events(
        self, told: Told, client: httpx.AsyncClient, story: Story
    ) -> None:
        migrated: dict[str, Any] = {"from": 0, "to": 1, "candidate_ids": [story.id(1)]}
        told.append([story.tell(EventKind.ISLAND_MIGRATED, **migrated)])
        (item,) = (await read(client, f"/v1/runs/{RUN}/migrations"))["items"]
        assert (item["from_island"], item["to_island"], item["candidate_ids"]) == (0, 1, [story.id(1)])
        assert item["sequence"] == story.sequence


class TestFront:
    async def test_it_holds_what_no_other_dominates_and_its_volume(
        self, client: httpx.AsyncClient, trade: Story
    ) -> None:
        first = await read(client, f"/v1/runs/{TRADE}/front", limit=2)
        rest = await read(client, f"/v1/runs/{TRADE}/front", limit=2, cursor=first["next_cursor"])
        found = [item["id"] for item in (*first["items"], *rest["items"])]
        assert sorted(found) == sorted([trade.id(0), trade.id(1), trade.id(2)])
        # The staircase of (0.9, 0.1), (0.5, 0.5) and (0.2, 0.9).
        assert first["hypervolume"] == pytest.approx(0.9 * 0.1 + 0.5 * 0.4 + 0.2 * 0.4)
        assert (first["size"], first["exact"]) == (3, True)

    async def test_of_one_objective_there_is_no_volume(self, client: httpx.AsyncClient, story: Story) -> None:
        front = await read(client, f"/v1/runs/{RUN}/front")
        assert ([item["id"] for item in front["items"]], front["hypervolume"]) == ([story.id(2)], None)


class TestGrid:
    async def test_each_cell_is_held_by_its_fittest(self, client: httpx.AsyncClient, trade: Story) -> None:
        grid = await read(client, f"/v1/runs/{TRADE}/grid")
        depth, complexity = grid["axes"]
        assert (depth["low"], depth["high"], depth["running"]) == (0.0, 4.0, False)
        assert (complexity["low"], complexity["high"], complexity["running"]) == (12.0, 12.0, True)
        (cell,) = grid["cells"]
        assert (cell["bins"], cell["values"], cell["candidates"]) == ([1, 0], [3.0, 12.0], 4)
        assert (cell["candidate_id"], cell["place"], cell["centre"]) == (trade.id(2), 2, None)
        assert (grid["filled"], grid["tessellation"]) == (1, False)

    async def test_an_earlier_grid_is_asked_for(self, client: httpx.AsyncClient, trade: Story) -> None:
        early, whole = [await read(client, f"/v1/runs/{TRADE}/grid", **some) for some in ({"until": 1}, {"until": 0})]
        assert [cell["candidate_id"] for cell in early["cells"]] == [trade.id(0)]
        assert (early["evaluations"], early["cells"][0]["candidates"]) == (1, 1)
        assert whole["evaluations"] >= 4
        assert early["cells"][0]["view_type"] is None
        assert (await client.get(f"/v1/runs/{TRADE}/grid?until=-1")).status_code == 422

    async def test_without_measures_there_is_none(self, client: httpx.AsyncClient, story: Story) -> None:
        assert (await read(client, f"/v1/runs/{RUN}/grid"))["axes"] == []

    async def test_who_has_it_gets_it_no_second_time(self, client: httpx.AsyncClient, trade: Story) -> None:
        for path in ("grid", "metrics", "statistics", "columns"):
            answer = await client.get(f"/v1/runs/{TRADE}/{path}")
            again = await client.get(f"/v1/runs/{TRADE}/{path}", headers={"If-None-Match": answer.headers["etag"]})
            assert again.status_code == 304


class TestBest:
    @pytest.mark.parametrize(
        ("weights", "number", "value"),
        [
            ("", 2, None),
            ("accuracy=1", 1, 0.9),
            ("accuracy=1,delay=3", 2, (0.2 + 3 * 0.9) / 4),
            ("delay=0,accuracy=7", 1, 0.9),
        ],
    )
    async def test_it_follows_the_weights(
        self, client: httpx.AsyncClient, trade: Story, weights: str, number: int, value: float | None
    ) -> None:
        best = await read(client, f"/v1/runs/{TRADE}/best", weights=weights)
        assert best["candidate"]["id"] == trade.id(number)
        assert best["value"] == (value if value is None else pytest.approx(value))

    @pytest.mark.parametrize("weights", ["speed=1", "accuracy", "accuracy=-1", "accuracy=nan", "accuracy=0", "\x00"])
    async def test_weights_that_are_none_are_refused(
        self, client: httpx.AsyncClient, trade: Story, weights: str
    ) -> None:
        assert (await client.get(f"/v1/runs/{TRADE}/best", params={"weights": weights})).status_code == 422

    @pytest.mark.parametrize("weights", ["", "sum_radii=1"])
    async def test_a_run_without_success_has_none(self, told: Told, client: httpx.AsyncClient, weights: str) -> None:
        told.create(new_run())
        assert (await client.get(f"/v1/runs/{RUN}/best", params={"weights": weights})).status_code == 404


class TestMetrics:
    async def test_they_follow_the_evaluations(self, told: Told, client: httpx.AsyncClient, story: Story) -> None:
        told.append([
            story.propose(4, story.id(0)),
            story.create(4, parents=[(story.id(0), "parent")]),
            story.tell(EventKind.CANDIDATE_DUPLICATE, candidate_id=story.id(4), of=story.id(1)),
        ])  # fmt: skip
        metrics = await read(client, f"/v1/runs/{RUN}/metrics")
        points = metrics["points"]
        assert [point["best_fitness"] for point in points] == [1.0, 2.0, 3.0, 3.0]
        assert [point["valid_share"] for point in points] == [1, 1, 1, 0.75]
        assert [point["tokens_input"] for point in points] == [0, 100, 200, 300]
        assert [point["tokens_output"] for point in points] == [0, 40, 80, 120]
        assert [point["cost"] for point in points] == ["0", "0.015 USD", "0.03 USD", "0.045 USD"]
        # Three proposals of four answers each were answered.
        assert [point["duplicate_share"] for point in points] == [0, 0, 0, 1 / 12]
        assert all(point["hypervolume"] is point["cells"] is point["qd_score"] is None for point in points)
        assert metrics["operators"] == [
            {
                "name": "mutate",
                "evaluations": 3,
                "valid": 2,
                "improvements": 2,
                "mean_fitness": 2.5,
                "gain": 2.0,
                "seconds": 0.75,
            },
            {
                "name": "seed",
                "evaluations": 1,
                "valid": 1,
                "improvements": 1,
                "mean_fitness": 1.0,
                "gain": 0.0,
                "seconds": 0.25,
            },
        ]
        assert [(one["name"], one["evaluations"]) for one in metrics["positions"]] == [("0", 3)]

    async def test_the_volume_grows_to_that_of_the_front(self, client: httpx.AsyncClient, trade: Story) -> None:
        points = (await read(client, f"/v1/runs/{TRADE}/metrics"))["points"]
        front = await read(client, f"/v1/runs/{TRADE}/front")
        volumes = [point["hypervolume"] for point in points]
        assert volumes[0] == pytest.approx(0.25)
        assert volumes == sorted(volumes)
        assert volumes[-1] == pytest.approx(front["hypervolume"])

    async def test_they_say_what_of_the_grid_was_filled(self, client: httpx.AsyncClient, trade: Story) -> None:
        points = (await read(client, f"/v1/runs/{TRADE}/metrics"))["points"]
        assert [point["cells"] for point in points] == [1, 1, 1, 1]
        assert [point["qd_score"] for point in points] == pytest.approx([0.5, 0.5, 0.55, 0.55])

    async def test_points_are_spread_evenly_and_end_now(
        self, told: Told, client: httpx.AsyncClient, story: Story
    ) -> None:
        for number in range(4, 24):
            told.append(story.child(number, story.id(0), float(number)))
        points = (await read(client, f"/v1/runs/{RUN}/metrics", points=5))["points"]
        assert [point["evaluations"] for point in points] == [5, 10, 15, 20, 24]
        assert points[-1]["best_fitness"] == 23.0

    async def test_they_keep_up_with_the_run(self, told: Told, client: httpx.AsyncClient, story: Story) -> None:
        path = f"/v1/runs/{RUN}/metrics"
        assert len((await read(client, path))["points"]) == 4
        told.append(story.child(4, story.id(0), 7.0))
        points = (await read(client, path))["points"]
        assert [point["best_fitness"] for point in points] == [1.0, 2.0, 3.0, 3.0, 7.0]
        assert points[-1]["tokens_input"] == 400

    async def test_a_run_without_evaluations_has_no_points(self, told: Told, client: httpx.AsyncClient) -> None:
        told.create(new_run())
        assert (await read(client, f"/v1/runs/{RUN}/metrics"))["points"] == []


class TestStatistics:
    async def test_they_tell_what_the_run_came_to(self, client: httpx.AsyncClient, trade: Story) -> None:
        found = await read(client, f"/v1/runs/{TRADE}/statistics")
        front = await read(client, f"/v1/runs/{TRADE}/front")
        points = (await read(client, f"/v1/runs/{TRADE}/metrics"))["points"]
        assert (found["evaluations"], found["valid"], found["best_at"]) == (4, 4, 3)
        assert (found["front"], found["hypervolume"]) == (front["size"], front["hypervolume"])
        assert (found["cells"], found["qd_score"]) == (points[-1]["cells"], points[-1]["qd_score"])
        # One cell of 2 by 4.
        assert found["coverage"] == 1 / 8
        # Answers are worth 0.5, 0.55 and 0.075, the seed 0.5: one of them is better.
        assert found["answers"]["at"][0]["passed"] == pytest.approx(1 / 3)
        assert found["answers"]["at"][-1]["best"] == pytest.approx(0.55)
        (policy,) = found["policies"]
        assert (policy["tokens"], policy["cost"], policy["improvements"]) == (420, "0.045 USD", 1)
        assert (policy["tokens_per_improvement"], policy["cost_per_improvement"]) == (420, "0.045 USD")
        assert policy["improvements_per_million_tokens"] == pytest.approx(1e6 / 420)
        # A story tells of four answers of each of the three proposals, and of one that was cut off.
        assert (policy["answers"], policy["dropped"], policy["rejected"], policy["duplicates"]) == (12, 3, 0, 0)
        assert (found["threshold"], found["threshold_from"]) == (None, "seed")


class TestColumns:
    async def test_they_tell_each_evaluation(self, client: httpx.AsyncClient, trade: Story) -> None:
        columns = await read(client, f"/v1/runs/{TRADE}/columns")
        assert (columns["total"], columns["begin"], columns["sampled"]) == (4, 0, False)
        assert columns["sequence"] == trade.sequence
        assert (columns["place"], columns["proposal_number"], columns["position"]) == (
            [0, 1, 2, 3],
            [0, 1, 2, 3],
            [0] * 4,
        )
        assert (columns["parent"], columns["island"]) == ([-1, 0, 0, 0], [0] * 4)
        assert (columns["operators"], columns["operator"]) == (["seed", "mutate"], [0, 1, 1, 1])
        assert (columns["policies"], columns["policy"]) == (["", "syntax"], [0, 1, 1, 1])
        assert columns["objectives"] == ["accuracy", "delay"]
        assert columns["rewards"] == [[0.5, 0.9, 0.2, 0.1], [0.5, 0.1, 0.9, 0.05]]
        assert columns["fitness"] == [0.5, 0.5, 0.55, 0.075]
        assert columns["seconds"] == [0, 4, 8, 12]  # a story tells an event a second

    async def test_what_failed_has_an_outcome_and_no_numbers(self, client: httpx.AsyncClient, story: Story) -> None:
        columns = await read(client, f"/v1/runs/{RUN}/columns")
        assert (columns["fitness"], columns["rewards"]) == ([1, 2, 3, None], [[1, 2, 3, None]])
        assert [columns["outcomes"][code] for code in columns["outcome"]] == ["ok", "ok", "ok", "timeout"]
        assert columns["parent"] == [-1, 0, 0, 1]

    async def test_a_caller_fetches_what_it_lacks(self, told: Told, client: httpx.AsyncClient, story: Story) -> None:
        path = f"/v1/runs/{RUN}/columns"
        first = await read(client, path)
        told.append([story.tell(EventKind.RUN_PAUSED, by="me"), *story.child(4, story.id(2), 1 / 3)])
        new = await read(client, path, after=first["total"], points=100)
        assert (new["total"], new["begin"], new["place"], new["parent"]) == (5, 4, [4], [2])
        assert (new["fitness"], new["outcomes"]) == ([0.3333333], first["outcomes"])
        assert [(mark["kind"], mark["place"]) for mark in new["marks"]] == [("run.paused", 4)]
        assert (await read(client, path, after=5))["marks"] == []
        assert (await read(client, path, after=2**53))["begin"] == 5
        assert (await client.get(path, params={"after": -1})).status_code == 422

    async def test_marks_stand_between_the_evaluations(
        self, told: Told, client: httpx.AsyncClient, story: Story
    ) -> None:
        migrated: dict[str, Any] = {"from": 0, "to": 1, "candidate_ids": [story.id(1)]}
        extended: dict[str, Any] = {"key": "evaluations", "from": 200, "to": 300, "by": "me"}
        told.append([
            story.tell(EventKind.ISLAND_MIGRATED, **migrated),
            *story.child(4, story.id(0)),
            story.tell(EventKind.ISLAND_RESET, island=1, survivor=story.id(0), displaced=[]),
            story.tell(EventKind.BUDGET_EXTENDED, **extended),
        ])  # fmt: skip
        marks = (await read(client, f"/v1/runs/{RUN}/columns"))["marks"]
        assert [(mark["kind"], mark["place"], mark["from_island"], mark["to_island"]) for mark in marks] == [
            ("island.migrated", 4, 0, 1),
            ("island.reset", 5, None, 1),
            ("budget.extended", 5, None, None),
        ]

    async def test_a_long_run_is_sampled_to_the_points(
        self, told: Told, client: httpx.AsyncClient, story: Story
    ) -> None:
        for number in range(4, 204):
            worth = None if number % 10 == 0 else float(number % 7) - (number == 101)
            told.append(story.child(number, story.id(0), worth))
        path = f"/v1/runs/{RUN}/columns"
        whole, some = await read(client, path), await read(client, path, points=3)
        assert (some["sampled"], some["total"], whole["sampled"]) == (True, 204, False)
        assert len(some["place"]) <= 100
        assert {0, 1, 2, 4, 5, 6, 203} <= set(some["place"])  # the first, those that became the best, and the last
        for name in ("fitness", "proposal_number", "parent", "seconds", "outcome"):
            assert some[name] == [whole[name][place] for place in some["place"]]
        assert None in some["fitness"]
        assert (await read(client, path, points=10**9)) == whole

    async def test_a_run_without_evaluations_has_empty_columns(self, told: Told, client: httpx.AsyncClient) -> None:
        told.create(new_run())
        columns = await read(client, f"/v1/runs/{RUN}/columns", points=500)
        assert (columns["total"], columns["place"], columns["rewards"], columns["first_at"]) == (0, [], [[]], None)


class TestComparison:
    async def test_runs_stand_on_one_axis(self, told: Told, client: httpx.AsyncClient, story: Story) -> None:
        other = small_run(told, OTHER, seed=8)
        told.append(other.child(4, other.id(0), 5.0))
        found = await read(client, "/v1/compare", runs=f"{RUN},{OTHER},{RUN}")
        assert found["axis"] == [1, 2, 3, 4, 5]
        assert [run["best"] for run in found["runs"]] == [[1, 2, 3, 3, None], [1, 2, 3, 3, 5]]
        assert [run["final_fitness"] for run in found["runs"]] == [3, 5]

    async def test_runs_that_differ_in_the_seed_alone_are_a_group(
        self, told: Told, client: httpx.AsyncClient, story: Story
    ) -> None:
        other = small_run(told, OTHER, seed=8)
        told.append(other.child(4, other.id(0), 5.0))
        small_run(told, TRADE, seed=9, config={"strategy": "best_of_n"})
        found = await read(client, "/v1/compare", runs=f"{RUN},{OTHER},{TRADE}")
        (group,) = found["groups"]
        assert (group["run_ids"], group["seeds"]) == ([RUN, OTHER], [7, 8])
        assert group["mean"] == [1, 2, 3, 3, None]
        assert (group["final_mean"], group["final_deviation"]) == (4.0, pytest.approx(2**0.5))
        assert group["best_at_k"] == [float(best_at_k([3.0, 5.0], k)) for k in (1, 2)] == [4.0, 5.0]

    async def test_groups_are_compared_at_equal_budgets(
        self, told: Told, client: httpx.AsyncClient, story: Story
    ) -> None:
        small_run(told, OTHER, seed=8)
        third = small_run(told, TRADE, config={"strategy": "best_of_n"})
        told.append(third.child(4, third.id(0), 5.0))
        runs = f"{RUN},{OTHER},{TRADE}"
        found = await read(client, "/v1/compare", runs=runs, by="strategy", budgets="2,4")
        assert (found["over"], found["budgets"], found["notes"]) == (
            "evaluations",
            [2, 4],
            ["Some of these runs have not ended."],
        )
        assert [group["title"] for group in found["groups"]] == ["islands", "best_of_n"]
        assert [(level["mean"], level["seeds"]) for level in found["groups"][0]["levels"]] == [(2, 2), (3, 2)]
        (lead,) = found["leads"]
        assert (lead["first"], lead["second"]) == ("islands", "best_of_n")
        # Seed 7 alone is in both.
        assert [(gap["difference"], gap["paired"], gap["low"]) for gap in lead["gaps"]] == [(0, True, None)] * 2
        named = await read(client, "/v1/compare", runs=runs, names="a,a,b", over="money")
        assert [group["name"] for group in named["groups"]] == ["a", "b"]
        # Each answer cost 0.015 USD; a run that did not end is compared as far as it came.
        assert (named["currency"], named["axis"][-1]) == ("USD", 0.06)
        assert named["budgets"][-1] == 0.045
        tokens = await read(client, "/v1/compare", runs=runs, over="tokens", points=4)
        assert tokens["axis"] == [140, 280, 420, 560]

    @pytest.mark.parametrize(
        "query",
        [{"by": "joy"}, {"names": "a,b"}, {"names": "a", "by": "strategy"}, {"over": "joy"}, {"budgets": "0"}],
    )
    async def test_what_cannot_be_compared_so_is_refused(
        self, client: httpx.AsyncClient, story: Story, query: dict[str, str]
    ) -> None:
        answer = await client.get("/v1/compare", params={"runs": RUN, **query})
        assert answer.status_code == 422

    @pytest.mark.parametrize(
        ("runs", "status"),
        [("", 422), (",", 422), ("run_00000000", 404), (",".join(f"run_{n:032x}" for n in range(61)), 422)],
    )
    async def test_what_is_no_list_of_runs_is_refused(
        self, client: httpx.AsyncClient, story: Story, runs: str, status: int
    ) -> None:
        assert (await client.get("/v1/compare", params={"runs": runs})).status_code == status

    async def test_another_tenant_compares_nothing(self, told: Told, story: Story) -> None:
        async with told.client(tenant="other") as stranger:
            assert (await stranger.get("/v1/compare", params={"runs": RUN})).status_code == 404
            for path in (
                "islands",
                "islands/0",
                "migrations",
                "front",
                "grid",
                "best",
                "metrics",
                "statistics",
                "columns",
                "export",
                "artifacts",
            ):
                assert (await stranger.get(f"/v1/runs/{RUN}/{path}")).status_code == 404


async def test_policies_are_listed(client: httpx.AsyncClient) -> None:
    assert (await read(client, "/v1/policies"))["next_cursor"] is None


async def test_an_assessment_tells_held_out_scores_beside_the_recorded_ones(
    told: Told, story: Story, client: httpx.AsyncClient
) -> None:
    address = f"/v1/runs/{RUN}/assessment"
    assert (await client.get(address)).json() == {"run_id": RUN, "holdout": [], "audit": None}
    best = (await client.get(f"/v1/runs/{RUN}/best")).json()["candidate"]
    result: dict[str, Any] = {"outcome": "ok", "reason": "", "repeats": 1, "seconds": 0.1, "candidate_id": best["id"]}
    plan: dict[str, Any] = {"reason": "target", "evaluations": 1, "tolerance": 0.1}
    lower, score = best["fitness"] - 0.5, best["scores"]["sum_radii"]
    told.append([
        story.tell(EventKind.RUN_CLOSING, holdout=[best["id"]], audit=best["id"], **plan),
        story.tell(EventKind.HOLDOUT_SCORED, **result, fitness=lower, scores={"sum_radii": lower}),
        story.tell(EventKind.AUDIT_SCORED, **result, number=1, fitness=score, scores={"sum_radii": score}),
    ])  # fmt: skip
    found = (await client.get(address)).json()
    (held,) = found["holdout"]
    assert (held["candidate_id"], held["fitness"], held["difference"]) == (best["id"], lower, -0.5)
    assert held["recorded_scores"] == best["scores"]
    assert (found["audit"]["holds"], found["audit"]["made"]) == (True, 1)
    assert found["audit"]["ranges"] == [
        {"name": "sum_radii", "recorded": score, "low": score, "high": score, "holds": True}
    ]
