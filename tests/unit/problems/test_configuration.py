import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.configuration import SELECTIONS, BudgetConfig, RunConfig, SelectionOptions
from evolve.errors import ConfigurationError
from service.problems.configuration import (
    PROBLEM,
    check_layer,
    config_as_json,
    config_from_json,
    known_keys,
    limit_sources,
    merge,
    parse_set,
    parse_sets,
    read_config,
    read_config_file,
)


def complaint(*layers: tuple[str, dict[str, Any]]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read_config(layers)
    return str(caught.value)


def test_no_layer_is_the_default() -> None:
    assert read_config([]) == RunConfig()


def test_later_layers_win_key_by_key() -> None:
    config = read_config(
        [
            ("problem", {"islands": 2, "budget": {"evaluations": 10, "tokens": 5}}),
            ("--config run.toml", {"islands": 3, "budget": {"evaluations": 20}}),
            ("--set", {"budget.evaluations": 30}),
            ("flags", {"seed": 7}),
        ]
    )
    assert (config.islands, config.seed) == (3, 7)
    assert config.budget == BudgetConfig(evaluations=30, tokens=5)


def test_evaluations_is_short_for_the_budget() -> None:
    assert read_config([("p", {"budget": {"evaluations": 9}}), ("s", {"evaluations": 500})]).budget.evaluations == 500


def test_one_key_twice_in_a_layer_is_refused() -> None:
    assert "budget.evaluations is given twice" in complaint(("p", {"evaluations": 1, "budget": {"evaluations": 2}}))


def test_selection_is_replaced_as_a_whole_and_its_shares_add_up_within_a_layer() -> None:
    config = read_config(
        [("p", {"selection": {"dirichlet": 1}}), parse_sets(["selection.tournament=0.5", "selection.power_law=0.5"])]
    )
    assert config.selection == {"tournament": 0.5, "power_law": 0.5}


@pytest.mark.parametrize("value", ["none", "None", None])
def test_none_lifts_a_limit(value: Any) -> None:
    assert read_config([("p", {"budget": {"evaluations": value}})]).budget.evaluations is None


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        ({"iselands": 3}, "there: unknown key 'iselands': did you mean 'islands'?"),
        ({"budget": {"evaluation": 3}}, "'budget.evaluation': did you mean 'budget.evaluations'?"),
        ({"window": 3}, "did you mean 'deterministic.window'?"),
        ({"qqq": 3}, "there: unknown key 'qqq'"),
        ({"islands": 2.5}, "there: islands must be a whole number, not 2.5"),
        ({"islands": True}, "there: islands must be a whole number, not True"),
        ({"islands": "2"}, "there: islands must be a whole number, not '2'"),
        ({"migration_rate": float("nan")}, "there: migration_rate must be a number, not nan"),
        ({"migration_rate": float("inf")}, "there: migration_rate must be a number"),
        ({"strategy": 3}, "there: strategy must be text, not 3"),
        ({"budget": 5}, "there: budget is a table with the keys budget.evaluations"),
        ({"budget": {"tokens": "many"}}, "there: budget.tokens must be a whole number or none, not 'many'"),
        ({"selection": {"dirichlet": "x"}}, "there: selection must be a table of names and shares"),
        ({"selection": 1}, "there: selection must be a table of names and shares"),
        ({"operators": {"mutate": "x"}}, "there: operators must be a table of names and shares"),
        (
            {"operators": {"cut": 1}},
            "there: operators = 'cut' is unknown: choose one of mutate, crossover",
        ),
        ({"operators": {"mutate": 0}}, "there: operators need a share above 0"),
        ({"operators.repair": -1}, "there: operators.repair must lie between 0 and"),
        ({"operator_choice": "best"}, "there: operator_choice = 'best' is unknown: choose one of shares, adaptive"),
        ({"novelty": {"kind": "embeddings"}}, "there: novelty.kind = 'embeddings' is unknown"),
        ({"novelty": {"min_distance": 1.5}}, "there: novelty.min_distance must lie between 0 and 1"),
        ({"policies": ["a"]}, "--policy"),
        ({"policies.first": "a"}, "there: policies are not part of the configuration"),
        ({"operatorsx": 1}, "there: unknown key 'operatorsx'"),
        ({"budget": {"money": "much"}}, "there: budget.money: 'much' is not an amount: write a plain decimal"),
        ({"budget": {"money": "5 Euro"}}, "there: budget.money: 'Euro' is not a currency: write three capitals"),
        ({"budget": {"money": -1}}, "there: budget.money: '-1' is not an amount"),
        ({"budget": {"money": 0}}, "there: budget.money must be above 0"),
        ({"islands": -1}, "there: islands must be at least 0"),
        ({"budget": {"tokens": 0}}, "there: budget.tokens must be at least 1"),
        ({"prompt": {"system": "\udc80"}}, "there: prompt.system holds a character that cannot be stored"),
        ({"strategy": "luck"}, "there: strategy = 'luck' is unknown: choose one of islands"),
    ],
)
def test_what_is_wrong_is_named_with_its_layer(layer: dict[str, Any], said: str) -> None:
    assert said in complaint(("fine", {"seed": 1}), ("there", layer))
    assert check_layer("there", layer)


