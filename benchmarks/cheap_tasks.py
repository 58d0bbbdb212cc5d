"""Tasks whose programs take a millisecond: searches that are repeated hundreds of times are measured on them.

Programs run in the process that asks, so that only programs which nobody wrote with intent may be put to them: those of
the built-in syntax mutator. What is better has the higher score in all of them.
"""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evolve.problem import EvaluatorSpec, Objective, Problem
from evolve.program import Program

POINTS, SPREAD, CITIES, WIRES, MARKS = 11, 13, 22, 8, 10
MAX_COMPARATORS = 40
CAPACITY = 100

Point = tuple[float, float]
Comparators = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheapTask:
    """A problem that is solved in the process.

    Attributes:
        seed: text of the program that a search starts from; what its `solve()` returns is scored.
        score: refuses, by any exception, what is no solution.
        low, high: bounds of the score that a search is told.
    """

    name: str
    seed: str
    score: Callable[[Any], float]
    low: float
    high: float

    @property
    def problem(self) -> Problem:
        return Problem(
            name=self.name,
            seeds=(Program.of({"program.py": self.seed}),),
            evaluator=EvaluatorSpec(entry="solve"),
            objectives=(Objective(name="score", low=self.low, high=self.high),),
        )

    def run(self, text: str) -> float:
        """The score of a program, which runs here.

        Raises:
            BaseException: whatever the program raised, or its score is no finite number.
        """
        space: dict[str, Any] = {"__name__": "program"}
        exec(compile(text, "program.py", "exec"), space)
        score = float(self.score(space["solve"]()))
        _need(math.isfinite(score), "the score is not finite")
        return score


def _need(met: bool, otherwise: str) -> None:
    if not met:
        raise ValueError(otherwise)


def _check_points(points: Sequence[Point], count: int) -> None:
    inside = all(0 <= x <= 1 and 0 <= y <= 1 for x, y in points)
    _need(len(points) == count and inside, f"not {count} points of the unit square")


def smallest_triangle(points: Sequence[Point]) -> float:
    _check_points(points, POINTS)
    return min(
        abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) / 2
        for a, b, c in itertools.combinations(points, 3)
    )


def min_distance(points: Sequence[Point]) -> float:
    _check_points(points, SPREAD)
    return min(math.dist(a, b) for a, b in itertools.combinations(points, 2))


def _places() -> list[Point]:
    rng = random.Random(5)
    return [(rng.random(), rng.random()) for _ in range(CITIES)]


PLACES = _places()


def shortness(keys: Sequence[float]) -> float:
    _need(len(keys) == CITIES, "not a key for each city")
    order = sorted(range(CITIES), key=lambda city: float(keys[city]))
    return -sum(math.dist(PLACES[city], PLACES[order[place - 1]]) for place, city in enumerate(order))


ITEMS = [min(CAPACITY, max(1, int(random.Random(number).weibullvariate(45, 3)))) for number in range(250)]


def few_bins(priority: Callable[[int, int], float]) -> float:
    """Few bins; and of as many, those whose room is left in few of them."""
    rooms: list[int] = []
    for item in ITEMS:
        fits = [(float(priority(item, room)), -place) for place, room in enumerate(rooms) if room >= item]
        if fits:
            rooms[-max(fits)[1]] -= item
        else:
            rooms.append(CAPACITY - item)
    return -len(rooms) - 0.001 * sum(math.sqrt(room) for room in rooms) / len(rooms)


def _wanted(x: float) -> float:
    return math.sin(1.7 * x) * 1.3 + 0.4 * x * x - 0.9


WANTED = {x: _wanted(x) for x in (number / 10 - 3 for number in range(61))}


def digits(function: Callable[[float], float]) -> float:
    """How many decimal digits the mean square error has before its first."""
    error = sum((float(function(x)) - wanted) ** 2 for x, wanted in WANTED.items()) / len(WANTED)
    return -math.log10(1e-6 + error)


