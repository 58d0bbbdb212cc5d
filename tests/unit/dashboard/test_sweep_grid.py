"""A sweep as a form has it."""

from typing import Any

import pytest

from service.dashboard.sweep_grid import SweptKey, at_most, combinations, config_of, read_seeds, read_values
from service.errors import UsageError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("2, 4,8", [2, 4, 8]),
        ("top, grid", ["top", "grid"]),
        ('"2", 0.5, true, none', ["2", 0.5, True, "none"]),
        ('{"a": 1, "b": 2}, [1, 2]', [{"a": 1, "b": 2}, [1, 2]]),
        ("NaN", ["NaN"]),
        (" , ", []),
    ],
)
def test_values_are_read_as_they_are_typed(text: str, values: list[Any]) -> None:
    assert read_values(text) == values


@pytest.mark.parametrize("text", ["2, 2", "top, top", "[1], [1]"])
def test_a_value_that_is_there_twice_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="twice"):
        read_values(text)


@pytest.mark.parametrize(("text", "seeds"), [("0-3", [0, 1, 2, 3]), ("7", [7]), ("1, 4..5, 9", [1, 4, 5, 9])])
def test_seeds_are_numbers_and_ranges(text: str, seeds: list[int]) -> None:
    assert read_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "x", "3-1", "0-500", "1, 1", "-1", "1.5"])
def test_what_is_no_seed_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_seeds(text)


def test_every_combination_is_there_once_and_named_by_what_varies() -> None:
    keys = [
        SweptKey(key="islands", values=[2, 4]),
        SweptKey(key="archive.kind", values=["top", "grid"]),
        SweptKey(key="budget.evaluations", values=[30]),
    ]
    found = combinations(keys, ["one", "two"])
    assert len(found) == 8
    assert len({(one.name, one.policy) for one in found}) == 8
    assert found[0].name == "islands=2, archive.kind=top"
    assert found[0].config == {"islands": 2, "archive": {"kind": "top"}, "budget": {"evaluations": 30}}
    run = found[0].run("p@1", 7)
    assert run.config["seed"] == 7
    assert run.labels == {"policy": "one", "variant": "islands=2, archive.kind=top"}


def test_without_keys_and_policies_there_is_one_combination() -> None:
    (one,) = combinations([], [])
    assert (one.name, dict(one.config), one.policy) == ("", {}, None)


@pytest.mark.parametrize("pairs", [{"a": 1, "a.b": 2}, {"a.b": 1, "a": 2}])
def test_a_key_below_another_with_a_value_is_refused(pairs: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        config_of(pairs)


def test_the_most_is_the_sum_where_every_run_has_the_limit() -> None:
    budgets = [
        {"evaluations": 30, "money": "0.5 USD", "tokens": 10},
        {"evaluations": 60, "money": "1.25 USD", "tokens": None},
    ]
    found = at_most(budgets)
    assert (found["evaluations"], found["money"]) == (90.0, "1.75 USD")
    assert found["tokens"] is found["answers"] is found["wall_seconds"] is None
