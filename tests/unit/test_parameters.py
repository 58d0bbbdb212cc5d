"""In which settings runs differ, and how much of their results each explains."""

import pytest

from service.dashboard.parameters import differing, explained


def test_a_setting_that_decides_everything_explains_all_and_one_that_decides_nothing_none() -> None:
    configs = [{"archive": {"kind": kind}, "islands": islands} for kind in ("top", "grid") for islands in (1, 4)]
    found = differing(configs, [1.0, 1.0, 3.0, 3.0])
    assert [(one.key, one.explained) for one in found] == [("archive.kind", 1.0), ("islands", 0.0)]
    assert found[0].values == ["top", "top", "grid", "grid"]


def test_the_share_is_between_over_total() -> None:
    # Means 1.5 and 3.5 around 2.5: 4 * 1 of 4 * 1 + 4 * 0.25.
    assert explained(["a", "a", "b", "b"], [1.0, 2.0, 3.0, 4.0]) == pytest.approx(4 / 5)


def test_what_is_equal_in_all_runs_and_the_seed_are_left_out() -> None:
    configs = [{"seed": seed, "islands": 4, "budget": {}} for seed in range(5)]
    assert differing(configs, [1.0] * 5) == []


@pytest.mark.parametrize(
    ("values", "results"),
    [
        (["a", "b", "a"], [1.0, 2.0, 3.0]),
        (["a", "b", "a", "b"], [1.0, None, 3.0, 2.0]),
        (["a", "b", "c", "d"], [1.0, 2.0, 3.0, 4.0]),
        (["a", "a", "b", "b"], [1.0, 1.0, 1.0, 1.0]),
    ],
    ids=["few runs", "few results", "a run each", "equal results"],
)
def test_nothing_is_said_where_nothing_can_be_told(values: list[str], results: list[float | None]) -> None:
    assert explained(values, results) is None


def test_a_key_that_a_run_has_not_is_a_value_of_its_own() -> None:
    (found,) = differing([{"a": 1}, {"a": 1, "b": [1, "x"]}], [1.0, 2.0])
    assert (found.key, found.values) == ("b", ["–", '[1, "x"]'])
