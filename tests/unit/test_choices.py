"""A proposal tells what decided wherever there was a choice, by formulas that held then, and nothing elsewhere."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from evolve.configuration import BudgetConfig, RunConfig, SelectionOptions
from evolve.credit.bandit import upper_bound
from evolve.events import EventKind
from evolve.search.state import SearchState
from tests.fakes.world import ASKING, TEAM, World, new_search, toy_problem

CHOICES = frozenset({"island", "operator", "policy", "second_parent"})
BUDGET = BudgetConfig(evaluations=200)


def told(
    config: RunConfig, *, team: bool = False, several: bool = False
) -> Iterator[tuple[SearchState, Mapping[str, Any]]]:
    """Each proposal of a run, with all that the search knew when it was made."""
    toy = toy_problem(several=several)
    world = World(toy)
    search = new_search(toy, config, TEAM if team else (ASKING,))
    assert world.play(search, search.start()) == "evaluations"
    state = SearchState(toy, config)
    for event in world.log:
        if event.kind is EventKind.PROPOSAL_CREATED:
            yield state, event.payload
        state.apply(event)


def bound(mean: float, visits: int, everything: int) -> float:
    return upper_bound(mean, visits, math.log(everything + 1))


def test_where_nothing_was_to_choose_nothing_more_is_told() -> None:
    config = RunConfig(budget=BUDGET, operators={"simplify": 1.0}, operator_choice="adaptive", policy_choice="adaptive")
    assert all(payload["rationale"].keys() == {"rank"} for _, payload in told(config))


def test_a_single_island_is_no_choice_of_a_bandit() -> None:
    assert not any(
        "island" in payload["rationale"] for _, payload in told(RunConfig(islands=1, island_choice="bandit"))
    )


def test_an_island_is_told_with_the_bound_that_was_the_highest() -> None:
    decided = 0
    for state, payload in told(RunConfig(islands=3, island_choice="bandit", budget=BUDGET)):
        rationale, arms = payload["rationale"]["island"], [island.arm for island in state.islands]
        assert rationale["visits"] == arms[payload["island"]].visits
        if rationale.keys() == {"visits"}:
            assert rationale["visits"] < 3
            continue
        decided += 1
        everything = sum(arm.visits for arm in arms)
        highest = max(bound(arm.mean, arm.visits, everything) for arm in arms)
        assert rationale["gain"] + rationale["bonus"] == pytest.approx(highest, rel=1e-5)
    assert decided > 10


def test_a_policy_that_was_drawn_is_told_with_its_probability() -> None:
    found = {
        payload["policy"]: payload["rationale"]["policy"] for _, payload in told(RunConfig(budget=BUDGET), team=True)
    }
    assert found == {"toy": {"probability": 0.666667}, "rare": {"probability": 0.333333}}


def test_a_policy_that_was_the_better_buy_is_told_with_its_bound_and_its_price() -> None:
    decided = 0
    for state, payload in told(RunConfig(policy_choice="adaptive", budget=BUDGET), team=True):
        rationale, gains = payload["rationale"]["policy"], state.trials.policy_credit.of(payload["policy"]).gains
        assert rationale["visits"] == gains.visits
        if rationale.keys() == {"visits"}:
            assert rationale["visits"] < 3
            continue
        decided += 1
        everything = state.asked
        assert rationale["gain"] + rationale["bonus"] == pytest.approx(
            bound(gains.mean, gains.visits, everything), rel=1e-5
        )
        answers = {name: state.trials.policy_credit.of(name).answers.mean for name in ("toy", "rare")}
        cost = answers[payload["policy"]] / (sum(answers.values()) / 2)
        assert rationale["price"] == pytest.approx(cost / {"toy": 1.0, "rare": 0.5}[payload["policy"]], rel=1e-5)
    assert decided > 10


def test_an_operator_that_follows_success_is_told_with_its_share_and_its_rate() -> None:
    shares = {"mutate": 1.0, "simplify": 0.5}
    rates = set()
    for state, payload in told(RunConfig(operators=shares, operator_choice="adaptive", budget=BUDGET)):
        name, rationale = payload["operator"], payload["rationale"]["operator"]
        assert rationale["share"] == shares[name]
        assert rationale["rate"] == pytest.approx(state.trials.credit.rate(name), rel=1e-5)
        weighed = {one: shares[one] * state.trials.credit.rate(one) for one in shares}
        assert payload["probability"] == pytest.approx(0.05 + 0.9 * weighed[name] / sum(weighed.values()))
        rates.add(rationale["rate"])
    assert len(rates) > 10


def test_an_operator_that_is_drawn_by_shares_is_told_by_its_probability_alone() -> None:
    config = RunConfig(operators={"mutate": 1.0, "simplify": 3.0}, budget=BUDGET)
    assert {payload["probability"] for _, payload in told(config)} == {0.25, 0.75}
    assert not any("operator" in payload["rationale"] for _, payload in told(config))


def crossed(config: RunConfig) -> Iterator[tuple[SearchState, Mapping[str, Any]]]:
    return ((state, payload) for state, payload in told(config, several=True) if payload["operator"] == "crossover")


def test_a_second_parent_is_told_as_the_first_is() -> None:
    config = RunConfig(operators={"crossover": 1.0}, selection={"dirichlet": 0.5, "nsga2": 0.5}, budget=BUDGET)
    ways = {payload["rationale"]["second_parent"]["selection"]: payload for _, payload in crossed(config)}
    assert ways.keys() >= {"dirichlet", "nsga2"}
    drawn, ranked = (ways[name]["rationale"]["second_parent"] for name in ("dirichlet", "nsga2"))
    assert drawn.keys() == {"selection", "weights"}
    assert sum(drawn["weights"]) == pytest.approx(1.0, abs=1e-5)
    assert drawn["weights"] != pytest.approx(ways["dirichlet"]["weights"])
    assert ranked.keys() == {"selection", "rank", "crowding"}


def test_a_second_parent_that_no_selection_would_give_is_told_with_its_probability() -> None:
    config = RunConfig(
        islands=4,
        operators={"crossover": 1.0},
        selection={"power_law": 1.0},
        selection_options=SelectionOptions(power_law_exponent=500.0),
        budget=BUDGET,
    )
    seen = set()
    for state, payload in crossed(config):
        others = len(state.islands[payload["island"]].archive.members) - 1
        seen.add(others)
        assert payload["rationale"]["second_parent"] == {
            "selection": "",
            "probability": pytest.approx(1 / others, rel=1e-5),
        }
    assert len(seen) > 3


def test_all_that_decided_stands_in_one_record_of_a_few_values() -> None:
    config = RunConfig(
        islands=4,
        operators={"crossover": 1.0, "repair": 1.0, "mutate": 1.0},
        operator_choice="adaptive",
        island_choice="bandit",
        selection={"nsga2": 1.0},
        budget=BUDGET,
    )
    whole = [payload["rationale"] for _, payload in told(config, team=True, several=True)]
    assert {frozenset(rationale) for rationale in whole} >= {
        CHOICES | {"rank", "crowding"},
        CHOICES - {"second_parent"},
    }
    assert max(len(json.dumps(rationale, allow_nan=False)) for rationale in whole) < 600
