"""The scorers of the examples: known constructions score exactly what is known, hostile ones are refused."""

import itertools
import json
import math
import random
import runpy
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.domains.maze.oracle import best
from evolve.domains.maze.splits import maze_of
from evolve.domains.questions import question_as_json
from evolve.domains.scoring import score_answer
from evolve.evaluation import fitness, read_result
from evolve.views.candidate_view import SVG, read_view
from service.problems.load import load_problem

EXAMPLES = Path(__file__).parents[3] / "examples"
NAN, INFINITY = float("nan"), float("inf")


@cache
def evaluator(name: str) -> Mapping[str, Any]:
    return runpy.run_path(str(EXAMPLES / name / "evaluator.py"))


def scored(name: str, *values: object, program: Mapping[str, str] | None = None) -> dict[str, Any]:
    outputs = [{"value": value, "seconds": 0.0, "error": None} for value in values]
    result = evaluator(name)["score"](outputs, program or {})
    assert isinstance(result, dict)
    return result


def held_out(name: str, *values: object, program: Mapping[str, str] | None = None) -> dict[str, Any]:
    outputs = [{"value": value, "seconds": 0.0, "error": None} for value in values]
    result = evaluator(name)["holdout"](outputs, program or {})
    assert isinstance(result, dict)
    return result


def formula(text: str) -> dict[str, Any]:
    return scored("symbolic_regression", program={"formula.txt": text})


def known_best(name: str) -> float:
    value = tomllib.loads((EXAMPLES / name / "problem.toml").read_text())["known_best"]
    assert isinstance(value, float | int)
    return value


def of_the_library(name: str, result: Mapping[str, Any]) -> float:
    problem = load_problem(EXAMPLES / name).problem
    value = fitness(problem, read_result(result, problem))
    assert value is not None
    return value


# Layers of networks for ten values (Knuth, The Art of Computer Programming 3, section 5.3.4).
MIN_COMPARATORS = """
0,8 1,9 2,7 3,5 4,6  0,2 1,4 5,8 7,9  0,3 2,4 5,7 6,9  0,1 3,6 8,9  1,5 2,3 4,8 6,7  1,2 3,5 4,6 7,8  2,3 4,5 6,7
3,4 5,6
"""
MIN_LAYERS = """
0,1 2,5 3,6 4,7 8,9  0,6 1,8 2,4 3,9 5,7  0,2 1,3 4,5 6,8 7,9  0,1 2,7 3,5 4,6 8,9  1,2 3,4 5,6 7,8  1,3 2,4 5,7 6,8
2,3 4,5 6,7
"""


def network(text: str) -> list[list[int]]:
    return [[int(wire) for wire in pair.split(",")] for pair in text.split()]


@pytest.mark.parametrize(("text", "size", "depth"), [(MIN_COMPARATORS, 29, 8), (MIN_LAYERS, 31, 7)])
def test_best_known_sorting_networks_score_what_the_literature_says(text: str, size: int, depth: int) -> None:
    result = scored("sorting_network", network(text))
    assert (result["comparators"], result["layers"]) == (size, depth)
    assert of_the_library("sorting_network", result) <= known_best("sorting_network")


def test_sorting_network_is_drawn_by_its_render() -> None:
    comparators = network(MIN_LAYERS)
    outputs = [{"value": comparators, "seconds": 0.0, "error": None}]
    assert "view" not in evaluator("sorting_network")["score"](outputs, {})
    view = read_view(evaluator("sorting_network")["render"](outputs))
    assert view is not None
    assert view.media_type == SVG
    assert view.content.count("<circle") == 2 * len(comparators)


def test_known_best_of_the_sorting_network_is_that_of_seven_layers() -> None:
    result = scored("sorting_network", network(MIN_LAYERS))
    assert of_the_library("sorting_network", result) == pytest.approx(known_best("sorting_network"), abs=1e-12)


@pytest.mark.parametrize("index", range(29))
def test_network_that_lacks_one_comparator_of_the_fewest_is_refused(index: int) -> None:
    pairs = network(MIN_COMPARATORS)
    assert "does not sort" in scored("sorting_network", pairs[:index] + pairs[index + 1 :])["error"]


