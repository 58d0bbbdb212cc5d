"""The catalogue: seeds score, constructions score what is known, and the trap of each problem gains nothing."""

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from evolve.answers.regions import regions
from service.problems.catalogue import catalogue, find_problem, problem_texts
from service.problems.configuration import read_config
from service.problems.load import load_problem
from tests.catalogue_scoring import ScoredCatalogueProblem, open_problem
from tests.command_line import call_here

NAMES = [problem.name for problem in catalogue()]
FILES = ("evaluator.py", "verify.py")
ROOT_3 = math.sqrt(3)
Value = list[object]


def moved(value: Sequence[Sequence[float]], place: int, part: int, by: float) -> list[list[float]]:
    """A returned list with one number changed."""
    changed = [list(row) for row in value]
    changed[place][part] += by
    return changed


@pytest.mark.parametrize("name", NAMES)
def test_seed_is_valid_within_the_bounds_and_worse_than_the_best_known(name: str, tmp_path: Path) -> None:
    opened = open_problem(name, tmp_path / name)
    loaded = load_problem(tmp_path / name)
    read_config([(name, loaded.search)])
    (objective,) = loaded.problem.objectives
    score = opened.objective(*opened.seed(), seconds=0.1)
    assert objective.low is not None
    assert objective.high is not None
    assert objective.low <= score <= objective.high
    if (known := loaded.problem.known_best) is not None:
        assert objective.signed(score) < objective.signed(known)


@pytest.mark.parametrize("name", [problem.name for problem in catalogue() if problem.verified_twice])
def test_second_verifier_finds_the_same_score_for_the_seed(name: str, tmp_path: Path) -> None:
    opened = open_problem(name, tmp_path / name)
    values = opened.seed()
    assert opened.objective(*values, file="verify.py") == opened.objective(*values)


@pytest.mark.parametrize("name", NAMES)
def test_seed_is_a_whole_program_with_one_region_and_no_helpers_of_another(name: str) -> None:
    text = problem_texts(find_problem(name))["initial_program.py"]
    (region,) = regions(text)
    assert "\n\n\n\n" not in text
    changed = "\n".join(text.split("\n")[region.start : region.end])
    assert not re.search(r"^(import|from) ", changed, re.MULTILINE), "what a region imports is lost with it"
    compile(text, name, "exec")


def malformed(value: object) -> Iterator[object]:
    """Results that nothing may score."""
    yield None
    yield "12"
    yield {}
    yield float("nan")
    assert isinstance(value, list)
    yield [*value[:-1], "x"]
    yield [*value[:-1], None]
    yield [*value[:-1], float("inf")]


def tampered(value: object) -> Iterator[object]:
    """Results with a part left out, twice or moved, which score what they are worth, if anything."""
    assert isinstance(value, list)
    yield value[:-1]
    yield [*value, value[-1]]
    yield [value[-1], *value[1:]]
    yield [*value[1:], value[0]]


@pytest.mark.parametrize("name", [problem.name for problem in catalogue() if problem.verified_twice])
def test_scorer_and_verifier_agree_on_every_tampered_result(name: str, tmp_path: Path) -> None:
    opened = open_problem(name, tmp_path / name)
    first, *others = opened.seed()
    for value in malformed(first):
        assert [confirmed(opened, [value, *others], file) for file in FILES] == [None, None], value
    for value in tampered(first):
        scores = [confirmed(opened, [value, *others], file) for file in FILES]
        assert scores[0] == scores[1], (value, scores)


def confirmed(opened: ScoredCatalogueProblem, values: Sequence[object], file: str) -> float | None:
    """The score of values by a file; None: it refuses them, or fails, as a process of the sandbox may."""
    try:
        result = opened.score(*values, file=file)
    except Exception:  # noqa: BLE001 - whatever a scorer raises is a failed evaluation
        return None
    return None if "error" in result else result[find_problem(opened.name).objective]


