"""Runs over parallel axes: one for each setting in which they differ, and the last one for their result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from service.dashboard.parameters import Parameter

WIDTH, HEIGHT = 1000, 300
SIDE, TOP, BOTTOM = 110, 40, 18
MAX_AXES = 8  # of settings, those that explain most
MAX_TICKS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisTick:
    """A value that is written beside an axis."""

    y: float
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingAxis:
    """An axis of the picture."""

    name: str
    x: float
    ticks: Sequence[AxisTick]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """A run.

    Attributes:
        place: in the order of the runs.
        path: as SVG draws it.
        share: of the way from worst to best.
        heights, values: on each axis, where the line passes, and what stands there.
    """

    place: int
    path: str
    share: float
    heights: Sequence[float]
    values: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelPicture:
    """All axes and lines; `left_out`: settings that found no axis."""

    axes: Sequence[SettingAxis]
    lines: Sequence[RunLine]
    left_out: int


def parallel(
    parameters: Sequence[Parameter], results: Sequence[float | None], outcome: str, written: Callable[[float], str]
) -> ParallelPicture | None:
    """The picture of runs that have a result, the best drawn last; None: fewer than two, or they differ in nothing.

    Args:
        parameters: the settings, each with a value for every run.
        results: of the runs, larger is better.
        outcome: what the last axis is called.
        written: a result as people read it.
    """
    known = [(place, result) for place, result in enumerate(results) if result is not None]
    shown = parameters[:MAX_AXES]
    if not shown or len(known) < 2:
        return None
    low, high = min(result for _, result in known), max(result for _, result in known)
    columns = [_heights([one.values[place] for place, _ in known]) for one in shown]
    shares = [(result - low) / (high - low) if high > low else 0.5 for _, result in known]
    step = (WIDTH - 2 * SIDE) / len(shown)
    axes = [
        SettingAxis(name=one.key, x=SIDE + at * step, ticks=_ticks(column))
        for at, (one, column) in enumerate(zip(shown, columns, strict=True))
    ]
    ends = [AxisTick(y=_up(0.0 if high > low else 0.5), words=written(low))]
    ends += [AxisTick(y=_up(1.0), words=written(high))] if high > low else []
    axes.append(SettingAxis(name=outcome, x=SIDE + len(shown) * step, ticks=ends))
    lines = []
    for at, (place, result) in enumerate(known):
        values = [one.values[place] for one in shown]
        heights = [column[value] for column, value in zip(columns, values, strict=True)] + [_up(shares[at])]
        points = [f"{axis.x:.1f} {y:.1f}" for axis, y in zip(axes, heights, strict=True)]
        path = f"M{' L'.join(points)}"
        told = (*values, written(result))
        lines.append(RunLine(place=place, path=path, share=shares[at], heights=heights, values=told))
    return ParallelPicture(
        axes=axes, lines=sorted(lines, key=lambda one: one.share), left_out=len(parameters) - len(shown)
    )


def _heights(values: Sequence[str]) -> dict[str, float]:
    """Where each value stands, evenly from the foot: numbers by size, other texts by letters."""
    ordered = sorted(set(values), key=_order)
    return {value: _up((at + 0.5) / len(ordered)) for at, value in enumerate(ordered)}


def _order(value: str) -> tuple[bool, float, str]:
    try:
        return (False, float(value), value)
    except ValueError:
        return (True, 0.0, value)


def _ticks(column: dict[str, float]) -> list[AxisTick]:
    every = list(column.items())
    step = -(-len(every) // MAX_TICKS)
    return [AxisTick(y=y, words=value) for value, y in every[::step]]


def _up(share: float) -> float:
    return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)