def sorted_share(network: Comparators) -> float:
    """Share of the inputs of zeros and ones that come out sorted; of networks that sort all, the shorter is better."""
    _need(len(network) <= MAX_COMPARATORS, "too many comparators")
    _need(all(0 <= one < other < WIRES for one, other in network), "a comparator from a wire to a lower one")
    inputs = list(itertools.product((0, 1), repeat=WIRES))
    right = sum(_sorts(network, list(values)) for values in inputs)
    return right / len(inputs) - (0.001 * len(network) if right == len(inputs) else 0.0)


def _sorts(network: Comparators, values: list[int]) -> bool:
    for one, other in network:
        if values[one] > values[other]:
            values[one], values[other] = values[other], values[one]
    return all(before <= after for before, after in itertools.pairwise(values))


def different_distances(marks: Sequence[int]) -> float:
    """How many distances between marks there are, less a hundredth of the ruler's length."""
    _need(len(marks) == MARKS and all(isinstance(mark, int) for mark in marks), f"not {MARKS} whole numbers")
    distances = [after - before for before, after in itertools.combinations(marks, 2)]
    _need(min(distances) > 0, "the marks do not rise")
    return len(set(distances)) - (marks[-1] - marks[0]) / 100


_APART = "\n".join(f"    points.append(({0.1 + 0.07 * n:.2f}, {0.1 + ((n * 0.37) % 0.8):.2f}))" for n in range(POINTS))
_KEYS = ", ".join(f"{(n * 0.6180339) % 1:.2f}" for n in range(CITIES))
_LAYERS = "\n".join(
    f"    layers.append([({n}, {n + 1}), ({(n + 3) % 7}, {(n + 3) % 7 + 1})])" for n in range(WIRES - 1)
)
_SPIRAL = """\
import math

def solve():
    n = 13
    radius = 0.3
    turn = 0.5
    points = []
    for i in range(n):
        angle = turn * i
        grow = 0.01 * i
        x = 0.5 + (radius + grow) * math.cos(angle)
        y = 0.5 + (radius + grow) * math.sin(angle)
        points.append((x, y))
    return points
"""
_PRIORITY = """\
def priority(item, rest):
    tight = 1.0
    waste = rest - item
    if waste < 5:
        return 10.0 * tight
    return 0.5 * waste - 0.01 * item * rest

def solve():
    return priority
"""
_PARABOLA = """\
def f(x):
    a = 1.0
    b = 0.5
    c = 0.1
    return a * x + b - c * x * x

def solve():
    return f
"""
_STEPS = """\
def solve():
    marks = [0]
    steps = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    for step in steps:
        marks.append(marks[-1] + step)
    return marks
"""

TASKS = (
    # Heilbronn's problem: points of the unit square of which no three span a small triangle.
    CheapTask(
        name="heilbronn",
        seed=f"def solve():\n    points = []\n{_APART}\n    return points\n",
        score=smallest_triangle,
        low=0.0,
        high=0.05,
    ),
    # Points of a square spread as far as they go, which is the packing of equal circles into a square.
    CheapTask(name="spread", seed=_SPIRAL, score=min_distance, low=0.0, high=0.4),
    # The travelling salesman by random keys (Bean, 1994): cities are visited in the order of their keys.
    CheapTask(
        name="tour", seed=f"KEYS = [{_KEYS}]\n\ndef solve():\n    return KEYS\n", score=shortness, low=-15.0, high=-3.0
    ),
    # Online bin packing by a priority of bins, with items as in FunSearch (Romera-Paredes et al., 2024).
    CheapTask(name="packing", seed=_PRIORITY, score=few_bins, low=-250.0, high=-100.0),
    # Symbolic regression (Koza, 1992) of a fixed formula.
    CheapTask(name="formula", seed=_PARABOLA, score=digits, low=-3.0, high=6.0),
    # A sorting network of eight wires, by the zero-one principle (Knuth, The Art of Computer Programming, 5.3.4).
    CheapTask(
        name="network",
        seed=f"def solve():\n    layers = []\n{_LAYERS}\n    return [pair for layer in layers for pair in layer]\n",
        score=sorted_share,
        low=0.0,
        high=1.0,
    ),
    # A Golomb ruler: all distances between its marks differ, and it is as short as can be.
    CheapTask(name="golomb", seed=_STEPS, score=different_distances, low=0.0, high=46.0),
)