def signs_of_the_proven_optimum() -> list[int]:
    text = "-+-+-+-+--+++---++-++---++++-+--+--+++--+--+--+++++++++"
    return [1 if sign == "+" else -1 for sign in text]


def test_best_sequence_of_55_signs_scores_the_proven_merit_factor() -> None:
    result = scored("low_autocorrelation", signs_of_the_proven_optimum())
    assert (result["energy"], result["merit_factor"]) == (171, known_best("low_autocorrelation"))


def largest_cap() -> list[list[int]]:
    """112 vectors: on each of ten triples of places all signs, and the half of the vectors without 0 of even parity.

    The triples are a 2-(6,3,2) design: every two places lie in two of them (Calderbank and Fishburn 1994).
    """
    triples = ["012", "013", "235", "234", "145", "024", "134", "125", "035", "045"]
    spread = [
        [dict(zip(triple, signs, strict=True)).get(str(place), 0) for place in range(6)]
        for triple in triples
        for signs in itertools.product((1, 2), repeat=3)
    ]
    whole = [list(vector) for vector in itertools.product((1, 2), repeat=6) if vector.count(2) % 2 == 0]
    return spread + whole


def test_largest_cap_set_scores_112_and_takes_no_further_vector() -> None:
    cap = largest_cap()
    assert scored("cap_set", cap)["size"] == known_best("cap_set") == 112
    missing = next(list(vector) for vector in itertools.product(range(3), repeat=6) if list(vector) not in cap)
    assert "lie on a line" in scored("cap_set", [*cap, missing])["error"]


LOWEST_POINT = [-0.024403079694375166, 0.21061242715535812]  # Bornemann et al., The SIAM 100-Digit Challenge, 2004


def test_lowest_point_scores_the_proven_minimum_and_no_neighbour_scores_less() -> None:
    assert scored("function_minimisation", LOWEST_POINT)["height"] == known_best("function_minimisation")
    x, y = LOWEST_POINT
    for toward_x, toward_y in itertools.product((-1, 0, 1), repeat=2):
        for steps in (1, 100, 10**6):
            near = [x + toward_x * steps * math.ulp(x), y + toward_y * steps * math.ulp(y)]
            assert scored("function_minimisation", near)["height"] >= known_best("function_minimisation")


@pytest.mark.parametrize("point", [[0.0, 0.0], [0.5, -0.25], [-1.0, 1.0], [1, -1]])
def test_height_is_that_of_the_formula(point: list[float]) -> None:
    x, y = point
    expected = (
        math.exp(math.sin(50 * x)) + math.sin(60 * math.exp(y)) + math.sin(70 * math.sin(x))
        + math.sin(math.sin(80 * y)) - math.sin(10 * (x + y)) + (x * x + y * y) / 4
    )  # fmt: skip
    assert scored("function_minimisation", point)["height"] == pytest.approx(expected, abs=1e-12)


LAW = "y = log((x + 1) * (x * x + 1))"


def test_law_behind_the_points_scores_the_known_best() -> None:
    result = formula(LAW)
    assert (result["accuracy"], result["size"]) == (12.0, 10)
    assert held_out("symbolic_regression", program={"formula.txt": LAW}) == {"accuracy": 12.0, "size": 10}
    assert of_the_library("symbolic_regression", result) == pytest.approx(known_best("symbolic_regression"), abs=1e-12)


def test_sums_of_a_formula_are_those_of_its_text() -> None:
    result = formula("a = 0.5\ny = a * x")  # 1 node, and 3
    gaps = [0.5 * x - math.log(x + 1) - math.log(x * x + 1) for x in evaluator("symbolic_regression")["SEEN"]]
    rms = math.sqrt(sum(gap * gap for gap in gaps) / len(gaps))
    assert result["size"] == 4
    assert result["accuracy"] == pytest.approx(max(0.0, -math.log10(rms)))


