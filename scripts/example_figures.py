"""Draw the figure of an example from a stored run: the seed's construction, the best one found, and the way there.

    .venv/bin/python -m scripts.example_figures NAME RUN docs/images/examples/NAME.svg [--db URL]

The two programs are run once more in the sandbox, by the example's own evaluator, which here also gives back what they
returned.
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.example_panels import HEIGHT, PANELS, WIDTH
from scripts.figures import FONT, INK, LINE, best_so_far, evolve
from service.problems.load import load_problem

EXAMPLES = Path(__file__).parents[1] / "examples"
MARGIN, GAP = 40, 60
CURVE_HEIGHT = 130
TOTAL_WIDTH = 2 * WIDTH + GAP + 2 * MARGIN
CURVE_TOP = HEIGHT + 90
TOTAL_HEIGHT = CURVE_TOP + CURVE_HEIGHT + 55
WRAPPED = """

import json as _json

_score = score


def score(outputs, program):
    result = _score(outputs, program)
    return {**result, "feedback": _json.dumps([[output["value"] for output in outputs], list(program.values())])}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw a run on an example.")
    parser.add_argument("name", choices=sorted(PANELS))
    parser.add_argument("run")
    parser.add_argument("output", type=Path)
    parser.add_argument("--db", help="database of the run; the usual one when absent")
    arguments = parser.parse_args()
    place = ["--db", arguments.db] if arguments.db else []
    exported = evolve("export", arguments.run, *place)
    candidates = [line for line in exported if line["outcome"] not in {None, "cancelled"}]
    scored = [candidate for candidate in candidates if candidate["fitness"] is not None]
    ends = (scored[0], max(scored, key=lambda candidate: candidate["fitness"]))
    panels = [
        (f"{title}: {_told(candidate)}", PANELS[arguments.name](returned(arguments.name, candidate)))
        for title, candidate in zip(("the seed", "the best found"), ends, strict=True)
    ]
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(draw(panels, best_so_far(candidates), known_fitness(arguments.name)), encoding="utf-8")


def known_fitness(name: str) -> float | None:
    """The known best as a fitness: that of one minimised objective is told as its score."""
    problem = load_problem(EXAMPLES / name).problem
    if problem.known_best is None or len(problem.objectives) != 1:
        return problem.known_best
    return problem.objectives[0].sign * problem.known_best


def _told(candidate: Mapping[str, Any]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {value:.6g}" for key, value in [*candidate["scores"].items()][:2])


def returned(name: str, candidate: Mapping[str, Any]) -> tuple[list[Any], list[str]]:
    """What a candidate's program returned for each input, and its texts."""
    if name in {"maze", "repository"}:
        return [], list(candidate["files"].values())
    if name == "openevolve_function":
        return [], [candidate["feedback"]]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(shutil.copytree(EXAMPLES / name, Path(scratch) / "problem"))
        with (folder / "evaluator.py").open("a", encoding="utf-8") as file:
            file.write(WRAPPED)
        for path, text in candidate["files"].items():
            (seed,) = folder.rglob(Path(path).name) if len(candidate["files"]) > 1 else [_only_seed(folder)]
            seed.write_text(text, encoding="utf-8")
        place = ["--db", f"sqlite:///{scratch}/drawn.db"]
        evolve("run", str(folder), "--policy", "syntax", "--evaluations", "1", "--json", *place)
        (drawn,) = evolve("export", "last", *place)
        values, texts = json.loads(drawn["feedback"])
        return values, texts


def _only_seed(folder: Path) -> Path:
    (seed,) = [path for path in folder.iterdir() if path.stem in {"initial_program", "schedule", "formula"}]
    return seed


def draw(panels: list[tuple[str, list[str]]], curve: list[tuple[int, float]], known_best: float | None) -> str:
    """The picture as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {TOTAL_WIDTH} {TOTAL_HEIGHT}" role="img"'
        ' aria-label="What the seed makes, what the best program found makes, and the best fitness over time">',
        f'<rect width="{TOTAL_WIDTH}" height="{TOTAL_HEIGHT}" fill="#ffffff"/>',
    ]
    for left, (title, drawn) in zip((MARGIN, MARGIN + WIDTH + GAP), panels, strict=True):
        parts.append(_text(left + WIDTH / 2, 28, title, "middle"))
        parts += [f'<g transform="translate({left} 46)">', *drawn, "</g>"]
    return "\n".join([*parts, *_curve(curve, known_best), "</svg>"]) + "\n"


def _curve(curve: list[tuple[int, float]], known_best: float | None) -> list[str]:
    left, right, bottom = MARGIN + 40, TOTAL_WIDTH - MARGIN, CURVE_TOP + CURVE_HEIGHT
    low, last = curve[0][1], curve[-1][0]
    high = curve[-1][1] if known_best is None else max(known_best, curve[-1][1])
    span = (high - low) or 1.0

    def place(count: float, fitness: float) -> tuple[float, float]:
        return left + (right - left) * count / last, bottom - CURVE_HEIGHT * (fitness - low) / span

    parts = [
        f'<path d="M{left},{CURVE_TOP} V{bottom} H{right}" fill="none" stroke="{INK}"/>',
        f'<path d="M{left},{place(0, high)[1]:.1f} H{right}" stroke="{LINE}" stroke-dasharray="6 4"/>',
        _text(right, CURVE_TOP - 8, "known best" if known_best is not None else "best found", "end", LINE),
        _text((left + right) / 2, bottom + 40, "candidates evaluated", "middle"),
    ]
    parts += [_text(left - 8, place(0, level)[1] + 4, f"{level + 0.0:.4g}", "end") for level in (low, high)]
    parts += [_text(place(count, low)[0], bottom + 20, f"{count:,}", "middle") for count in (0, last // 2, last)]
    steps = f"M{left},{bottom}" + "".join(
        f" H{x:.1f} V{y:.1f}" for x, y in (place(count, fitness) for count, fitness in curve)
    )
    return [*parts, f'<path d="{steps}" fill="none" stroke="{LINE}" stroke-width="2"/>']


def _text(x: float, y: float, text: str, anchor: str, colour: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {FONT} font-size="13" text-anchor="{anchor}" fill="{colour}">{text}</text>'


if __name__ == "__main__":
    main()
