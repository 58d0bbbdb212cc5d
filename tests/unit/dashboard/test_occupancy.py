"""Strips of workers: nothing that overlaps shares a lane, and shares of time are those of the evaluations."""

from datetime import UTC, datetime, timedelta

import pytest

from service.dashboard.views.occupancy import MAX_LANES, WIDTH, strips_of
from service.schemas.workers import WorkerEvaluation, WorkerTimeline

SINCE = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
UNTIL = SINCE + timedelta(seconds=1000)  # a unit is a second


def at(began: float, ended: float | None, worker: str = "a", outcome: str | None = "ok") -> WorkerEvaluation:
    return WorkerEvaluation(
        worker_id=worker,
        run_id="run_1",
        candidate_id="cnd_1",
        outcome=None if ended is None else outcome,
        began_at=SINCE + timedelta(seconds=began),
        ended_at=None if ended is None else SINCE + timedelta(seconds=ended),
    )


def timeline(*items: WorkerEvaluation) -> WorkerTimeline:
    return WorkerTimeline(since=SINCE, until=UNTIL, items=list(items), truncated=False)


def test_each_worker_has_a_strip_of_its_own() -> None:
    strips = strips_of(timeline(at(0, 10, "b"), at(5, 9, "a"), at(990, None, "b")))
    assert [(strip.worker_id, strip.done, len(strip.now)) for strip in strips] == [("a", 1, 0), ("b", 1, 1)]
    assert strips_of(timeline()) == []


def test_what_overlaps_stands_in_different_lanes_and_a_free_lane_is_used_again() -> None:
    [strip] = strips_of(timeline(at(0, 100), at(50, 150), at(200, 300), at(250, 260, outcome="timeout")))
    bars = [(bar.lane, bar.left, bar.width, bar.kind) for bar in strip.bars]
    assert bars == [(0, 0, 100, "good"), (0, 200, 100, "good"), (1, 50, 100, "good"), (1, 250, 10, "failed")]
    assert strip.busy == pytest.approx((100 + 100 + 100 + 10) / (2 * WIDTH))


def test_what_follows_at_once_is_one_bar_and_other_kinds_are_others() -> None:
    [strip] = strips_of(timeline(*(at(n, n + 1) for n in range(5)), at(5, 6, outcome="error"), at(6, None)))
    assert [(bar.left, bar.width, bar.kind, bar.count) for bar in strip.bars] == [
        (0, 5, "good", 5),
        (5, 1, "failed", 1),
        (6, WIDTH - 6, "now", 1),
    ]


def test_what_began_before_is_cut_at_the_beginning() -> None:
    [strip] = strips_of(timeline(at(-500, 100)))
    assert [(bar.left, bar.width) for bar in strip.bars] == [(0, 100)]


def test_of_a_busy_worker_only_the_time_that_was_read_counts() -> None:
    latest = [at(900 + n, 901 + n) for n in range(99)] + [at(999, None)]
    told = timeline(*latest).model_copy(update={"truncated": True})
    [strip] = strips_of(told)
    assert strip.busy == pytest.approx(1, abs=0.02)
    [strip] = strips_of(timeline(*latest))
    assert strip.busy == pytest.approx(0.1, abs=0.01)


def test_more_at_once_than_there_are_lanes_is_counted() -> None:
    [strip] = strips_of(timeline(*(at(0, 100) for _ in range(MAX_LANES + 3))))
    assert (strip.lanes, strip.hidden, strip.done) == (MAX_LANES, 3, MAX_LANES + 3)
