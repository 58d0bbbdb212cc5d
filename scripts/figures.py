"""Draw the picture of the README from a stored run on examples/circle_packing: two packings and the curve between them.

    .venv/bin/python scripts/figures.py RUN docs/images/circle_packing.svg [--db URL]

Needs nothing but the `evolve` command of the same environment. The two programs are run once more, in the sandbox, by
a problem made for it whose evaluator gives their circles back as feedback.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Circles = Sequence[Sequence[float]]
Curve = Sequence[tuple[int, float]]

WIDTH, SIDE, MARGIN = 880, 360, 50
CURVE_TOP, CURVE_HEIGHT = 470, 180
HEIGHT = CURVE_TOP + CURVE_HEIGHT + 50
COLD, WARM = (0x9E, 0xC5, 0xE8), (0x1F, 0x5F, 0x99)
FONT = 'font-family="DejaVu Sans, Verdana, sans-serif"'
LINE, INK = "#1f5f99", "#24292f"
# A score is cut, never rounded up, as a record of a packing is.
PLACES = 5

EVALUATOR = """\
import json


def score(outputs, program):
    return {"entries": len(outputs[0]["value"]), "feedback": json.dumps(outputs[0]["value"])}
"""
PROBLEM = """\
schema = 1
name = "circles-to-draw"
seeds = ["seed.py", "best.py"]

[evaluator]
entry = "pack"
preload = ["numpy"]

[[objectives]]
name = "entries"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw a run on the packing of circles.")
    parser.add_argument("run")
    parser.add_argument("output", type=Path)
    parser.add_argument("--db", help="database of the run; the usual one when absent")
    arguments = parser.parse_args()
    place = ["--db", arguments.db] if arguments.db else []
    (run,) = evolve("show", arguments.run, "--json", *place)
    exported = evolve("export", arguments.run, *place)
    candidates = [line for line in exported if line["outcome"] not in {None, "cancelled"}]
    scored = [candidate for candidate in candidates if candidate["fitness"] is not None]
    seed, best = scored[0], max(scored, key=lambda candidate: candidate["fitness"])
    before, after = circles(seed, best)
    picture = draw(
        [("the seed", seed["fitness"], before), ("the best found", best["fitness"], after)],
        best_so_far(candidates),
        run["known_best"],
    )
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(picture, encoding="utf-8")


def evolve(*words: str) -> list[dict[str, Any]]:
    """The JSON lines of a command."""
    command = [sys.executable, "-m", "service.cli.main", *words]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def circles(*candidates: Mapping[str, Any]) -> list[Circles]:
    """What the programs of some candidates return, as run in the sandbox."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "problem"
        folder.mkdir()
        (folder / "problem.toml").write_text(PROBLEM, encoding="utf-8")
        (folder / "evaluator.py").write_text(EVALUATOR, encoding="utf-8")
        for name, candidate in zip(("seed.py", "best.py"), candidates, strict=True):
            (text,) = candidate["files"].values()
            (folder / name).write_text(text, encoding="utf-8")
        place = ["--db", f"sqlite:///{scratch}/drawn.db"]
        evolve("run", str(folder), "--evaluations", "2", "--json", *place)
        return [json.loads(seed["feedback"]) for seed in evolve("export", "last", *place)]


def best_so_far(candidates: Sequence[Mapping[str, Any]]) -> list[tuple[int, float]]:
    """(evaluations, best score) at each improvement, and at the end."""
    curve: list[tuple[int, float]] = []
    order = sorted(candidates, key=lambda candidate: candidate["evaluated_at"])
    for count, candidate in enumerate(order, 1):
        fitness = candidate["fitness"]
        if fitness is not None and (not curve or fitness > curve[-1][1]):
            curve.append((count, fitness))
    return [*curve, (len(order), curve[-1][1])]


def draw(packings: Sequence[tuple[str, float, Circles]], curve: Curve, known_best: float) -> str:
    """The picture as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        ' aria-label="The seed\'s packing, the best packing found, and the best score over the evaluations">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for left, (name, score, packing) in zip((MARGIN, WIDTH - MARGIN - SIDE), packings, strict=True):
        parts.append(_text(left + SIDE / 2, 34, f"{name}: sum of radii {_cut(score)}", "middle"))
        parts += _packing(packing, left, 52)
    parts += _curve(curve, known_best)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _packing(packing: Circles, left: float, top: float) -> list[str]:
    radii = [radius for _, _, radius in packing]
    low, span = min(radii), (max(radii) - min(radii)) or 1.0
    parts = [f'<rect x="{left}" y="{top}" width="{SIDE}" height="{SIDE}" fill="#f6f8fa" stroke="{INK}"/>']
    for x, y, radius in packing:
        share = (radius - low) / span
        colour = "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(COLD, WARM, strict=True))
        parts.append(
            f'<circle cx="{left + x * SIDE:.2f}" cy="{top + (1 - y) * SIDE:.2f}" r="{radius * SIDE:.2f}"'
            f' fill="{colour}" stroke="{INK}" stroke-width="0.6"/>'
        )
    return parts


def _curve(curve: Curve, known_best: float) -> list[str]:
    left, right, bottom = MARGIN + 20, WIDTH - MARGIN, CURVE_TOP + CURVE_HEIGHT
    low, high, last = curve[0][1], known_best, curve[-1][0]

    def place(count: float, score: float) -> tuple[float, float]:
        return left + (right - left) * count / last, bottom - CURVE_HEIGHT * (score - low) / (high - low)

    parts = [_line((left, bottom), (right, bottom), INK), _line((left, bottom), (left, CURVE_TOP), INK)]
    parts.append(_line(place(0, high), place(last, high), LINE, ' stroke-dasharray="6 4"'))
    parts.append(_text(right, CURVE_TOP - 8, f"best known {_cut(known_best)}", "end", LINE))
    scores, counts = (low, (low + high) / 2, high), (0, last // 2, last)
    parts += [_text(left - 8, place(0, score)[1] + 4, f"{score:.2f}", "end") for score in scores]
    parts += [_text(place(count, low)[0], bottom + 20, f"{count:,}", "middle") for count in counts]
    parts.append(_text((left + right) / 2, bottom + 40, "candidates evaluated", "middle"))
    points: list[tuple[float, float]] = []
    for count, score in curve:
        here = place(count, score)
        points += [(here[0], points[-1][1]), here] if points else [here]
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return [*parts, f'<polyline points="{drawn}" fill="none" stroke="{LINE}" stroke-width="2"/>']


def _line(start: tuple[float, float], end: tuple[float, float], colour: str, more: str = "") -> str:
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line {ends} stroke="{colour}"{more}/>'


def _text(x: float, y: float, text: str, anchor: str, colour: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {FONT} font-size="14" text-anchor="{anchor}" fill="{colour}">{text}</text>'


def _cut(score: float) -> str:
    return f"{int(score * 10**PLACES) / 10**PLACES:.{PLACES}f}"


if __name__ == "__main__":
    main()
