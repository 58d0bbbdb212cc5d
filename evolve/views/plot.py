"""Plots that evaluators describe as small tables, drawn as SVG.

`{"series": [{"x": [...], "y": [...], "kind": "line", "name": "law"}], "title": "", "x_label": "", "y_label": ""}`:
`kind` is `line`, `points` or `bars`. A table with `x` and `y` alone is a plot of one series.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from evolve.views.view_error import ViewError

MAX_SERIES, MAX_VALUES = 8, 5000
KINDS = ("line", "points", "bars")
# Okabe and Ito's, which the colour-blind tell apart.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 480, 300, 56, 12, 28, 40
_TICKS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    kind: str
    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """Values from `low` to `high` at pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Round values with their words."""
        raw = (self.high - self.low) / _TICKS
        power = 10.0 ** math.floor(math.log10(raw))
        step = power * next(one for one in (1, 2, 5, 10) if one * power >= raw)
        first = math.ceil(self.low / step)
        places = max(0, -math.floor(math.log10(step)))
        values = [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]
        plain = places <= 6 and max(abs(self.low), abs(self.high)) < 1e6
        return [(value, f"{value:.{places}f}" if plain else f"{value:.3g}") for value in values]


def plot_svg(table: Mapping[Any, Any]) -> str:
    """A plot as SVG.

    Raises:
        ViewError: the table describes none.
    """
    raw = table.get("series", [table])
    if not isinstance(raw, list) or not 0 < len(raw) <= MAX_SERIES:
        raise ViewError(f"The view's plot has no list of 1 to {MAX_SERIES} series.")
    series = [_read(one, number) for number, one in enumerate(raw, 1)]
    bars = any(one.kind == "bars" for one in series)
    across = _axis([v for one in series for v in one.x], _LEFT, _WIDTH - _RIGHT, margin=0.5 if bars else 0.0)
    heights = [v for one in series for v in one.y] + [0.0] * bars
    up = _axis(heights, _HEIGHT - _BOTTOM, _TOP, margin=0.0 if bars else 0.04 * (max(heights) - min(heights)))
    parts = [*_frame(across, up, table)]
    for number, one in enumerate(series):
        parts += _marks(one, across, up, _COLOURS[number])
    parts += _legend(series)
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
        f' font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>'
    )


def _read(raw: object, number: int) -> _Series:
    if not isinstance(raw, Mapping) or "y" not in raw:
        raise ViewError(f"Series {number} of the view's plot has no y.")
    y = _numbers(raw["y"], f"y of series {number}")
    x = _numbers(raw["x"], f"x of series {number}") if "x" in raw else [float(place) for place in range(len(y))]
    if len(x) != len(y):
        raise ViewError(f"Series {number} of the view's plot has {len(x)} x and {len(y)} y.")
    kind = raw.get("kind", "line")
    if kind not in KINDS:
        raise ViewError(f"Series {number} of the view's plot is {str(kind)[:20]!r}: use {', '.join(KINDS)}.")
    return _Series(kind=str(kind), name=str(raw.get("name", ""))[:60], x=x, y=y)


def _numbers(raw: object, what: str) -> list[float]:
    if not isinstance(raw, list) or not 0 < len(raw) <= MAX_VALUES:
        raise ViewError(f"The view's plot needs 1 to {MAX_VALUES} numbers as {what}.")
    for value in raw:
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e300:
            raise ViewError(f"The view's plot has {str(value)[:20]!r} in {what}, which is not a finite number.")
    return [float(value) for value in raw]


def _axis(values: Sequence[float], start: float, end: float, margin: float = 0.0) -> _Axis:
    low, high = min(values) - margin, max(values) + margin
    if high - low <= max(abs(low), abs(high)) * 1e-12:
        widened = abs(low) * 0.1 or 1.0
        low, high = low - widened, high + widened
    return _Axis(low=low, high=high, start=start, end=end)


def _frame(across: _Axis, up: _Axis, table: Mapping[Any, Any]) -> list[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for value, words in up.ticks():
        y = up.at(value)
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{right}" stroke="#e5e5e5"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#444">{words}</text>')
    for value, words in across.ticks():
        x = across.at(value)
        parts.append(f'<path d="M{x:.1f} {bottom}v4" stroke="#888"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" fill="#444">{words}</text>')
    parts.append(f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#888"/>')
    middle = (_TOP + bottom) / 2
    for given, place in (
        (table.get("title"), f'x="{_LEFT}" y="16" font-size="13" fill="#111"'),
        (table.get("x_label"), f'x="{(_LEFT + right) / 2}" y="{_HEIGHT - 8}" text-anchor="middle" fill="#444"'),
        (table.get("y_label"), f'transform="translate(13 {middle}) rotate(-90)" text-anchor="middle" fill="#444"'),
    ):
        if given:
            parts.append(f"<text {place}>{escape(str(given)[:80])}</text>")
    return parts


def _marks(series: _Series, across: _Axis, up: _Axis, colour: str) -> list[str]:
    points = [(across.at(x), up.at(y)) for x, y in zip(series.x, series.y, strict=True)]
    if series.kind == "points" or (series.kind == "line" and len(points) == 1):
        return [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}" fill-opacity=".75"/>' for x, y in points]
    if series.kind == "bars":
        width, floor = max(1.0, 0.8 * (_WIDTH - _LEFT - _RIGHT) / len(points)), up.at(0.0)
        return [
            f'<rect x="{x - width / 2:.1f}" y="{min(y, floor):.1f}" width="{width:.1f}" height="{abs(floor - y):.1f}"'
            f' fill="{colour}" fill-opacity=".85"/>'
            for x, y in points
        ]
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return [f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="1.8"/>']


def _legend(series: Sequence[_Series]) -> list[str]:
    named = [(one.name, _COLOURS[number]) for number, one in enumerate(series) if one.name]
    words = " ".join(f'<tspan fill="{colour}" dx="10">{escape(name)}</tspan>' for name, colour in named)
    return [f'<text x="{_WIDTH - _RIGHT}" y="16" text-anchor="end">{words}</text>'] if named else []
