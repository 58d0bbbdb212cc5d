"""The time left follows what a run used lately, and what is shown of it never jumps."""

import math
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.cli.time_left import (
    DOUBLING_SECONDS,
    MIN_EVALUATIONS,
    WINDOW_SECONDS,
    TimeLeft,
    UsageWindow,
    seconds_left,
)

TOTAL = 300.0
GAPS = st.lists(st.floats(0.01, 120.0), min_size=10, max_size=120)


def shown(gaps: Iterable[float], total: float = TOTAL) -> Iterator[tuple[float, float, float | None]]:
    """Time, evaluations so far and the time left that is shown, once after each evaluation and each second between."""
    window, left, now = UsageWindow(), TimeLeft(), 100.0
    window.add(now, {"evaluations": 0.0})
    for done, gap in enumerate(gaps, start=1):
        steps = max(1, math.ceil(gap))
        for step in range(steps):
            now += gap / steps
            if step == steps - 1:
                window.add(now, {"evaluations": float(done)})
            used = {"evaluations": float(done if step == steps - 1 else done - 1)}
            yield (
                now,
                used["evaluations"],
                left.smooth(seconds_left({"evaluations": total}, used, window.rates(now)), now),
            )


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"evaluations": 200.0}, 30.0),
        ({"evaluations": 200.0, "wall_seconds": 15.0}, 5.0),
        ({"answers": 120.0}, 10.0),
        ({"wall_seconds": 5.0}, 0.0),
        ({"evaluations": None, "tokens": 9.0}, None),
        ({}, None),
    ],
)
def test_the_time_left_is_that_of_the_first_limit(limits: dict[str, float | None], expected: float | None) -> None:
    used, rates = {"evaluations": 50.0, "answers": 60.0, "wall_seconds": 10.0}, {"evaluations": 5.0, "answers": 6.0}
    found = seconds_left(limits, used, rates)
    assert found == (None if expected is None else pytest.approx(expected))


@given(st.floats(0.05, 60.0))
def test_of_a_steady_run_the_time_left_is_exact(gap: float) -> None:
    for _, done, left in shown([gap] * 40):
        if left is not None:
            assert left == pytest.approx((TOTAL - done) * gap, rel=0.25, abs=2.0)


def test_after_a_slow_start_the_time_left_is_that_of_the_present_pace() -> None:
    # Ten evaluations at a limit of 20 seconds each, then ten a second: the average since the start is off by far.
    last = list(shown([20.0] * 10 + [0.1] * 1500, total=3000.0))
    _, done, left = last[-1]
    assert left == pytest.approx((3000 - done) * 0.1, rel=0.25)


def test_nothing_is_told_before_a_few_evaluations_have_come() -> None:
    told = {done for _, done, left in shown([20.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]) if left is not None}
    assert min(told) == MIN_EVALUATIONS


def test_in_a_stall_the_time_left_grows() -> None:
    *_, before = shown([1.0] * 100)
    *_, after = shown([1.0] * 100 + [120.0])
    assert before[2] is not None
    assert after[2] is not None
    assert after[2] > before[2]


@given(GAPS)
def test_whatever_a_run_does_the_time_left_never_jumps(gaps: list[float]) -> None:
    earlier: tuple[float, float] | None = None
    for now, _, left in shown(gaps):
        if left is None:
            assert earlier is None, "what was told is not taken back"
            continue
        if earlier is not None:
            passed, expected = now - earlier[0], max(0.0, earlier[1] - (now - earlier[0]))
            factor = 2.0 ** (passed / DOUBLING_SECONDS)
            assert (1 + expected) / factor - 1e-6 <= 1 + left <= (1 + expected) * factor + 1e-6
        earlier = now, left


@given(st.integers(2, 30), st.floats(5.0, 60.0))
def test_of_bursts_the_time_left_is_about_their_mean(size: int, pause: float) -> None:
    gaps = ([pause] + [0.01] * (size - 1)) * 40
    total = 10.0 * len(gaps)
    *_, (_, done, left) = shown(gaps, total)
    assert left is not None
    mean = (pause + 0.01 * (size - 1)) / size
    assert 0.4 * (total - done) * mean <= left <= 2.5 * (total - done) * mean


def test_one_and_a_half_hours_do_not_become_four_minutes_within_seconds() -> None:
    left = TimeLeft()
    assert left.smooth(5565.0, 0.0) == 5565.0
    after = left.smooth(238.0, 5.0)
    assert after is not None
    assert after > 5565.0 / 2 ** (5 / DOUBLING_SECONDS) - 10.0
    for second in range(6, 200):
        after = left.smooth(238.0, float(second))
    assert after == pytest.approx(238.0, rel=0.15)


def test_a_window_forgets_what_is_older() -> None:
    window = UsageWindow()
    for second in range(200):
        window.add(float(second), {"evaluations": float(second if second < 100 else 100 + 10 * (second - 100))})
    assert window.rates(199.0)["evaluations"] == pytest.approx(10.0, rel=0.05)
    assert WINDOW_SECONDS < 99