# Found by iterated greedy (Ruiz and Stuetzle 2007); the makespans are the ones that Taillard's list gives.
SHORTEST_SCHEDULES = [
    [16, 2, 14, 0, 5, 8, 13, 4, 3, 18, 17, 15, 12, 6, 10, 1, 7, 9, 19, 11],
    [5, 9, 16, 6, 18, 14, 2, 4, 0, 13, 12, 8, 7, 17, 11, 1, 15, 19, 10, 3],
    [2, 3, 15, 13, 12, 19, 17, 6, 7, 18, 11, 9, 4, 8, 0, 16, 10, 5, 14, 1],
    [12, 16, 18, 8, 15, 10, 0, 14, 19, 1, 6, 11, 3, 9, 4, 7, 5, 13, 2, 17],
    [9, 11, 3, 2, 18, 8, 16, 4, 15, 5, 1, 14, 12, 10, 13, 6, 17, 0, 19, 7],
]


def test_shortest_flow_shops_have_no_excess() -> None:
    result = scored("flow_shop", *SHORTEST_SCHEDULES)
    assert result["excess_percent"] == known_best("flow_shop") == 0
    assert set(result["cases"].values()) == {1.0}


def test_first_flow_shop_is_the_published_one_and_palmers_index_gives_its_published_makespan() -> None:
    rows = evaluator("flow_shop")["inputs"]()[0]
    assert [row[0] for row in rows[:10]] == [54, 83, 15, 71, 77, 36, 53, 38, 27, 87]
    assert len(rows) == 20
    order = sorted(range(20), key=lambda job: -sum((2 * k - 4) * time for k, time in enumerate(rows[job])))
    assert evaluator("flow_shop")["makespan"](order, rows) == 1384


def test_awk_program_of_the_flow_shop_prints_the_order_by_its_weights() -> None:
    rows = evaluator("flow_shop")["inputs"]()[0]
    text = (EXAMPLES / "flow_shop" / "schedule.awk").read_text().replace("inserted = 3", "inserted = 0")
    ran = subprocess.run(["awk", text], input=json.dumps(rows), capture_output=True, text=True, check=True)
    weights = (-1.0, -0.5, 0.0, 0.5, 1.0)
    worth = [sum(weight * time for weight, time in zip(weights, row, strict=True)) for row in rows]
    assert json.loads(ran.stdout) == sorted(range(20), key=lambda job: -worth[job])


def packed(items: Sequence[int], fits: Any) -> int:
    """Bins that an online rule takes, bin by bin: an independent account."""
    rooms: list[int] = []
    for item in items:
        open_bins = [index for index, room in enumerate(rooms) if room >= item]
        if open_bins:
            rooms[fits(open_bins, key=lambda index: rooms[index])] -= item
        else:
            rooms.append(100 - item)
    return len(rooms)


@pytest.mark.parametrize(("sign", "fits"), [(-1, min), (1, max)])
def test_tables_of_best_and_worst_fit_take_the_bins_that_these_rules_take(sign: int, fits: Any) -> None:
    # Worst fit keeps an empty bin for last, too.
    table = [[float(sign * room) if room < 100 else -1000.0 for room in range(item, 101)] for item in range(1, 101)]
    module = evaluator("bin_packing")
    bins = sum(packed(items, fits) for items in module["INSTANCES"])
    bounds = sum(module["BOUNDS"])
    assert scored("bin_packing", table)["excess_percent"] == 100 * (bins - bounds) / bounds


@pytest.mark.parametrize(
    ("items", "bound"),
    [([50, 50], 1), ([51, 51], 2), ([60, 60, 60, 50], 4), ([100], 1), ([34, 34, 34], 2), ([90, 80, 20, 10], 2)],
)
def test_bound_of_small_packings_is_the_fewest_bins_that_they_need(items: list[int], bound: int) -> None:
    assert evaluator("bin_packing")["minimum"](items) == bound


def test_no_first_fit_packing_of_chance_items_takes_fewer_bins_than_the_bound() -> None:
    chance = random.Random(3)
    for _ in range(100):
        items = [chance.randint(1, 100) for _ in range(20)]
        assert evaluator("bin_packing")["minimum"](items) <= packed(sorted(items, reverse=True), min)


