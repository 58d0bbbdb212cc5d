"""Occupancy: what each worker evaluates and evaluated of late, as strips of bars in lanes."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.schemas.workers import WorkerEvaluation, WorkerTimeline

WIDTH = 1000
LANE = 12
MAX_LANES = 16
SLACK = 2  # an evaluation ends when it is stored, which is a moment after its worker takes the next
_GOOD = ("ok", "stage")


@dataclass(frozen=True, slots=True, kw_only=True)
class OccupancyBar:
    """Evaluations of one lane that follow each other too closely to be told apart.

    Attributes:
        left, width: in units of the strip, which is `WIDTH` wide.
        kind: good, failed, or now for what is under way.
        count: how many evaluations they are.
        run_id: of the first of them; empty: it is not told.
    """

    left: float
    width: float
    lane: int
    kind: str
    count: int
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStrip:
    """One worker.

    Attributes:
        busy: share of its lanes' time, as far as that was read, in which it evaluated.
        hidden: evaluations without a lane.
    """

    worker_id: str
    lanes: int
    bars: Sequence[OccupancyBar]
    now: Sequence[WorkerEvaluation]
    done: int
    busy: float
    hidden: int


def strips_of(timeline: WorkerTimeline) -> list[WorkerStrip]:
    """A strip for each worker that did something, by its id."""
    names = sorted({one.worker_id for one in timeline.items})
    return [_strip(name, [one for one in timeline.items if one.worker_id == name], timeline) for name in names]


def _strip(name: str, items: Sequence[WorkerEvaluation], timeline: WorkerTimeline) -> WorkerStrip:
    unit = (timeline.until - timeline.since).total_seconds() / WIDTH
    begin = _begin(timeline, unit)
    lanes: list[list[OccupancyBar]] = []
    free: list[float] = []  # where each lane is free again
    hidden, busy = 0, 0.0
    for one in sorted(items, key=lambda each: each.began_at):
        left = max(0.0, (one.began_at - timeline.since).total_seconds() / unit)
        right = WIDTH if one.ended_at is None else (one.ended_at - timeline.since).total_seconds() / unit
        busy += max(0.0, right - max(left, begin))
        lane = next((number for number, at in enumerate(free) if at <= left + SLACK), len(free))
        if lane == MAX_LANES:
            hidden += 1
            continue
        if lane == len(free):
            free.append(right)
            lanes.append([])
        free[lane] = right
        bar = OccupancyBar(left=left, width=right - left, lane=lane, kind=_kind(one), count=1, run_id=one.run_id or "")
        _draw(lanes[lane], bar)
    return WorkerStrip(
        worker_id=name,
        lanes=len(lanes),
        bars=[bar for lane in lanes for bar in lane],
        now=[one for one in items if one.ended_at is None],
        done=sum(one.ended_at is not None for one in items),
        busy=min(1.0, busy / (max(1.0, WIDTH - begin) * max(1, len(lanes)))),
        hidden=hidden,
    )


def _begin(timeline: WorkerTimeline, unit: float) -> float:
    """Where in the strips everything is told: of a full period at its begin, else from the oldest that was read."""
    ended = [one.ended_at for one in timeline.items if one.ended_at is not None]
    if not timeline.truncated or not ended:
        return 0.0
    return max(0.0, (min(ended) - timeline.since).total_seconds() / unit)


def _draw(lane: list[OccupancyBar], bar: OccupancyBar) -> None:
    """Put a bar at the end of a lane; what is closer than a unit to one of its kind becomes one with it."""
    last = lane[-1] if lane else None
    if last is None or last.kind != bar.kind or bar.left - (last.left + last.width) >= 1:
        lane.append(bar)
        return
    width = bar.left + bar.width - last.left
    count = last.count + bar.count
    lane[-1] = OccupancyBar(
        left=last.left, width=width, lane=last.lane, kind=last.kind, count=count, run_id=last.run_id
    )


def _kind(one: WorkerEvaluation) -> str:
    if one.ended_at is None:
        return "now"
    return "good" if one.outcome in _GOOD else "failed"
