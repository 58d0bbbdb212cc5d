"""The examples, each checked as a newcomer would: loaded, its seed run in the sandbox, scored."""

import json
import math
import os
import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

from evolve.evaluation import fitness, read_result
from service.problems.configuration import read_config
from service.problems.init import init_problem
from service.problems.load import load_problem
from tests.command_line import call_here

EXAMPLES = Path(__file__).parents[3] / "examples"


def check(folder: Path) -> dict[str, Any]:
    said = call_here(["problem", "check", str(folder), "--json"], os.environ)
    report = json.loads(said.out)
    assert isinstance(report, dict)
    assert report["ok"], report["complaints"]
    assert said.code == 0
    return report


@pytest.mark.parametrize(
    ("name", "seed_fitness"),
    [
        ("circle_packing", 2.1931), ("openevolve_function", 0.8440), ("two_files", -7.7677), ("maze", 0.4524),
        ("function_minimisation", -1.2695), ("bin_packing", -4.4081), ("sorting_network", 0.6687),
        ("low_autocorrelation", 3.1057), ("symbolic_regression", 0.2151), ("cap_set", 69.0), ("flow_shop", -9.2379),
    ],
)  # fmt: skip
def test_example_passes_its_check_and_its_seed_scores_what_its_readme_says(name: str, seed_fitness: float) -> None:
    report = check(EXAMPLES / name)
    assert report["seeds"][0]["fitness"] == pytest.approx(seed_fitness, abs=2e-4)
    assert f"{abs(seed_fitness):.4f}".rstrip("0").rstrip(".") in (EXAMPLES / name / "README.md").read_text()
    read_config([(name, load_problem(EXAMPLES / name).search)])


def test_every_example_has_a_readme_with_its_figure_a_known_best_and_a_line_in_the_table() -> None:
    table = (EXAMPLES / "README.md").read_text()
    for folder in sorted(path for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "notebooks"):
        readme = (folder / "README.md").read_text()
        assert f"]({folder.name}/README.md)" in table
        assert "known best" in readme.lower()
        assert f"evolve run examples/{folder.name}" in readme
        (figure,) = re.findall(r"!\[[^]]+\]\(([^)]+\.svg)\)", readme)
        assert (folder / figure).read_text().startswith("<svg ")
        if (folder / "problem.toml").exists() and folder.name != "maze":  # a maze's known best is computed
            loaded = load_problem(folder).problem
            assert loaded.known_best is not None
            assert loaded.known_best_source


def test_new_problem_passes_its_check_in_the_sandbox(tmp_path: Path) -> None:
    init_problem(tmp_path / "hill")
    assert check(tmp_path / "hill")["seeds"][0]["scores"] == {"loss": 12.5}


def test_openevolve_example_names_what_is_not_honoured() -> None:
    loaded = load_problem(EXAMPLES / "openevolve_function")
    assert [warning.split()[1] for warning in loaded.warnings] == ["checkpoint_interval", "database.archive_size"]
    assert [policy["api_key_env"] for policy in loaded.policies] == ["OPENAI_API_KEY"]


def test_known_best_of_the_openevolve_example_is_reached_where_it_is_said_to_lie(tmp_path: Path) -> None:
    project = shutil.copytree(EXAMPLES / "openevolve_function", tmp_path / "project")
    x = -4 * math.pi / 3 + 0.5
    answer = f"def run_search(function, seed):\n    return {x!r}, {x - 1!r}, function({x!r}, {x - 1!r})\n"
    (project / "initial_program.py").write_text(answer)
    assert check(project)["seeds"][0]["fitness"] == pytest.approx(1.0, abs=1e-9)


def circles(value: object) -> dict[str, Any]:
    scorer = runpy.run_path(str(EXAMPLES / "circle_packing" / "evaluator.py"))
    result = scorer["score"]([{"value": value, "seconds": 0.0, "error": None}], "")
    assert isinstance(result, dict)
    return result


def grid() -> list[list[float]]:
    """25 circles of radius 1/16 that touch (every number a dyadic fraction, so exactly), and one in a corner's gap."""
    return [[(2 * i + 1) / 16, (2 * j + 1) / 16, 1 / 16] for i in range(5) for j in range(5)] + [[0.75, 0.75, 0.125]]


def test_circles_that_touch_are_a_packing() -> None:
    assert circles(grid())["sum_radii"] == 25 / 16 + 0.125


@pytest.mark.parametrize("index", [0, 12, 24])
def test_overlap_by_the_smallest_float_is_refused(index: int) -> None:
    packing = grid()
    packing[index][2] = math.nextafter(packing[index][2], 1)
    assert "overlap" in circles(packing)["error"] or "sticks out" in circles(packing)["error"]


def test_leaving_the_square_by_the_smallest_float_is_refused() -> None:
    packing = grid()
    packing[0][0] = math.nextafter(packing[0][0], 0)
    assert circles(packing)["error"] == "circle 0 sticks out of the square"


@pytest.mark.parametrize(
    "value",
    [
        None, "text", [], grid()[:25], [*grid(), [0.9, 0.9, 0.0]], [[0.5, 0.5]] * 26, [[0.5, 0.5, True]] * 26,
        [[0.5, 0.5, float("nan")]] * 26, [[0.5, 0.5, float("inf")]] * 26, [[0.5, 0.5, "0.1"]] * 26,
        [[0.5, 0.5, -0.1]] * 26, [[0.5, 0.5, 10**400]] * 26, [[0.5, 0.5, 0.5]] * 26,
    ],
)  # fmt: skip
def test_what_is_no_packing_is_refused_with_a_sentence(value: object) -> None:
    result = circles(value)
    assert set(result) == {"error"}
    assert result["error"]


def test_sum_of_a_packing_is_that_of_the_library() -> None:
    loaded = load_problem(EXAMPLES / "circle_packing")
    evaluation = read_result(circles(grid()), loaded.problem)
    assert fitness(loaded.problem, evaluation) == 25 / 16 + 0.125
    assert evaluation.measures["spread"] == pytest.approx(math.sqrt(25) / 26 / 16)
