"""What the page of objectives reads out of its address, and how it divides scores."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.dashboard.views.objectives import grouped, picked, spread, weigh
from service.schemas.candidates import Candidate

OBJECTIVES: tuple[Mapping[str, Any], ...] = (
    {"name": "value", "weight": 2.0},
    {"name": "length", "weight": 0.5},
    {"name": "speed", "weight": 0.0},
)


def test_weights_are_those_that_are_declared_until_the_address_says_others() -> None:
    found = weigh(OBJECTIVES, {"w1": " 3e2 ", "w2": ""})
    assert [field.value for field in found] == [2.0, 300.0, 0.0]
    assert [field.field for field in found] == ["w0", "w1", "w2"]
    assert not any(field.complaint for field in found)


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "1e101", "much", "1,5"])
def test_what_is_no_weight_is_complained_of_and_kept(text: str) -> None:
    wrong = weigh(OBJECTIVES, {"w1": text})[1]
    assert (wrong.value, wrong.text) == (None, text)
    assert "number from 0" in wrong.complaint


def test_weights_that_are_all_zero_weigh_nothing() -> None:
    fields = weigh(OBJECTIVES, {"w0": "0", "w1": "0"})
    assert "above 0" in fields[0].complaint


@pytest.mark.parametrize(
    ("x", "y", "axes"),
    [
        ("", "", (0, 1)),
        ("speed", "", (2, 0)),
        ("", "value", (1, 0)),
        ("length", "length", (1, 0)),
        ("value", "value", (0, 1)),
        ("unknown", "speed", (0, 2)),
    ],
)
def test_axes_are_two_different_objectives(x: str, y: str, axes: tuple[int, int]) -> None:
    assert picked(OBJECTIVES, x, y) == axes


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.booleans())
def test_every_score_is_in_one_bar_and_the_best_stands_last(scores: list[float], larger: bool) -> None:
    found = spread(scores, larger_is_better=larger)
    assert found
    assert sum(bar.count for bar in found.bars) == found.count == len(scores)
    ends = (min(scores), max(scores))
    assert (found.worst, found.best) == (ends if larger else ends[::-1])
    assert found.best in (found.bars[-1].low, found.bars[-1].high)
    assert sum(score <= found.median for score in scores) >= len(scores) / 2
    assert sum(score >= found.median for score in scores) >= len(scores) / 2


@pytest.mark.parametrize("bins", [22, 29, 50])
def test_whole_scores_on_the_edges_of_bars_fill_one_bar_each(bins: int) -> None:
    found = spread([float(value) for value in range(bins + 1)], larger_is_better=True, bins=bins)
    assert found
    assert [bar.count for bar in found.bars] == [1] * (bins - 1) + [2]


def test_of_no_scores_there_is_no_spread() -> None:
    assert spread([], larger_is_better=True) is None


def test_members_of_a_front_with_equal_scores_stand_together_behind_the_first_of_them() -> None:
    scores = {"a": {"x": 1.0, "y": 0.5}, "b": {"x": 0.5, "y": 1.0}, "c": {"y": 0.5, "x": 1.0}, "d": {"x": 1.0}}
    told: list[dict[str, Any]] = [{"id": name, "scores": found} for name, found in scores.items()]
    members = [Candidate.model_construct(**one) for one in told]
    assert [[one.id for one in group] for group in grouped(members)] == [["a", "c"], ["b"], ["d"]]
    assert grouped([]) == []