@pytest.mark.parametrize("name", [problem.name for problem in catalogue() if problem.verified_twice])
def test_verifier_shares_no_run_of_lines_with_the_scorer(name: str) -> None:
    texts = problem_texts(find_problem(name))
    modules = [text for path, text in texts.items() if path.startswith("evolve_imports/") and "verify_" not in path]
    theirs = [text for path, text in texts.items() if path == "verify.py" or "verify_" in path]
    runs = [set(runs_of(text, 8)) for text in (*modules, texts["evaluator.py"])]
    for text in theirs:
        assert not set(runs_of(text, 8)) & set().union(*runs), name


def runs_of(text: str, length: int) -> Iterator[tuple[str, ...]]:
    """Every run of so many lines that say something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (tuple(lines[start : start + length]) for start in range(len(lines) - length + 1))


def test_best_tour_of_tsplib_has_its_length(tmp_path: Path) -> None:
    """berlin52.opt.tour of TSPLIB."""
    tour = [
        1, 49, 32, 45, 19, 41, 8, 9, 10, 43, 33, 51, 11, 52, 14, 13, 47, 26, 27, 28, 12, 25, 4, 6, 15, 5, 24, 48, 38,
        37, 40, 39, 36, 35, 34, 44, 46, 16, 29, 50, 20, 23, 30, 2, 7, 42, 21, 17, 3, 18, 31, 22,
    ]  # fmt: skip
    opened = open_problem("tsp-berlin52", tmp_path / "tour")
    order = [place - 1 for place in tour]
    assert [opened.objective(order, file=file) for file in ("evaluator.py", "verify.py")] == [7542, 7542]
    twice = [*order[:-1], order[0]]
    assert ["error" in opened.score(twice, file=file) for file in ("evaluator.py", "verify.py")] == [True, True]


def test_every_problem_says_what_is_known_from_where_and_its_trap() -> None:
    for problem in catalogue():
        assert problem.title
        assert len(problem.trap) > 40
        assert problem.status in {"proven", "verified", "reported", "bound", "reference"}
        assert bool(problem.known_best_source) == (problem.known_best is not None), problem.name
        assert problem.as_of.startswith("20")


def grid(columns: int, lines: int) -> list[list[float]]:
    """Equal circles in the unit square; the radius is a float below the true one."""
    radius = 0.5 / max(columns, lines) - 1e-15
    return [[(i + 0.5) / columns, (j + 0.5) / lines, radius] for j in range(lines) for i in range(columns)]


@pytest.mark.parametrize("file", ["evaluator.py", "verify.py"])
def test_grid_of_36_circles_has_a_sum_of_3_and_no_circle_may_grow_by_a_hair(tmp_path: Path, file: str) -> None:
    opened = open_problem("circles-36", tmp_path / "circles")
    assert opened.objective(*[grid(6, 6)], file=file) == pytest.approx(3.0, abs=1e-12)
    for change in (moved(grid(6, 6), 14, 2, 1e-9), moved(grid(6, 6), 0, 0, -1e-9), [*grid(6, 6), [0.5, 0.5, 0.0]]):
        assert "error" in opened.score(change, file=file)
    with_negative = [*grid(6, 6)[:35], [0.5, 0.5, -1.0]]
    assert "error" in opened.score(with_negative, file=file)


@pytest.mark.parametrize("file", ["evaluator.py", "verify.py"])
def test_rectangle_has_a_perimeter_of_4_exactly(tmp_path: Path, file: str) -> None:
    opened = open_problem("circles-rectangle-21", tmp_path / "circles")
    circles = [[0.1 + 0.2 * i, 0.1 + 0.2 * j, 0.1 - 1e-9] for j in range(3) for i in range(7)]
    assert opened.objective([1.4, circles], file=file) == pytest.approx(2.1 - 21e-9, abs=1e-12)
    for width in (1.39999999, 1.40000001):  # too narrow, or too low
        assert "error" in opened.score([width, circles], file=file)


@pytest.mark.parametrize("file", ["evaluator.py", "verify.py"])
def test_points_in_a_triangle_may_not_leave_it_by_a_hair(tmp_path: Path, file: str) -> None:
    opened = open_problem("heilbronn-triangle-11", tmp_path / "points")
    (points,) = opened.seed()
    assert isinstance(points, list)
    assert "error" not in opened.score(points, file=file)
    assert "error" in opened.score([[-1e-12, 0.3], *points[1:]], file=file)
    assert "error" in opened.score([[0.7, 0.3000000001], *points[1:]], file=file)
    on_a_line = [[0.1, 0.1], [0.2, 0.2], [0.3, 0.3], *points[3:]]
    assert opened.score(on_a_line, file=file).get("smallest_area", 0.0) == 0.0


def test_share_of_the_smallest_triangle_is_that_of_the_hull(tmp_path: Path) -> None:
    """A regular 13-gon: the triangle of three neighbours, over the area of the polygon."""
    opened = open_problem("heilbronn-convex-13", tmp_path / "points")
    turn = 2 * math.pi / 13
    corners = [[math.cos(turn * place), math.sin(turn * place)] for place in range(13)]
    expected = (2 * math.sin(turn) - math.sin(2 * turn)) / 2 / (13 / 2 * math.sin(turn))
    assert opened.objective(corners) == pytest.approx(expected, rel=1e-9)
    assert opened.objective(corners, file="verify.py") == opened.objective(corners)
    shifted = [[7 * x + 3, 5 * y - 2] for x, y in corners]
    assert opened.objective(shifted) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("file", ["evaluator.py", "verify.py"])
def test_square_grid_has_a_squared_ratio_of_18_and_equal_points_are_refused(tmp_path: Path, file: str) -> None:
    opened = open_problem("distance-ratio-2d-16", tmp_path / "points")
    square = [[float(i), float(j)] for i in range(4) for j in range(4)]
    assert opened.objective(square, file=file) == 18.0
    assert "error" in opened.score([*square[:-1], square[0]], file=file)


HONEYCOMB = [[0.0, 0.0, 0.0]] + [
    [1.7320508076 * math.cos(math.radians(angle)), 1.7320508076 * math.sin(math.radians(angle)), 0.0]
    for angle in range(30, 390, 60)
]


@pytest.mark.parametrize("file", ["evaluator.py", "verify.py"])
def test_hexagons_are_held_by_the_smallest_outer_one_and_may_not_overlap_by_a_hair(tmp_path: Path, file: str) -> None:
    """Twelve hexagons of one direction: the flower of seven has side 3, five more stand in the ring around it."""
    opened = open_problem("hexagons-12", tmp_path / "hexagons")
    apart = 1.7320508076
    ring = [[3.0000000002 * math.cos(math.radians(angle)), 3.0000000002 * math.sin(math.radians(angle)), 0.0]
            for angle in range(0, 300, 60)]  # fmt: skip
    assert opened.objective([*HONEYCOMB, *ring], file=file) == pytest.approx(4.0, abs=1e-6)
    closer = moved([*HONEYCOMB, *ring], 1, 0, -1e-9)
    assert apart > ROOT_3
    assert "error" in opened.score(closer, file=file)


STEPS: Mapping[str, tuple[Callable[[int], list[float]], float]] = {
    "erdos-minimum-overlap": (lambda count: [0.5] * count, 0.5),
    "autocorrelation-1": (lambda count: [3.0] * count, 2.0),
    "autocorrelation-2": (lambda count: [3.0] * count, 2 / 3),
    "autocorrelation-3": (lambda count: [3.0] * count, 2.0),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("file", ["evaluator.py", "verify.py"])
def test_constant_function_scores_what_the_integral_says(tmp_path: Path, name: str, file: str) -> None:
    make, expected = STEPS[name]
    opened = open_problem(name, tmp_path / name)
    for count in (1, 2, 7, 40):
        assert opened.objective(make(count), file=file) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("file", ["evaluator.py", "verify.py"])
def test_traps_of_step_functions_gain_nothing(tmp_path: Path, file: str) -> None:
    first = open_problem("autocorrelation-1", tmp_path / "first")
    assert "error" in first.score([1.0, -1e-9, 1.0], file=file)
    overlap = open_problem("erdos-minimum-overlap", tmp_path / "overlap")
    assert "error" in overlap.score([1.0, 0.2, 0.2], file=file)
    assert overlap.objective([0.0, 1.0], file=file) == pytest.approx(1.0)
    third = open_problem("autocorrelation-3", tmp_path / "third")
    # The convolution of (2, -1) with itself is (4, -4, 1), and the sum of the steps is 1.
    assert third.objective([2.0, -1.0], file=file) == pytest.approx(2 * 2 * 4.0)
    # That of (3, -2) is (9, -12, 4): the largest value is 9, and -12 is larger in size.
    assert third.objective([3.0, -2.0], file=file) == pytest.approx(2 * 2 * 12.0)


STRASSEN = [
    [[1, 0, 0, 1], [1, 0, 0, 1], [1, 0, 0, 1]], [[0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 1, -1]],
    [[1, 0, 0, 0], [0, 1, 0, -1], [0, 1, 0, 1]], [[0, 0, 0, 1], [-1, 0, 1, 0], [1, 0, 1, 0]],
    [[1, 1, 0, 0], [0, 0, 0, 1], [-1, 1, 0, 0]], [[-1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]],
    [[0, 1, 0, -1], [0, 0, 1, 1], [1, 0, 0, 0]],
]  # fmt: skip


def twice(one: Sequence[int], two: Sequence[int]) -> list[int]:
    """The weights of a 4 x 4 matrix: a 2 x 2 matrix of blocks, each weighed inside."""
    return [one[2 * (i // 2) + j // 2] * two[2 * (i % 2) + j % 2] for i in range(4) for j in range(4)]


@pytest.mark.parametrize("file", ["evaluator.py", "verify.py"])
def test_strassens_rule_used_twice_takes_49_multiplications_and_a_wrong_weight_more(tmp_path: Path, file: str) -> None:
    opened = open_problem("matrix-multiplication-4x4x4", tmp_path / "scheme")
    terms = [[twice(a, b) for a, b in zip(one, two, strict=True)] for one in STRASSEN for two in STRASSEN]
    assert opened.objective(terms, file=file) == 49
    assert opened.objective([], file=file) == 64
    terms[5][0][3] += 1
    assert opened.objective(terms, file=file) > 49


def test_weights_of_a_scheme_are_whole_numbers(tmp_path: Path) -> None:
    opened = open_problem("matrix-multiplication-3x3x3", tmp_path / "scheme")
    assert "whole numbers" in opened.score([[[1.0] + [0] * 8, [1] * 9, [1] * 9]])["error"]


@pytest.mark.parametrize("file", ["evaluator.py", "verify.py"])
def test_roots_of_d11_kiss_and_a_coordinate_that_is_off_does_not(tmp_path: Path, file: str) -> None:
    opened = open_problem("kissing-11", tmp_path / "kissing")
    roots = [
        [first if place == a else second if place == b else 0 for place in range(11)]
        for a in range(11) for b in range(a) for first in (1, -1) for second in (1, -1)
    ]  # fmt: skip
    assert opened.objective(roots, file=file) == 220
    assert "error" in opened.score([*roots, roots[0]], file=file)
    assert "error" in opened.score([*roots[1:], [1.0, *roots[0][1:]]], file=file)


@pytest.mark.parametrize("file", ["evaluator.py", "verify.py"])
def test_three_numbers_have_seven_differences_and_six_sums(tmp_path: Path, file: str) -> None:
    opened = open_problem("sums-and-differences", tmp_path / "numbers")
    assert opened.objective([0, 1, 3], file=file) == pytest.approx(1 + math.log(7 / 6) / math.log(7), abs=1e-12)
    assert "error" in opened.score([0, 1, 1, 3], file=file)
    assert "error" in opened.score([1, 2, 4], file=file)


@pytest.mark.parametrize("file", ["evaluator.py", "verify.py"])
def test_equal_signs_have_the_largest_energy_and_zeros_are_refused(tmp_path: Path, file: str) -> None:
    opened = open_problem("low-autocorrelation-60", tmp_path / "signs")
    assert opened.objective([1] * 60, file=file) == sum(k * k for k in range(1, 60))
    assert "error" in opened.score([0] + [1] * 59, file=file)


@pytest.mark.parametrize("file", ["evaluator.py", "verify.py"])
def test_vectors_of_zeros_and_ones_are_a_cap_set_and_a_line_or_a_repeated_vector_is_found(
    tmp_path: Path, file: str
) -> None:
    opened = open_problem("cap-set-8", tmp_path / "cap")
    cap = [[number >> place & 1 for place in range(8)] for number in range(256)]
    assert opened.objective(cap, file=file) == 256
    assert "error" in opened.score([*cap, [2] * 8], file=file)
    assert "error" in opened.score([*cap, cap[7]], file=file)


def test_published_coefficients_bound_the_uncertainty_and_a_far_root_counts(tmp_path: Path) -> None:
    """AlphaEvolve's three coefficients give 0.3521. Two roots far out, which no sign between them shows, give more."""
    opened = open_problem("uncertainty-inequality", tmp_path / "polynomial")
    assert opened.objective([0.32925, -0.01159, -8.9216e-05]) == pytest.approx(0.3521, abs=1e-4)
    assert opened.objective([0.32925, -0.01159, -8.9216e-05, 1e-9, -1e-12]) > 0.3522
    assert "error" in opened.score([0.0, 0.0])


