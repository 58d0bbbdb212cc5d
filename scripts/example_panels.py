"""What a program of an example returned, as a piece of SVG of WIDTH by HEIGHT."""

import math
import runpy
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path
from typing import Any

from evolve.domains.maze.domain import MazeDomain
from evolve.domains.maze.grid import MOVES
from evolve.domains.maze.splits import maze_of
from scripts.figures import FONT, INK, LINE

Returned = tuple[list[Any], list[str]]
EXAMPLES = Path(__file__).parents[1] / "examples"
WIDTH, HEIGHT = 340, 300
PALE, DARK, WARM, MILD = "#dbe9f6", "#1f5f99", "#c2571a", "#9ec5e8"
LEVELS = ("#0b3d6b", "#1f5f99", "#5b95c9", "#9ec5e8", "#dbe9f6", "#f6f8fa")


def _frame() -> str:
    return f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#f6f8fa" stroke="{INK}"/>'


def _path(points: Sequence[tuple[float, float]], colour: str, more: str = "") -> str:
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{drawn}" fill="none" stroke="{colour}"{more}/>'


def _bar(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


def _dot(x: float, y: float, radius: float, colour: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>'


def _label(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {FONT} font-size="11" fill="{INK}">{text}</text>'


def _scorer(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / name / "evaluator.py"))


def landscape(returned: Returned) -> list[str]:
    """The square around the point, dark where it is deep, and the point."""
    ((point,), _) = returned
    x, y = point
    height: Callable[[float, float], float] = runpy.run_path(
        str(EXAMPLES / "function_minimisation" / "initial_program.py")
    )["height"]
    reach, cells = 0.1, 34
    size = HEIGHT / cells
    parts = [_frame()]
    for row in range(cells):
        heights = [height(x + reach * (2 * i / cells - 1), y + reach * (1 - 2 * row / cells)) for i in range(cells)]
        levels = [min(len(LEVELS) - 1, max(0, math.floor((there + 3.3) / 1.4))) for there in heights]
        column = 0
        for level, equal in groupby(levels):
            wide = len(list(equal))
            parts.append(_bar(20 + column * size, row * size, wide * size + 0.2, size + 0.2, LEVELS[level]))
            column += wide
    return [
        *parts, _dot(20 + HEIGHT / 2, HEIGHT / 2, 5, WARM),
        _bar(20, HEIGHT - 20, 190, 20, "#ffffff"), _label(26, HEIGHT - 6, f"x {x:.4f}, y {y:.4f}; 0.1 to each side"),
    ]  # fmt: skip


def worths(returned: Returned) -> list[str]:
    """How much a bin is wanted by what is left in it, for an item of 40: higher is sooner."""
    ((table,), _) = returned
    row = table[39]
    low, high = min(row[:41]), max(row[:41])
    span = (high - low) or 1.0
    points = [(20 + 300 * left / 40, 270 - 240 * (worth - low) / span) for left, worth in enumerate(row[:41])]
    return [
        _frame(), _path(points, LINE, ' stroke-width="2"'), *[_dot(x, y, 2.5, DARK) for x, y in points],
        _label(24, 290, "room left in the bin, 0 to 40; up: taken sooner (item 40)"),
    ]  # fmt: skip


def wires(returned: Returned) -> list[str]:
    """The network, layer by layer."""
    ((comparators,), _) = returned
    depth, layers = [0] * 10, []
    for one, two in comparators:
        depth[one] = depth[two] = max(depth[one], depth[two]) + 1
        layers.append(depth[one])
    step = WIDTH / (max(layers) + 1)
    parts = [_frame(), *[_path([(0, 25 + 27 * wire), (WIDTH, 25 + 27 * wire)], MILD) for wire in range(10)]]
    used: dict[int, int] = {}
    for (one, two), layer in zip(comparators, layers, strict=True):
        used[layer] = used.get(layer, -1) + 1
        x = step * (layer + 0.13 * (used[layer] - 2))
        ends = [(x, 25 + 27 * one), (x, 25 + 27 * two)]
        parts += [_path(ends, DARK, ' stroke-width="1.5"'), *[_dot(*end, 2.5, DARK) for end in ends]]
    return parts


def signs(returned: Returned) -> list[str]:
    """The sequence as stripes, and below them how much it agrees with itself at each shift."""
    ((sequence,), _) = returned
    length = len(sequence)
    size = (WIDTH - 20) / length
    parts = [_frame()]
    parts += [_bar(10 + i * size, 15, size, 60, DARK if sign > 0 else PALE) for i, sign in enumerate(sequence)]
    parts.append(_path([(10, 185), (WIDTH - 10, 185)], INK))
    for shift in range(1, length):
        agreed = sum(sequence[i] * sequence[i + shift] for i in range(length - shift))
        tall = 8 * abs(agreed)
        parts.append(_bar(10 + shift * size, 185 - (tall if agreed > 0 else 0), size * 0.8, tall, WARM))
    return [*parts, _label(14, 290, "below: the sidelobe at each shift")]


def cap(returned: Returned) -> list[str]:
    """All 729 vectors: three digits across, three down; dark those in the set."""
    ((vectors,), _) = returned
    taken = {tuple(vector) for vector in vectors}
    size = HEIGHT / 27
    parts = [_frame()]
    for across in range(27):
        for down in range(27):
            digits = tuple(number // 3**power % 3 for number in (across, down) for power in (2, 1, 0))
            if digits in taken:
                parts.append(_bar(20 + across * size, down * size, size - 0.5, size - 0.5, DARK))
    lines = [20 + place * HEIGHT / 3 for place in range(4)]
    parts += [_path([(x, 0), (x, HEIGHT)], MILD) for x in lines]
    return parts + [_path([(20, x - 20), (20 + HEIGHT, x - 20)], MILD) for x in lines]


def fitted(returned: Returned) -> list[str]:
    """The points, and the formula's curve over 0 to 4; points stand from 0 to 2."""
    _, (text,) = returned
    scorer = _scorer("symbolic_regression")
    _, lines = scorer["read"](text)

    def place(x: float, y: float) -> tuple[float, float]:
        return 10 + 80 * x, 285 - 55 * max(-0.2, min(5.2, y))

    curve = []
    for step in range(101):
        try:
            curve.append(place(step / 25, scorer["value"](lines, step / 25)))
        except scorer["RefusedError"]:
            break
    law = [place(step / 25, scorer["law"](step / 25)) for step in range(101)]
    dots = [_dot(*place(x, scorer["law"](x)), 3, DARK) for x in scorer["SEEN"]]
    return [_frame(), _path(law, MILD, ' stroke-width="5"'), _path(curve, WARM, ' stroke-width="2"'), *dots]


def gantt(returned: Returned) -> list[str]:
    """The first of the shops: a row for each machine, a bar for each job, up to minute 1500."""
    (orders, _) = returned
    scorer = _scorer("flow_shop")
    rows = scorer["inputs"]()[0]
    free, parts = [0] * 5, [_frame()]
    scale = (WIDTH - 20) / 1500
    for place, job in enumerate(orders[0]):
        ready = 0
        for machine, time in enumerate(rows[job]):
            begun = max(ready, free[machine])
            ready = free[machine] = begun + time
            parts.append(_bar(10 + begun * scale, 20 + 50 * machine, time * scale, 36, LEVELS[place % 4]))
    end = 10 + free[-1] * scale
    return [
        *parts,
        _path([(end, 10), (end, 270)], WARM),
        _label(14, 290, f"ta001: {free[-1]}, at best 1278"),
    ]


def tour(returned: Returned) -> list[str]:
    ((order,), _) = returned
    towns = _scorer("two_files")["TOWNS"]
    points = [(20 + 300 * x, 290 - 280 * y) for x, y in (towns[town] for town in [*order, order[0]])]
    return [_frame(), _path(points, LINE, ' stroke-width="2"'), *[_dot(x, y, 3.5, DARK) for x, y in points]]


def walk(returned: Returned) -> list[str]:
    """The maze, and where the walk goes in it."""
    _, (text,) = returned
    maze = maze_of("hard", "questions", 0)
    (moves,) = MazeDomain().parse(text, 1).answers
    size = HEIGHT / maze.height
    fills = dict.fromkeys(maze.walls, "#444444") | dict.fromkeys(maze.gold, "#e8c15a")
    fills |= dict.fromkeys(maze.diamonds, MILD) | dict.fromkeys(maze.lava, "#d9573a")
    fills |= {maze.start: "#bfe3bf", maze.goal: "#7fc97f"}
    parts = [_frame()]
    for cell in range(maze.height * maze.width):
        row, column = divmod(cell, maze.width)
        parts.append(_bar(20 + column * size, row * size, size - 1, size - 1, fills.get(cell, "#ffffff")))
    trail = [maze.start]
    for move in moves or "":
        trail.append(maze.steps[trail[-1]][MOVES.index(move)])
    points = [(20 + (cell % maze.width + 0.5) * size, (cell // maze.width + 0.5) * size) for cell in trail]
    return [*parts, _path(points, INK, ' stroke-width="3" stroke-linejoin="round"')]


def gaps(returned: Returned) -> list[str]:
    """How far above the lowest point each of the ten trials ended, up to 5."""
    _, (told,) = returned
    (line,) = [line for line in told.splitlines() if line.startswith("gaps")]
    values = [float(value) for value in line.partition(":")[2].split(",")]
    bars = [_bar(20 + 31 * i, 270 - 48 * min(5.0, gap), 24, 48 * min(5.0, gap), DARK) for i, gap in enumerate(values)]
    return [_frame(), *bars, _label(20, 290, f"gap of each trial, together {math.fsum(values):.4f}")]


def library(returned: Returned) -> list[str]:
    """The files of the library with the lines that a program changes in each, and the lines that stay."""
    _, texts = returned
    parts = [_frame()]
    own = {
        path.name: path.read_text() for path in sorted((EXAMPLES / "repository" / "library" / "nearby").glob("*.py"))
    }
    for place, (name, text) in enumerate(own.items()):
        after = next((one for one in texts if one.split("\n")[0] == text.split("\n")[0]), text)
        same = SequenceMatcher(None, text.splitlines(), after.splitlines(), autojunk=False).get_matching_blocks()
        kept = sum(block.size for block in same)
        top, scale = 40 + 65 * place, (WIDTH - 60) / 60
        parts += [
            _label(30, top - 6, f"{name}: {len(after.splitlines()) - kept} of {len(after.splitlines())} lines changed"),
            _bar(30, top, scale * kept, 26, MILD),
            _bar(30 + scale * kept, top, scale * (len(after.splitlines()) - kept), 26, WARM),
        ]
    return parts


PANELS: dict[str, Callable[[Returned], list[str]]] = {
    "function_minimisation": landscape, "bin_packing": worths, "sorting_network": wires, "low_autocorrelation": signs,
    "cap_set": cap, "symbolic_regression": fitted, "flow_shop": gantt, "two_files": tour, "maze": walk,
    "openevolve_function": gaps, "repository": library,
}  # fmt: skip
