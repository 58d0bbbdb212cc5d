"""Settings that people change of an active run: which, what they do from then on, and that a replay knows them."""

import math
from dataclasses import replace
from typing import Any

import pytest

from evolve.change_events import ChangeRefused, SettingsChanged
from evolve.configuration import BudgetConfig, ConcurrencyConfig, DeterministicConfig, RunConfig, VariantConfig
from evolve.errors import ConfigurationError
from evolve.event_types import IslandMigrated, ProposalCreated
from evolve.search.run_settings import CHANGEABLE, check_settings, check_weights, read_settings, with_settings
from tests.fakes.steering import setting, steered
from tests.fakes.world import TEAM, World, new_search, resume, toy_problem

CONFIG = RunConfig(
    islands=2,
    migration_interval=7,
    budget=BudgetConfig(evaluations=150),
    deterministic=DeterministicConfig(window=4),
)
FREE = replace(CONFIG, deterministic=DeterministicConfig(window=0))
BOTH = pytest.mark.parametrize("config", [CONFIG, FREE], ids=["deterministic", "free"])


def split(world: World) -> tuple[list[Any], list[Any]]:
    """What was decided before settings changed, and after."""
    place = next(at for at, event in enumerate(world.log) if isinstance(event.data, SettingsChanged))
    told = [event.data for event in world.log]
    return told[:place], told[place:]


def proposals(told: list[Any]) -> list[ProposalCreated]:
    return [data for data in told if isinstance(data, ProposalCreated)]


@BOTH
def test_parents_are_selected_and_children_made_as_the_changed_settings_say(config: RunConfig) -> None:
    change = setting(selection={"lexicase": 1.0}, operators={"crossover": 1.0})
    world, search = steered({20: lambda _: change}, config)
    before, after = split(world)
    assert {one.selection for one in proposals(before)} == {"power_law"}
    assert {one.operator for one in proposals(before)} == {"mutate"}
    assert {one.selection for one in proposals(after)} == {"lexicase"}
    assert {one.operator for one in proposals(after)} == {"crossover"}
    assert search.state.config.selection == {"lexicase": 1.0}


@BOTH
def test_parents_are_selected_for_the_objectives_that_weigh_more(config: RunConfig) -> None:
    change = setting(selection_options__objective_weights={"closeness": 0.0})
    world, search = steered({20: lambda _: change}, config, problem=toy_problem(several=True))
    before, after = ([one.weights for one in proposals(part) if one.weights] for part in split(world))
    assert min(weights[0] for weights in before) > 0
    assert {weights[0] for weights in after} == {0.0}
    again = new_search(world.problem, config)
    resume(world, again, world.log)
    assert again.state.config == search.state.config != config


def test_repair_that_is_switched_on_repairs_later_failures() -> None:
    world, _ = steered({20: lambda _: setting(operators={"mutate": 1.0, "repair": 1.0})}, FREE)
    before, after = split(world)
    assert "repair" not in {one.operator for one in proposals(before)}
    assert "repair" in {one.operator for one in proposals(after)}


def test_migration_follows_its_settings_at_once() -> None:
    world, _ = steered({30: lambda _: setting(topology="none")}, FREE)
    before, after = split(world)
    assert any(isinstance(data, IslandMigrated) for data in before)
    assert not any(isinstance(data, IslandMigrated) for data in after)


@BOTH
def test_a_policy_with_the_weight_0_is_not_asked_until_its_weight_is_above(config: RunConfig) -> None:
    off, on = setting(policies__toy=0.0), setting(policies__toy=1e9)
    world, _ = steered({12: lambda _: off, 60: lambda _: on}, config, askings=TEAM)
    _, after = split(world)
    again = next(at for at, data in enumerate(after) if isinstance(data, SettingsChanged) and at)
    assert {one.policy for one in proposals(after[:again])} == {"rare"}
    assert {one.policy for one in proposals(after[again:])} == {"toy"}


def test_the_last_policy_is_not_switched_off() -> None:
    both = {12: lambda _: setting(policies__toy=0.0), 30: lambda _: setting(policies__rare=0.0)}
    world, search = steered(both, FREE, askings=TEAM)
    [refused] = [event.data for event in world.log if isinstance(event.data, ChangeRefused)]
    assert refused.reason == "a run needs a policy with a weight above 0"
    assert search.state.policy_weights == {"toy": 0.0}


def test_an_island_keeps_what_its_variant_says() -> None:
    config = replace(FREE, variants=(VariantConfig(islands=(1,), selection={"tournament": 1.0}),))
    world, _ = steered({20: lambda _: setting(selection={"lexicase": 1.0})}, config)
    _, after = split(world)
    assert {(one.island, one.selection) for one in proposals(after)} == {(0, "lexicase"), (1, "tournament")}


@BOTH
def test_a_replay_goes_on_with_the_settings_as_the_unbroken_run(config: RunConfig) -> None:
    asked = {
        15: lambda _: setting(selection={"tournament": 2.0}, inspirations__top=1, concurrency__policy=2),
        40: lambda _: setting(operators={"repair": 1.0, "mutate": 1.0}, reset_after=10, policies__rare=3.0),
    }
    whole, search = steered(asked, config, askings=TEAM)
    last = max(at for at, event in enumerate(whole.log) if isinstance(event.data, SettingsChanged))
    first = next(at for at, event in enumerate(whole.log) if isinstance(event.data, SettingsChanged))
    ends = [end for end in whole.boundaries if end > first]
    for end in (ends[0], *[one for one in ends if one > last][:3], ends[-10]):
        again = World(whole.problem, individuals=dict(whole.individuals), candidates=dict(whole.candidates))
        second = new_search(whole.problem, config, TEAM)
        again.play(second, resume(again, second, whole.log[:end]))
        if end > last:
            assert second.state.config == search.state.config
            assert second.state.policy_weights == search.state.policy_weights == {"rare": 3.0}
            if config.deterministic.window:
                assert whole.log[:end] + again.log == whole.log