def test_chebyshevs_weights_give_his_bound_and_a_rare_x_above_1_is_found(tmp_path: Path) -> None:
    opened = open_problem("prime-number-theorem", tmp_path / "weights")
    chebyshev: list[list[float]] = [[2, -1], [3, -1], [5, -1], [30, 1]]
    expected = math.log(2) / 2 + math.log(3) / 3 + math.log(5) / 5 - math.log(30) / 30
    assert opened.objective(chebyshev) == pytest.approx(expected, abs=1e-9)
    assert opened.objective([*chebyshev, [7, -0.2]]) < expected
    assert "least common multiple" in opened.score([*chebyshev, [1009, -0.2], [997, 0.1], [991, 0.1]])["error"]


@pytest.mark.parametrize("file", ["evaluator.py", "verify.py"])
def test_network_without_one_of_its_comparators_does_not_sort(tmp_path: Path, file: str) -> None:
    opened = open_problem("sorting-network-12", tmp_path / "network")
    bubble = [[wire, wire + 1] for last in range(11, 0, -1) for wire in range(last)]
    assert opened.objective(bubble, file=file) == 66
    for left_out in (0, 30, 65):
        assert "error" in opened.score(bubble[:left_out] + bubble[left_out + 1 :], file=file)


BERLIN = (
    "1 49 32 45 19 41 8 9 10 43 33 51 11 52 14 13 47 26 27 28 12 25 4 6 15 5 24 48 38 37 40 39 36 35 34 44 46 16 29"
    " 50 20 23 30 2 7 42 21 17 3 18 31 22"
)


