"""The bandit over islands follows its formula."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from evolve.configuration import BudgetConfig, RunConfig
from evolve.credit.bandit import Arm, GainScale, choose, gain, reasons, upper_bound
from evolve.events import EventKind
from evolve.search.state import SearchState
from tests.fakes.world import World, new_search, toy_problem


def test_a_gain_is_the_improvement_over_the_best_of_the_run() -> None:
    assert gain(12.0, 10.0, 20.0) == pytest.approx(0.1)
    assert gain(-1.0, -3.0, -4.0) == pytest.approx(0.5)
    assert gain(10.0, 10.0, 20.0) == gain(None, 10.0, 20.0) == 0.0
    assert gain(9.0, 1.0, 0.0) == gain(1.0, -math.inf, 5.0) == gain(1.0, 0.0, None) == 1.0


def test_the_mean_of_late_forgets() -> None:
    arm = Arm()
    for found in (1.0, 0.0, 0.5):
        arm.learn(found)
    assert arm.reward == pytest.approx(0.995 * 0.995 * 1.0 + 0.5)
    assert arm.weight == pytest.approx(1 + 0.995 + 0.995**2)


def test_gains_are_shares_of_the_largest_of_late() -> None:
    scale = GainScale()
    assert [scale.share(found) for found in (0.0, 0.02, 0.01, 0.04)] == pytest.approx([0.0, 1.0, 0.5 / 0.98, 1.0])
    for _ in range(300):
        assert scale.share(0.0) == 0.0
    assert scale.share(0.04 * 0.98**301) == pytest.approx(1.0)


@pytest.mark.parametrize(("mean", "visits"), [(0.0, 3), (0.3, 10), (0.02, 400), (1.0, 7)])
def test_the_bound_is_where_the_divergence_reaches_the_evidence(mean: float, visits: int) -> None:
    evidence = math.log(1000)
    bound = upper_bound(mean, visits, evidence)
    if mean == 0:
        assert bound == pytest.approx(1 - math.exp(-evidence / visits))
    elif mean == 1:
        assert bound == 1
    else:
        divergence = mean * math.log(mean / bound) + (1 - mean) * math.log((1 - mean) / (1 - bound))
        assert visits * divergence == pytest.approx(evidence)


def test_each_arm_is_tried_three_times_in_turn_and_then_the_bound_decides() -> None:
    arms = [Arm(), Arm(), Arm()]
    order = []
    for _ in range(9):
        order.append(choose(arms))
        arms[order[-1]].visits += 1
    assert order == [0, 1, 2] * 3
    arms[1].learn(1.0)
    assert choose(arms) == 1
    assert reasons(arms, 1) == pytest.approx({"visits": 3, "gain": 1.0, "bonus": 0.0})
    assert reasons(arms, 0) == pytest.approx({"visits": 3, "gain": 0.0, "bonus": 1 - 10 ** (-1 / 3)})
    assert reasons([Arm(visits=2), *arms], 0) == {"visits": 2}
    for _ in range(20):
        arms[1].learn(0.0)
        arms[1].visits += 1
    # Of the first nothing is known but three failures: 1 - 30^(-1/3) = 0.68 against less than 0.3.
    assert choose(arms) == 0


def asked(chances: Sequence[float], gains: float, proposals: int, seed: int) -> list[float]:
    """Shares of proposals of arms that gain something with these chances."""
    rng, arms, scale = np.random.default_rng(seed), [Arm() for _ in chances], GainScale()
    for _ in range(proposals):
        place = choose(arms)
        arms[place].visits += 1
        arms[place].learn(scale.share(gains * rng.uniform(0.5, 1.5) if rng.random() < chances[place] else 0.0))
    return [arm.visits / proposals for arm in arms]


@pytest.mark.parametrize(
    ("chances", "minimum"), [([0.05, 0.0], 0.8), ([0.05, 0.0, 0.0, 0.0], 0.6), ([0.2, 0.0, 0.0, 0.0], 0.8)]
)
def test_an_arm_that_alone_finds_something_is_asked_for_most(chances: Sequence[float], minimum: float) -> None:
    """UCB1 with the bonus for rewards across [0, 1] asked for it with 58 % and 25 % of 1,000 proposals."""
    found = [asked(chances, 0.02, 1000, seed)[0] for seed in range(10)]
    assert float(np.mean(found)) > minimum


def test_arms_that_find_as_much_are_asked_for_alike() -> None:
    found = np.mean([asked([0.05] * 4, 0.02, 1000, seed) for seed in range(20)], axis=0)
    assert found == pytest.approx([0.25] * 4, abs=0.08)


def run(config: RunConfig) -> tuple[SearchState, World]:
    toy = toy_problem()
    world = World(toy)
    search = new_search(toy, config)
    assert world.play(search, search.start()) == "evaluations"
    return search.state, world


def test_the_arms_of_a_run_are_the_fold_of_its_events() -> None:
    config = RunConfig(islands=3, island_choice="bandit", migration_interval=10, budget=BudgetConfig(evaluations=120))
    state, world = run(config)
    asked = [event.payload["island"] for event in world.log if event.kind is EventKind.PROPOSAL_CREATED]
    assert [island.arm.visits for island in state.islands] == [asked.count(number) for number in range(3)]
    assert asked[:9] == [0, 1, 2] * 3
    again = SearchState(toy_problem(), config)
    for event in world.log:
        again.apply(event)
    assert [island.arm for island in again.islands] == [island.arm for island in state.islands]
    assert again.gain_scale == state.gain_scale
    assert any(island.arm.reward for island in state.islands)