def test_concurrency_is_one_of_them() -> None:
    _, search = steered({15: lambda _: setting(concurrency__evaluations=3)}, FREE)
    assert search.state.config.concurrency == ConcurrencyConfig(evaluations=3)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"seed": 3}, "seed cannot change while a run is active. You can change selection, operators, "),
        ({"archive.size": 3}, "archive.size cannot change"),
        ({"archive": {"size": 3}}, "archive cannot change"),
        ({"budget.evaluations": 3}, "budget.evaluations cannot change"),
        ({"x" * 10_000: 3}, "cannot change while a run is active"),
        ({"selection": 3}, "must be a table"),
        ({"selection": {"lexicase": math.nan}}, "selection.lexicase must be a finite number"),
        ({"selection.lexicase": "much"}, "selection.lexicase must be a finite number"),
        ({"migration_rate": math.inf}, "migration_rate must be a finite number"),
        ({"migration_rate": 10**400}, "migration_rate must be a finite number"),
        ({"migration_rate": True}, "migration_rate must be a finite number"),
        ({"inspirations.diverse": 10**9}, "whole number from 0 to 100"),
        ({"concurrency.policy": 2.5}, "whole number from 0 to 10000"),
        ({"concurrency.policy": -1}, "whole number from 0 to 10000"),
        ({"topology": 3}, "topology must be a word"),
        ({"policies": {"toy": None}}, "policies.toy must be a finite number"),
    ],
)
def test_keys_and_types_that_cannot_be_are_refused_in_one_sentence(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_settings(given)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "give at least one setting"),
        ({"topology": "star"}, "choose one of ring"),
        ({"migration_rate": 2.0}, "between 0 and 1"),
        ({"migration_interval": 0}, "at least 1"),
        ({"selection": {"lexicase": 0.0}}, "selection needs a share above 0"),
        ({"selection": {"lexicase": -1.0}}, "must lie between 0"),
        ({"selection": {"nobody": 1.0}}, "the run does not use 'nobody'"),
        ({"operators": {"other.module:Operator": 1.0}}, "the run does not use 'other.module:Operator'"),
        ({"selection_options.cases": 0.0}, "must lie above 0"),
        ({"policies.nobody": 1.0}, "the run has no policy 'nobody': its policies are rare, toy"),
        ({"policies.toy": -1.0}, "must be a weight between 0"),
        ({"selection_options.objective_weights": {"speed": 1.0}}, "the problem has no objective 'speed'"),
        ({"selection_options.objective_weights": {"closeness": 0.0}}, "needs a weight above 0"),
    ],
)
def test_values_out_of_range_are_refused_in_one_sentence(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_settings(settings, CONFIG, ["toy", "rare"], ["closeness"])
    assert reason in str(caught.value)


def test_a_baseline_reads_none_of_the_settings_of_islands() -> None:
    config = RunConfig(strategy="best_of_n")
    check_settings({"concurrency.evaluations": 2, "policies.toy": 1.0}, config, ["toy"], ["closeness"])
    with pytest.raises(ConfigurationError, match="the strategy best_of_n does not read topology"):
        check_settings({"topology": "full"}, config, ["toy"], ["closeness"])


def test_settings_are_read_dotted_and_nested() -> None:
    read = read_settings(
        {"selection.lexicase": 1, "selection.tournament": 2, "inspirations": {"top": 3.0}, "policies": {"a.b": 2}}
    )
    assert read == {"selection": {"lexicase": 1.0, "tournament": 2.0}, "inspirations.top": 3, "policies.a.b": 2.0}
    dotted = read_settings({"selection_options.objective_weights.a": 2, "selection_options": {"objective_weights": {}}})
    assert dotted == {"selection_options.objective_weights": {}}
    changed = with_settings(CONFIG, read)
    assert (changed.selection, changed.inspirations.top) == ({"lexicase": 1.0, "tournament": 2.0}, 3)
    assert changed.inspirations.diverse == CONFIG.inspirations.diverse


def test_every_key_that_may_change_has_a_value_that_it_may_have() -> None:
    values: dict[str, Any] = {"selection": {"puct": 1}, "operators": {"simplify": 1}, "island_choice": "bandit"}
    values["selection_options.objective_weights"] = {"closeness": 2}
    values |= {"topology": "full", "migrants": "front", "reset_from": "better_half"}
    for key in CHANGEABLE:
        value = values.get(key, 0.5 if key.startswith("selection_options") or key == "migration_rate" else 1)
        read = read_settings({key: value})
        check_settings(read, CONFIG, ["toy"], ["closeness"])
        assert with_settings(CONFIG, read) != CONFIG


def test_weights_that_leave_no_policy_are_refused() -> None:
    check_weights([0.0, 1.0])
    with pytest.raises(ConfigurationError, match="weight above 0"):
        check_weights([0.0, 0.0])
