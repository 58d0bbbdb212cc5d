"""The catalogue: seeds score, constructions score what is known, and the trap of each problem gains nothing."""

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from service.problems.catalogue import catalogue, find_problem
from service.problems.configuration import read_config
from service.problems.load import load_problem
from tests.catalogue_scoring import open_problem
from tests.command_line import call_here

NAMES = [problem.name for problem in catalogue()]
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
    score = opened.objective(*opened.seed())
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