def test_length_of_a_tour_is_the_sum_of_its_steps() -> None:
    towns = evaluator("two_files")["TOWNS"]
    tour = list(range(40))
    steps = (math.dist(towns[a], towns[b]) for a, b in zip(tour, [*tour[1:], 0], strict=True))
    assert scored("two_files", tour)["length"] == pytest.approx(sum(steps), abs=1e-12)


BEST_FIT = [[float(-room) for room in range(item, 101)] for item in range(1, 101)]
FIVE = [list(range(20))] * 5
HOSTILE: dict[str, list[list[object]]] = {
    "function_minimisation": [
        [None], [[0.0]], [[*LOWEST_POINT, -1e9]], [{"height": -1e9}], [[NAN, 0.0]], [[0.0, INFINITY]], [["0", "0"]],
        [[math.nextafter(1.0, 2.0), 0.0]], [[True, False]], [[10**400, 0]],
    ],
    "cap_set": [
        [None], [112], [[[0] * 6] * 2], [[[0] * 6, [1] * 6, [2] * 6]], [[[0] * 5]], [[[0.0] * 6]], [[[3] * 6]],
        [[[-1] * 6]], [[[True] * 6]], [[[10**400] * 6]], [[*largest_cap(), [0] * 6]], [{"size": 999}],
    ],
    "low_autocorrelation": [
        [None], [[]], [[1] * 54], [[1] * 56], [[1.0] * 55], [[True] * 55], [[0] * 55], [[1] * 54 + [1e-300]],
        [[1] * 54 + [0]], ["+" * 55], [[[1]] * 55], [[1] * 54 + [10**400]], [{"merit_factor": 99}],
    ],
    "sorting_network": [
        [None], [[]], [[[0, 1]]], [[[1, 0]]], [[[0, 0]]], [[[0, 10]]], [[[-1, 3]]], [[[0.0, 1.0]]], [[[True, 2]]],
        [[[0, 1, 2]]], [network(MIN_LAYERS)[:-1]], [network(MIN_LAYERS) * 4], [{"comparators": 1, "layers": 1}],
    ],
    "bin_packing": [
        [None], [[]], [BEST_FIT[:-1]], [[[0.0] * 101] * 100], [[[*row[:-1], NAN] for row in BEST_FIT]],
        [[[*row[:-1], INFINITY] for row in BEST_FIT]], [[[*row[:-1], "9"] for row in BEST_FIT]],
        [[[True] * len(row) for row in BEST_FIT]], [{"excess_percent": -1}], [[[None] * len(row) for row in BEST_FIT]],
    ],
    "flow_shop": [
        [None] * 5, [list(range(19))] * 5, [[0] * 20] * 5, [[*range(19), -1]] * 5, [[*range(19), 19.0]] * 5,
        [[True, False, *range(2, 20)]] * 5, [*FIVE[:4], 7], [*FIVE[:4], {"makespan": 1}], [[*range(20), 0]] * 5,
    ],
    "two_files": [
        [None], [[]], [list(range(39))], [[0] * 40], [[*range(39), -1]], [[*range(39), 39.0]],
        [[True, False, *range(2, 40)]], [{"length": 0}], [[*range(40), 0]],
    ],
    "circle_packing": [
        [None], [[[0.5, 0.5, 0.5]] * 26], [[[0.5, 0.5, NAN]] * 26], [[[0.5, 0.5, -1.0]] * 26], [{"sum_radii": 99}],
        [[[10**400, 0.5, 0.1]] * 26],
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "values"), [(name, values) for name, rows in HOSTILE.items() for values in rows])
def test_hostile_construction_is_refused_with_a_sentence(name: str, values: list[object]) -> None:
    result = scored(name, *values)
    assert set(result) == {"error"}
    assert len(result["error"]) > 20


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_failure_of_the_program_is_the_reason_that_the_scorer_gives(name: str) -> None:
    count = 5 if name == "flow_shop" else 1
    outputs = [{"value": None, "seconds": 0.0, "error": "ZeroDivisionError: no"}] * count
    assert "ZeroDivisionError" in evaluator(name)["score"](outputs, {})["error"]