@pytest.mark.parametrize("file", ["evaluator.py", "verify.py"])
def test_published_tour_of_berlin_has_its_length_and_a_place_left_out_is_found(tmp_path: Path, file: str) -> None:
    opened = open_problem("tsp-berlin52", tmp_path / "tour")
    tour = [int(place) - 1 for place in BERLIN.split()]
    assert opened.objective(tour, file=file) == 7542
    assert "error" in opened.score(tour[:-1], file=file)
    assert "error" in opened.score([*tour[:-1], tour[0]], file=file)


def test_palmers_index_gives_its_published_makespan_and_a_job_twice_is_refused(tmp_path: Path) -> None:
    opened = open_problem("flow-shop-20x5", tmp_path / "shop")
    rows = opened.function("inputs")()[0][0]
    order = sorted(range(20), key=lambda job: -sum((2 * m - 4) * time for m, time in enumerate(rows[job])))
    assert opened.function("makespan")(order, rows) == 1384
    assert "error" in opened.score(*[[0, *range(19)]] * 5)


def test_best_fit_packs_as_known_and_a_table_with_a_hole_is_refused(tmp_path: Path) -> None:
    opened = open_problem("bin-packing-online", tmp_path / "bins")
    table = [[float(item - room) for room in range(item, 151)] for item in range(20, 101)]
    assert 3.0 < opened.objective(table) < 7.0  # FunSearch reports 5.4 % for such items
    assert "error" in opened.score([*table[:-1], table[-1][:-1]])
    assert "error" in opened.score([*table[:-1], [float("nan"), *table[-1][1:]]])


