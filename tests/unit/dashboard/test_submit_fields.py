"""The configuration of a run as fields: what is typed is what is asked for, and a clone asks for what the run had."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.configuration import SELECTIONS, STRATEGIES, BudgetConfig, DeterministicConfig, RunConfig, default_keys
from evolve.search.run_settings import TABLES
from service.dashboard.session import FormData
from service.dashboard.views.submit_choices import asked_for_nothing, form_with
from service.dashboard.views.submit_fields import fields_of, flat, nested, place_of, read_typed
from service.problems.configuration import config_as_json, read_config
from service.schemas.problems import Problem

COUNTS = st.none() | st.integers(1, 10**6)
CONFIGS = st.builds(
    RunConfig,
    strategy=st.sampled_from(STRATEGIES),
    islands=st.integers(1, 50),
    migration_interval=st.integers(1, 500),
    selection=st.dictionaries(st.sampled_from(SELECTIONS), st.sampled_from([0.25, 1.0]), max_size=3),
    seed=st.integers(0, 10**6),
    budget=st.builds(BudgetConfig, evaluations=COUNTS, patience=COUNTS, target=st.none() | st.floats(-1e6, 1e6)),
    deterministic=st.builds(DeterministicConfig, window=st.integers(0, 20)),
)


@given(CONFIGS, CONFIGS)
def test_the_fields_of_a_run_ask_for_its_configuration_again(config: RunConfig, problem: RunConfig) -> None:
    """Over whatever the problem says by itself."""
    record, said = config_as_json(config), config_as_json(problem)
    typed = read_typed(form_with(fields_of(record, flat(said))))
    assert typed.complaints == {}
    assert read_config([("the problem", _none(said)), ("the request", typed.config)]) == config


def _none(config: dict[str, Any]) -> dict[str, Any]:
    """A problem says of a limit that there is none by a word: TOML has no null."""
    return {**config, "budget": {key: "none" if value is None else value for key, value in config["budget"].items()}}


def test_an_extension_of_a_run_is_asked_for_again_beside_the_fields() -> None:
    config = RunConfig(strategy="my_search:Climber", selection={"my_search:Greedy": 1.0})
    fields = fields_of(config_as_json(config), flat(config_as_json(RunConfig())))
    assert set(fields) == {"further"}
    typed = read_typed(form_with(fields))
    assert typed.complaints == {}
    assert read_config([("the request", typed.config)]) == config


def test_a_problem_is_taken_at_its_word_where_a_run_asks_for_nothing() -> None:
    search = {"evaluations": 70, "islands": 2, "budget.target": "none", "budget": {"patience": 5}}
    problem = Problem(
        id="prb_1",
        name="p",
        version=1,
        bundle_hash="0",
        document={"search": search},
        warnings=[],
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    read = json.loads(json.dumps(asdict(read_config([("the problem", search)]))))
    assert asked_for_nothing(problem) == flat(read)


def test_every_table_of_a_configuration_is_known_as_one() -> None:
    assert {key for key, value in default_keys().items() if isinstance(value, Mapping)} == set(TABLES)


def test_what_is_typed_is_nested_and_typed() -> None:
    typed = read_typed(
        form_with(
            {
                "islands": " 3 ",
                "budget.evaluations": "500",
                "budget.wall_seconds": "None",
                "budget.target": "1e-3",
                "selection": "tournament",
                "further": "migration_interval = 20\n[budget]\npatience = 9",
                "policy": "syntax",
                "labels": "team=a, purpose=b=c",
                "run_name": "first",
            }
        )
    )
    assert typed.complaints == {}
    assert typed.config == {
        "islands": 3,
        "budget": {"evaluations": 500, "wall_seconds": "none", "target": 0.001, "patience": 9},
        "selection": {"tournament": 1.0},
        "migration_interval": 20,
    }
    assert (typed.policy, typed.labels) == ("syntax", {"team": "a", "purpose": "b=c", "name": "first"})


@pytest.mark.parametrize(
    ("field", "text", "words"),
    [
        ("islands", "many", "many is not a number"),
        ("islands", "2.5", "2.5 is not a whole number"),
        ("islands", "none", "none is not a number"),
        ("budget.target", "inf", "inf is not a number"),
        ("seed", "9" * 30, "is not a number"),
        ("strategy", "luck", "choose one of islands"),
        ("further", "islands = ", "neither TOML nor JSON"),
        ("further", "migration_rate = inf", "neither TOML nor JSON"),
        ("further", '{"a": ' * 3, "neither TOML nor JSON"),
        ("labels", "alone", "alone is not a label"),
    ],
)
def test_what_cannot_be_meant_is_said_beside_its_field(field: str, text: str, words: str) -> None:
    typed = read_typed(form_with({field: text, "samples": "2"}))
    assert list(typed.complaints) == [field]
    assert words in typed.complaints[field]
    assert typed.config == {"samples": 2}


def test_a_key_that_is_said_twice_is_refused_whichever_way_it_is_written() -> None:
    for further in ("[budget]\nevaluations = 3", "budget.evaluations = 3", json.dumps(nested("budget.evaluations", 3))):
        typed = read_typed(form_with({"budget.evaluations": "2", "further": further}))
        assert typed.complaints == {"further": "budget.evaluations is also set above: remove one of them"}


def test_a_policy_is_described_as_toml_or_json() -> None:
    for text in ('kind = "openai"\nmodel = "m"', '{"kind": "openai", "model": "m"}'):
        typed = read_typed(form_with({"policy": "=described", "policy_text": text}))
        assert typed.policy == {"kind": "openai", "model": "m"}
    assert list(read_typed(form_with({"policy": "=described"})).complaints) == ["policy_text"]


def test_several_policies_are_described_as_a_policy_file_has_them() -> None:
    expected = ["own", {"kind": "syntax"}]
    for text in ('policies = ["own", { kind = "syntax" }]', '{"policies": ["own", {"kind": "syntax"}]}'):
        assert read_typed(form_with({"policy": "=described", "policy_text": text})).policy == expected
    tables = '[[policies]]\nkind = "syntax"\n[[policies]]\nmodel = "m"\n'
    typed = read_typed(form_with({"policy": "=described", "policy_text": tables}))
    assert typed.policy == [{"kind": "syntax"}, {"model": "m"}]


@pytest.mark.parametrize(
    ("policy", "text", "expected"),
    [
        ("mine", "", ["mine", "judge", "near"]),
        ("=described", 'model = "m"', [{"model": "m"}, "judge", "near"]),
        ("=described", 'policies = ["mine", { model = "m" }]', ["mine", {"model": "m"}, "judge", "near"]),
    ],
)
def test_a_critic_and_an_embedder_are_named_beside_who_writes(policy: str, text: str, expected: list[Any]) -> None:
    typed = read_typed(form_with({"policy": policy, "policy_text": text, "critic": "judge", "embedder": "near"}))
    assert (typed.policy, typed.complaints) == (expected, {})
    alone = read_typed(form_with({"policy": policy, "policy_text": text, "critic": "", "embedder": ""}))
    assert typed.policy == [*(alone.policy if isinstance(alone.policy, list) else [alone.policy]), "judge", "near"]


def test_a_critic_without_who_writes_is_complained_of() -> None:
    typed = read_typed(form_with({"critic": "judge"}))
    assert (typed.policy, list(typed.complaints)) == (None, ["policy"])
    undescribed = read_typed(form_with({"critic": "judge", "policy": "=described"}))
    assert list(undescribed.complaints) == ["policy_text"]


def test_toml_that_would_take_long_to_read_is_not_read() -> None:
    assert "write it as JSON" in read_typed(form_with({"further": "a." * 4_000 + "a = 1"})).complaints["further"]
    described = json.dumps({"kind": "openai", "model": "m" * 8_000})
    assert read_typed(form_with({"policy": "=described", "policy_text": described})).complaints == {}


@pytest.mark.parametrize(
    ("complaint", "place"),
    [
        ("the request: islands must be at least 1", "islands"),
        ("the request: budget.evaluations must be at least 1", "further"),
        ("the request: unknown key 'iland': did you mean 'islands'?", "further"),
        ("labels.Upper: string should match", "labels"),
        ("the tenant default has used 3 of 3 runs at once", ""),
        ("nobody reads what the critic judge writes: leave the critic out", "critic"),
        ("judge and second both have the role critic: a run takes one", "critic"),
        ("nobody reads what the advisor guide writes: leave the advisor out", "advisor"),
        ("the policy near is an embedder, and nothing asks for embeddings", "embedder"),
        ("novelty.kind = 'embedding' needs an embedder: name one", "embedder"),
        ("there is no policy 'absent': name one of mine", "policy"),
    ],
)
def test_a_refusal_stands_beside_the_field_that_it_is_about(complaint: str, place: str) -> None:
    assert place_of(complaint, FormData({"islands": "0"})) == (place, complaint.removeprefix("the request: "))


def test_a_refusal_of_a_key_stands_not_beside_one_whose_name_begins_the_same() -> None:
    form = FormData({"selection": "puct", "further": "selection_options.exploration = -1"})
    words = "selection_options.exploration must lie between 0 and 1e+100"
    assert place_of(f"the request: {words}", form) == ("further", words)
    assert place_of("the request: selection.puct must lie between 0 and 1e+100", form)[0] == "selection"
