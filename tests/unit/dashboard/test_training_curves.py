"""Figures of a training job as curves."""

import math
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.dashboard.training_curves import HEIGHT, MAX_CURVES, MAX_POINTS, MAX_ROWS, WIDTH, curve, stage_curves
from service.schemas.training import TrainingEvent

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def progress(sequence: int, stage: str, step: int, **figures: float) -> TrainingEvent:
    payload = {"stage": stage, "step": step, "steps": 20, "figures": figures}
    return TrainingEvent(
        sequence=sequence, kind="training.progress", at=datetime(2026, 1, 1, tzinfo=UTC), payload=payload
    )


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", path)]


def test_a_step_that_was_done_again_counts_once_with_its_newest_figures() -> None:
    other = TrainingEvent(sequence=9, kind="training.checkpoint", at=datetime(2026, 1, 1, tzinfo=UTC), payload={})
    events = [
        progress(1, "warm-start", 1, loss=3.0), progress(2, "reinforce", 1, best=0.1), other,
        progress(3, "reinforce", 2, best=0.9), progress(4, "reinforce", 2, best=0.2, entropy=1.0),
    ]  # fmt: skip
    warm, reinforce = stage_curves(events)
    assert (warm.stage, warm.step, warm.steps, warm.rows) == ("warm-start", 1, 20, [(1, [3.0])])
    assert (reinforce.step, reinforce.names) == (2, ["best", "entropy"])
    assert reinforce.rows == [(1, [0.1, None]), (2, [0.2, 1.0])]
    assert [(one.name, one.newest, one.low, one.high) for one in reinforce.curves] == [
        ("best", 0.2, 0.1, 0.2),
        ("entropy", 1.0, 1.0, 1.0),
    ]
    assert stage_curves([other]) == []


def test_a_larger_value_is_higher_and_a_later_step_further_right() -> None:
    (x1, y1), (x2, y2), (x3, y3) = points(curve("best", [(1, 0.0), (2, 1.0), (5, 0.5)]).path)
    assert x1 < x2 < x3
    assert y2 < y3 < y1


@given(st.lists(FINITE, min_size=1, max_size=600))
def test_every_curve_is_inside_its_picture(values: list[float]) -> None:
    found = points(curve("a", list(enumerate(values))).path)
    assert 2 <= len(found) <= max(2, MAX_POINTS)
    assert all(math.isfinite(x) and 0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in found)


@pytest.mark.parametrize("steps", [1, MAX_ROWS, MAX_ROWS + 1, 1000])
def test_the_table_has_few_rows_with_the_first_and_the_newest_step(steps: int) -> None:
    (found,) = stage_curves([progress(step, "reinforce", step, best=float(step)) for step in range(1, steps + 1)])
    shown = [step for step, _ in found.rows]
    assert (shown[0], shown[-1], len(shown)) == (1, steps, min(steps, MAX_ROWS))
    assert shown == sorted(set(shown))


def test_many_figures_are_cut() -> None:
    (found,) = stage_curves([progress(1, "a", 1, **{f"figure_{number}": 1.0 for number in range(MAX_CURVES + 9)})])
    assert len(found.curves) == len(found.names) == len(found.rows[0][1]) == MAX_CURVES