def test_the_reference_of_the_cluster_is_ahead_of_shortest_job_first(tmp_path: Path) -> None:
    opened = open_problem("cluster-scheduling", tmp_path / "cluster")
    problem, shortest = find_problem("cluster-scheduling"), [[0.0, 0.0, 0.0, -1.0, 0.0, 0.0]] * 3
    rows = re.findall(r"\[[^]]*\]", problem.known_best_source)
    assert opened.objective([json.loads(row) for row in rows]) == problem.known_best
    assert opened.objective(shortest) == pytest.approx(1.728557618)
    assert "error" in opened.score([[0.0] * 6] * 2)
    found = opened.function("slowdowns")([(0, 32, 10), (0, 32, 10), (5, 1, 20)], shortest)
    assert [float(slowdown) for slowdown in found] == [1.0, 2.0, 1.75]  # the last one waits for both


@pytest.mark.parametrize("name", [problem.name for problem in catalogue() if problem.family == "speed"])
def test_speed_counts_only_with_right_answers(tmp_path: Path, name: str) -> None:
    opened = open_problem(name, tmp_path / name)
    answers = list(opened.seed())
    slow, fast = (opened.objective(*answers, seconds=seconds) for seconds in (1.0, 0.001))
    assert fast > 100 * slow
    first = answers[0]
    wrong = first + 1 if isinstance(first, int) else [*first[:-1], first[-1] + 1] if isinstance(first, list) else None
    assert opened.score(wrong, *answers[1:], seconds=0.001)["error"] == "instance 0: the answer is wrong"


