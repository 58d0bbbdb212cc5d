"""Draw what depth costs: best score over wall time, by calls at once, from the figures of `benchmarks.generations`.

    .venv/bin/python scripts/generation_figure.py generations.json docs/images/generations.svg

Each curve is one budget of evaluations. Its points are joined from the most calls at once to the fewest; the filled one
is the default pace. Bars are the standard error of the mean.
"""

import argparse
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from scripts.figures import FONT, INK

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 76, 730, 30, 360
COLOURS = ("#1f5f99", "#b35900", "#3a7d44")
SECONDS = (10, 20, 50, 100, 200, 500)
SCORE_STEP = 0.02
_NAME = re.compile(r"(\d+) evaluations, (?:default|(\d+) calls)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The runs of one budget with one number of calls at once; `calls` is 0 for the default pace."""

    evaluations: int
    calls: int
    seconds: float
    best: float
    best_error: float

    @property
    def label(self) -> str:
        """The pace in a word or two."""
        return f"{self.calls}" if self.calls else "default"


def read_paces(figures: Mapping[str, Mapping[str, float]]) -> list[Pace]:
    """The paces that a report of the benchmark holds."""
    paces = []
    for name, row in figures.items():
        match = _NAME.fullmatch(name)
        assert match is not None, name
        calls = int(match[2] or 0)
        measured = {key: row[key] for key in ("seconds", "best", "best_error")}
        paces.append(Pace(evaluations=int(match[1]), calls=calls, **measured))
    return paces


@dataclass(frozen=True, slots=True)
class Axes:
    """Where seconds (on a logarithmic axis) and scores lie in the picture."""

    seconds: tuple[float, float]
    scores: tuple[float, float]

    @classmethod
    def around(cls, paces: Sequence[Pace]) -> "Axes":
        """Axes with a margin around all paces."""
        low, high = (edge(pace.seconds for pace in paces) for edge in (min, max))
        bottom = min(pace.best - pace.best_error for pace in paces)
        top = max(pace.best + pace.best_error for pace in paces)
        steps = math.floor(bottom / SCORE_STEP) * SCORE_STEP, math.ceil(top / SCORE_STEP) * SCORE_STEP
        return cls((low / 1.2, high * 1.5), steps)

    def x(self, seconds: float) -> float:
        """Pixels from the left."""
        low, high = map(math.log, self.seconds)
        return LEFT + (RIGHT - LEFT) * (math.log(seconds) - low) / (high - low)

    def y(self, score: float) -> float:
        """Pixels from the top."""
        low, high = self.scores
        return BOTTOM - (BOTTOM - TOP) * (score - low) / (high - low)


def draw(paces: Sequence[Pace]) -> str:
    """The picture as SVG."""
    axes = Axes.around(paces)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        ' aria-label="Best score over wall time, by the number of calls at once">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *_frame(axes),
    ]
    budgets = sorted({pace.evaluations for pace in paces})
    for budget, colour in zip(budgets, COLOURS, strict=False):
        parts += _curve([pace for pace in paces if pace.evaluations == budget], axes, colour)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _frame(axes: Axes) -> Iterator[str]:
    yield _segment((LEFT, BOTTOM), (RIGHT, BOTTOM), INK)
    yield _segment((LEFT, BOTTOM), (LEFT, TOP), INK)
    for seconds in SECONDS:
        if axes.seconds[0] <= seconds <= axes.seconds[1]:
            yield _segment((axes.x(seconds), BOTTOM), (axes.x(seconds), BOTTOM + 5), INK)
            yield _words(axes.x(seconds), BOTTOM + 22, f"{seconds}", "middle")
    ticks = round((axes.scores[1] - axes.scores[0]) / SCORE_STEP)
    for tick in range(ticks + 1):
        score = axes.scores[0] + tick * SCORE_STEP
        yield _segment((LEFT, axes.y(score)), (RIGHT, axes.y(score)), "#d8dee4")
        yield _words(LEFT - 8, axes.y(score) + 4, f"{score:.2f}", "end")
    yield _words((LEFT + RIGHT) / 2, HEIGHT - 14, "seconds of a run (logarithmic)", "middle")
    yield _words(LEFT, TOP - 12, "best score; calls at once beside each point", "start")


def _curve(paces: Sequence[Pace], axes: Axes, colour: str) -> Iterator[str]:
    ranked = sorted(paces, key=lambda pace: pace.seconds)
    for one, other in pairwise(ranked):
        yield _segment((axes.x(one.seconds), axes.y(one.best)), (axes.x(other.seconds), axes.y(other.best)), colour)
    for pace in ranked:
        x, y = axes.x(pace.seconds), axes.y(pace.best)
        ends = (axes.y(pace.best - pace.best_error), axes.y(pace.best + pace.best_error))
        yield _segment((x, ends[0]), (x, ends[1]), colour)
        fill = "#ffffff" if pace.calls else colour
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{colour}" stroke-width="2"/>'
        yield _words(x + 9, y - 8, pace.label, "start", colour)
    last = ranked[-1]
    yield _words(axes.x(last.seconds) + 9, axes.y(last.best) + 20, f"{last.evaluations} evaluations", "start", colour)


def _segment(start: tuple[float, float], end: tuple[float, float], colour: str) -> str:
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line {ends} stroke="{colour}"/>'


def _words(x: float, y: float, text: str, anchor: str, colour: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {FONT} font-size="13" text-anchor="{anchor}" fill="{colour}">{text}</text>'


def main() -> None:
    """Read the figures, and write the picture."""
    parser = argparse.ArgumentParser(description="Draw best score over wall time by calls at once.")
    parser.add_argument("figures", type=Path, help="what `benchmarks.generations --out` wrote")
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    report = json.loads(arguments.figures.read_text(encoding="utf-8"))
    arguments.output.write_text(draw(read_paces(report["runs"])), encoding="utf-8")


if __name__ == "__main__":
    main()