def test_every_complaint_is_given_at_once() -> None:
    text = complaint(("a", {"iselands": 3, "migration_rate": "x"}), ("b", {"seed": -1}))
    assert text.count(";") == 2


def test_a_range_is_charged_to_the_layer_that_broke_it() -> None:
    assert complaint(("a", {"islands": 2}), ("b", {"islands": -1})).startswith("b: ")


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("budget.evaluations=100", "budget.evaluations", 100),
        ("migration_rate=0.5", "migration_rate", 0.5),
        ("strategy=best_of_n", "strategy", "best_of_n"),
        ('strategy="best_of_n"', "strategy", "best_of_n"),
        ("selection={ tournament = 1 }", "selection", {"tournament": 1}),
        ("prompt.system=a=b", "prompt.system", "a=b"),
        ("prompt.system=", "prompt.system", ""),
        ("seed = 3", "seed", 3),
        ("prompt.system=1\nislands = 9", "prompt.system", "1\nislands = 9"),
        ("prompt.system=" + "[" * 5000, "prompt.system", "[" * 5000),
    ],
)  # fmt: skip
def test_set_reads_toml_literals_and_else_text(text: str, key: str, value: Any) -> None:
    assert parse_set(text) == {key: value}


@pytest.mark.parametrize("text", ["", "seed", "=3", "  =3"])
def test_set_without_key_or_value_says_how(text: str) -> None:
    with pytest.raises(ConfigurationError, match="write key=value"):
        parse_set(text)


@pytest.mark.parametrize(("name", "text"), [("r.toml", "seed = 4"), ("r.yaml", "seed: 4"), ("r.json", '{"seed": 4}')])
def test_configuration_file_is_a_layer(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_config([read_config_file(tmp_path / name)]).seed == 4


def test_missing_configuration_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not a file"):
        read_config_file(tmp_path / "none.toml")


def test_known_keys_are_those_of_the_dataclasses() -> None:
    leaves = json.loads(json.dumps(dataclasses.asdict(RunConfig(selection={}))))
    flat = {
        f"{key}.{inner}" if inner else key
        for key, value in leaves.items()
        for inner in (value if isinstance(value, dict) and value else [""])
    }
    assert set(known_keys()) == flat


configs = st.builds(
    RunConfig,
    strategy=st.sampled_from(["islands", "best_of_n", "sequential"]),
    islands=st.integers(1, 99),
    selection_options=st.builds(SelectionOptions, power_law_exponent=st.floats(0.01, 1e6)),
    selection=st.dictionaries(st.sampled_from(SELECTIONS), st.floats(0.1, 9), max_size=3),
    budget=st.builds(
        BudgetConfig,
        evaluations=st.none() | st.integers(1, 10**9),
        wall_seconds=st.none() | st.floats(0.001, 1e9),
        target=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    ),
    seed=st.integers(0, 2**63),
)


@given(configs)
def test_record_gives_the_configuration_back(config: RunConfig) -> None:
    assert config_from_json(json.loads(json.dumps(config_as_json(config)))) == config


def test_a_record_from_before_truncations_were_chosen_goes_on_by_crowding() -> None:
    """A replay inserts again what was inserted: by another rule it would end with other members."""
    record = config_as_json(RunConfig())
    del record["archive"]["truncation"]
    assert config_from_json(record).archive.truncation == "crowding"


def test_record_of_a_newer_version_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="the run's record: unknown key 'gravity'"):
        config_from_json({**config_as_json(RunConfig()), "gravity": 1})


@pytest.mark.parametrize(("said", "kept"), [("2.50 USD", "2.5 USD"), (0.1, "0.1"), (3, "3"), ("none", None)])
def test_money_is_kept_as_an_exact_decimal(said: object, kept: str | None) -> None:
    config = read_config([("there", {"budget": {"money": said}})])
    record = config_as_json(config)
    assert record["budget"]["money"] == kept
    assert config_from_json(record) == config
    assert merge([("there", {"budget.money": said})]) == {"budget.money": kept}


@pytest.mark.parametrize("named", [{"evaluations": 500}, {"budget.tokens": 9}, {"budget": {"patience": 3}}])
def test_the_time_limit_of_a_problem_gives_way_to_any_other_limit_that_is_set(named: dict[str, Any]) -> None:
    problem = (PROBLEM, {"budget": {"evaluations": 9000, "wall_seconds": 60.0}})
    assert read_config([problem]).budget.wall_seconds == 60.0
    assert read_config([problem, ("--set", {"seed": 3})]).budget.wall_seconds == 60.0
    assert read_config([problem, ("--set", {"budget.answers": "none"})]).budget.wall_seconds == 60.0
    assert read_config([problem, ("the flags", named)]).budget.wall_seconds is None
    kept = read_config([problem, ("--set", {"budget.wall_seconds": 5.0}), ("the flags", named)])
    assert kept.budget.wall_seconds == 5.0


def test_each_limit_is_known_by_the_layer_that_set_it() -> None:
    layers: list[tuple[str, dict[str, Any]]] = [
        (PROBLEM, {"budget": {"wall_seconds": 60.0}}),
        ("the flags", {"budget.wall_seconds": 9.0}),
    ]
    assert limit_sources(layers) == {
        "evaluations": {"limit": 200, "from": "the default"},
        "wall_seconds": {"limit": 9.0, "from": "the flags"},
    }
