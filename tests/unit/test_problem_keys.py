"""No key of a problem's objectives and measures is dead: each changes a run."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pytest

from evolve.problem import Direction, Measure, Objective, Problem
from service.problems.configuration import read_config
from tests.fakes.world import World, new_search, toy_problem

SHORT = {"budget": {"evaluations": 90}, "islands": 2, "migration_interval": 10}
# Of each key another value, and what else must be set for it to matter.
OBJECTIVES: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "name": ("magnitude", {}),
    "direction": (Direction.MINIMIZE, {}),
    "low": (-1.0, {}),
    "high": (2.0, {}),
    "weight": (9.0, {}),
    "target": (0.3, {}),
    "reference": (0.5, {"selection": {"hypervolume": 1.0}}),
}
MEASURES: Mapping[str, Any] = {"name": "smallness", "bins": 3, "low": -40.0, "high": 0.5}


def story(problem: Problem, **config: Any) -> list[object]:
    """All that a run of the toy world tells."""
    world = World(problem, choose=lambda waiting: waiting - 1)
    search = new_search(problem, read_config([("the short run", SHORT), ("the test", config)]))
    reason = world.play(search, search.start())
    return [reason, [(event.kind, dict(event.payload)) for event in world.log]]


def test_every_key_is_tried_here() -> None:
    assert {entry.name for entry in fields(Objective)} == set(OBJECTIVES)
    assert {entry.name for entry in fields(Measure)} == set(MEASURES)


@pytest.mark.parametrize("key", OBJECTIVES)
def test_a_key_of_an_objective_changes_the_run(key: str) -> None:
    value, config = OBJECTIVES[key]
    problem = replace(toy_problem(several=True), measures=())
    first, second = problem.objectives
    changed = replace(problem, objectives=(first, replace(second, **{key: value})))
    assert story(changed, **config) != story(problem, **config)


@pytest.mark.parametrize("key", MEASURES)
def test_a_key_of_a_measure_changes_the_run(key: str) -> None:
    measure = Measure(name="magnitude", bins=8, low=0.0, high=4.0)
    problem = replace(toy_problem(), measures=(measure,))
    changed = replace(problem, measures=(replace(measure, **{key: MEASURES[key]}),))
    assert story(changed) != story(problem)
