"""The figures of a training job as small curves: one for each figure of a stage, over its steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from service.schemas.training import TrainingEvent

WIDTH, HEIGHT, MARGIN = 240, 60, 3
MAX_POINTS, MAX_CURVES, MAX_ROWS = 240, 12, 12
PROGRESS = "training.progress"
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureCurve:
    """A figure over the steps of a stage.

    Attributes:
        path: of an SVG of WIDTH by HEIGHT. A single value is a short line.
        low, high: the range that the height stands for.
    """

    name: str
    path: str
    newest: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCurves:
    """A stage of a training.

    Attributes:
        names: figures, in the order in which the back end tells them.
        rows: some of its steps with the values of `names`, the newest last. None: the step does not have the figure.
    """

    stage: str
    step: int
    steps: int
    names: Sequence[str]
    curves: Sequence[FigureCurve]
    rows: Sequence[tuple[int, Sequence[float | None]]]


def stage_curves(events: Sequence[TrainingEvent]) -> list[StageCurves]:
    """The stages of a job in their order. Of a step that was done again after a crash, the newest figures count."""
    stages: dict[str, dict[int, Mapping[str, float]]] = {}
    totals: dict[str, int] = {}
    for event in events:
        if event.kind == PROGRESS:
            told = event.payload
            stages.setdefault(told["stage"], {})[told["step"]] = told["figures"]
            totals[told["stage"]] = told["steps"]
    return [_stage(name, dict(sorted(found.items())), totals[name]) for name, found in stages.items()]


def _stage(name: str, found: Mapping[int, Mapping[str, float]], steps: int) -> StageCurves:
    names = list(dict.fromkeys(figure for figures in found.values() for figure in figures))[:MAX_CURVES]
    shown = [*thinned(list(found), MAX_ROWS)]
    return StageCurves(
        stage=name,
        step=max(found),
        steps=steps,
        names=names,
        curves=[
            curve(one, [(step, figures[one]) for step, figures in found.items() if one in figures]) for one in names
        ],
        rows=[(step, [found[step].get(one) for one in names]) for step in shown],
    )


def curve(name: str, points: Sequence[tuple[int, float]]) -> FigureCurve:
    """A curve through points, at least one."""
    values = [value for _, value in points]
    low, high = min(values), max(values)
    first, last = points[0][0], points[-1][0]
    drawn = thinned(points, MAX_POINTS)
    places = [(_place(step, first, last, WIDTH), HEIGHT - _place(value, low, high, HEIGHT)) for step, value in drawn]
    if len(places) == 1:
        places = [(MARGIN, places[0][1]), (2 * MARGIN, places[0][1])]
    path = "M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return FigureCurve(name=name, path=path, newest=values[-1], low=low, high=high)


def thinned(items: Sequence[Item], count: int) -> Sequence[Item]:
    """At most so many of some items, evenly, the first and the last among them."""
    if len(items) <= count:
        return items
    return [items[round(place * (len(items) - 1) / (count - 1))] for place in range(count)]


def _points(found: Mapping[int, Mapping[str, float]], name: str) -> list[tuple[int, float]]:
    return [(step, figures[name]) for step, figures in found.items() if name in figures]


def _place(value: float, low: float, high: float, size: int) -> float:
    """Where a value stands between the margins. Halves keep the range of large values finite."""
    span = high / 2 - low / 2
    share = (value / 2 - low / 2) / span if span > 0 else 0.5
    return MARGIN + share * (size - 2 * MARGIN)
