"""The bandit over islands follows its formula."""

import math

import pytest

from evolve.bandit import Arm, choose, gain, reasons
from evolve.configuration import BudgetConfig, RunConfig
from evolve.events import Kind
from evolve.state import State
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
    assert arm.reward == pytest.approx(0.9 * 0.9 * 1.0 + 0.5)
    assert arm.weight == pytest.approx(1 + 0.9 + 0.81)


def test_each_arm_is_tried_three_times_in_turn_and_then_the_bound_decides() -> None:
    arms = [Arm(), Arm(), Arm()]
    order = []
    for _ in range(9):
        order.append(choose(arms))
        arms[order[-1]].visits += 1
    assert order == [0, 1, 2] * 3
    arms[1].learn(1.0)
    assert choose(arms) == 1
    assert reasons(arms, 1) == pytest.approx({"visits": 3, "gain": 1.0, "bonus": math.sqrt(2 * math.log(10) / 3)})
    assert reasons([Arm(visits=2), *arms], 0) == {"visits": 2}
    # mean + sqrt(2) * sqrt(ln(N + 1) / n), with N = 9 + 14: 1 + 0.61 against 0 + 1.46 of the first.
    arms[1].visits += 14
    assert math.sqrt(2) * math.sqrt(math.log(24) / 17) + 1 > math.sqrt(2) * math.sqrt(math.log(24) / 3)
    assert choose(arms) == 1
    arms[1].visits = 200
    assert choose(arms) == 0


def run(config: RunConfig) -> tuple[State, World]:
    toy = toy_problem()
    world = World(toy)
    search = new_search(toy, config)
    assert world.play(search, search.start()) == "evaluations"
    return search.state, world


def test_the_arms_of_a_run_are_the_fold_of_its_events() -> None:
    config = RunConfig(islands=3, island_choice="bandit", migration_interval=10, budget=BudgetConfig(evaluations=120))
    state, world = run(config)
    asked = [event.payload["island"] for event in world.log if event.kind is Kind.PROPOSAL_CREATED]
    assert [island.arm.visits for island in state.islands] == [asked.count(number) for number in range(3)]
    assert asked[:9] == [0, 1, 2] * 3
    again = State(toy_problem(), config)
    for event in world.log:
        again.apply(event)
    assert [island.arm for island in again.islands] == [island.arm for island in state.islands]
    assert any(island.arm.reward for island in state.islands)