@pytest.mark.parametrize(
    "text",
    [
        "", "y = ", "x", "x = 1", "z = x", "y = z", "y = __import__('os').getpid()", "y = open('evaluator.py')",
        "import os\ny = x", "y = (lambda: x)()", "y = [x][0]", "y = law(x)", "y = 'text'", "y = True", "y = 1e400",
        "y = 10 ** 10", "y = 2 ** x", "y = 1e300", "y = 1 / (x - x)", "y = log(0 - 1)", "y = sin(x, x)", "y = sin(*x)",
        "y = sin(x=x)", "sin = x\ny = sin(x)", "y = x if x else x", "y = (z := x)", "y: float = x", "y = u = x",
        "y = x + y", "y = exp(exp(exp(exp(x + 9))))", "y = " + " + ".join(["x"] * 31), "y = " + "(" * 3000 + "x",
        "y = " + "-" * 900 + "x", "y = x  #" + "." * 4000, "y = 9" + "9" * 3000, "y = x.real", "y = x\0",
        "y = x" + ".real" * 790, "y = x" + "()" * 1900, "y = x" + "[0]" * 1300,
    ],
)  # fmt: skip
def test_hostile_formula_is_refused_with_a_sentence(text: str) -> None:
    result = formula(text)
    assert set(result) == {"error"}, result
    assert len(result["error"]) > 20


@pytest.mark.parametrize("name", ["bin_packing", "symbolic_regression"])
def test_what_is_held_out_is_scored_apart_and_never_beside_what_policies_are_shown(name: str) -> None:
    values, program = ([BEST_FIT], {}) if name == "bin_packing" else ([], {"formula.txt": "y = x"})
    problem = load_problem(EXAMPLES / name).problem
    shown, apart = scored(name, *values, program=program), held_out(name, *values, program=program)
    assert problem.evaluator.holdout
    drawn = {"view"} if name == "symbolic_regression" else set()  # the other one draws by `render`
    assert set(shown) == {*problem.objective_names, "cases", "feedback"} | drawn
    assert set(apart) == set(problem.objective_names)
    assert [shown[one] for one in apart] != list(apart.values())


def test_best_fit_takes_the_bins_that_it_takes_on_instances_held_out() -> None:
    module = evaluator("bin_packing")
    bins, bounds = sum(packed(items, min) for items in module["FRESH"]), sum(module["FRESH_BOUNDS"])
    assert held_out("bin_packing", BEST_FIT) == {"excess_percent": 100 * (bins - bounds) / bounds}
    assert set(held_out("bin_packing", [])) == set(held_out("symbolic_regression", program={"f": "x"})) == {"error"}


def test_formula_that_is_wrong_beyond_the_points_keeps_its_score() -> None:
    assert "error" not in formula("y = log(2.5 - x)")
    assert held_out("symbolic_regression", program={"formula.txt": "y = log(2.5 - x)"})["accuracy"] == 0.0


@pytest.mark.parametrize(
    "walk",
    ["", "Q" * 8, "RIGHT " * 25, "S" * 1000, "\0", "100 100 100 100", "gold 7 diamond 7", "Ra9 " * 24, "\u0663" * 24],
)
def test_hostile_walk_of_the_maze_gathers_nothing_and_does_not_arrive(walk: str) -> None:
    result = score_answer("maze", question_as_json(maze_of("hard", "questions", 0)), {"walk.txt": walk})
    if "error" in result:
        assert len(result["error"]) > 20
    else:
        assert result["gold"] == result["diamond"] == 0
        assert result["completion"] < 1


def test_known_best_of_the_maze_is_that_of_the_exact_search() -> None:
    weights = np.full(4, 0.25)
    assert (
        f"{best(maze_of('hard', 'questions', 0), weights).value:.4f}" in (EXAMPLES / "maze" / "README.md").read_text()
    )