def check(folder: Path) -> dict[str, object]:
    said = call_here(["problem", "check", str(folder), "--json"], os.environ)
    report = json.loads(said.out)
    assert isinstance(report, dict)
    return report


def test_problem_of_the_catalogue_is_written_by_init_and_passes_its_check_in_the_sandbox(tmp_path: Path) -> None:
    folder = tmp_path / "circles"
    made = call_here(["problem", "init", str(folder), "--catalogue", "circles-26", "--json"], os.environ)
    assert made.code == 0
    assert {Path(path).name for path in json.loads(made.out)["files"]} >= {"problem.toml", "verify.py", "README.md"}
    report = check(folder)
    assert report["ok"], report["complaints"]
    assert find_problem("circles-26").trap in (folder / "README.md").read_text()


def test_catalogue_is_listed_and_shown(tmp_path: Path) -> None:
    listed = call_here(["problems", "--json"], os.environ)
    assert [json.loads(line)["name"] for line in listed.out.splitlines()] == NAMES
    shown = call_here(["problems", "circles-26"], os.environ)
    assert "2.6359830849" in shown.out
    assert "issue 183" in shown.out
    unknown = call_here(["problems", "circles-27"], os.environ)
    assert unknown.code == 3
    assert "see evolve problems" in unknown.err
    both = call_here(
        ["problem", "init", str(tmp_path / "new"), "--catalogue", "circles-26", "--domain", "maze"], os.environ
    )
    assert both.code == 2
