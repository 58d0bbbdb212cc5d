"""The examples, each run as a newcomer would find it: loaded, its seed run in a process of its own, scored."""

import json
import math
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evolve.evaluation import Evaluation, fitness, read_result
from evolve.problem import Integrity
from evolve.program import Program
from service.problems.check import check_problem
from service.problems.configuration import read_config
from service.problems.load import LoadedProblem, load_problem

EXAMPLES = Path(__file__).parents[3] / "examples"
CALL = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
entry = getattr(importlib.import_module(sys.argv[2]), sys.argv[3])
print(json.dumps([{"value": entry(*args), "seconds": 0.0, "error": None} for args in json.load(sys.stdin)]))
"""
SHARED = """
import json, pathlib, sys, types
from dataclasses import dataclass, field
@dataclass
class EvaluationResult:
    metrics: dict
    artifacts: dict = field(default_factory=dict)
package, module = types.ModuleType("openevolve"), types.ModuleType("openevolve.evaluation_result")
module.EvaluationResult = EvaluationResult
sys.modules |= {"openevolve": package, "openevolve.evaluation_result": module}
sys.path.insert(0, sys.argv[1])
import evaluator
for function in (evaluator.evaluate_stage1, evaluator.evaluate_stage2):
    result = function(sys.argv[2])
print(json.dumps({**result.metrics, "artifacts": result.artifacts}))
"""


def python(script: str, *arguments: str, given: object = None) -> Any:
    command = [sys.executable, "-B", "-c", script, *arguments]
    ended = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=True, timeout=60)
    return json.loads(ended.stdout)


def evaluator_of(loaded: LoadedProblem, scratch: Path) -> Callable[[Program], Any]:
    problem = loaded.problem

    async def evaluate(program: Program) -> Evaluation:
        for path, text in program.files:
            (scratch / path).write_text(text)
        main = problem.main or program.files[0][0]
        if problem.evaluator.integrity is Integrity.SHARED:
            return read_result(python(SHARED, str(loaded.folder), str(scratch / main)), problem)
        scorer = runpy.run_path(str(loaded.folder / problem.evaluator.file))
        calls = scorer["inputs"]() if "inputs" in scorer else [[]]
        outputs = python(CALL, str(scratch), Path(main).stem, problem.evaluator.entry, given=calls)
        return read_result(scorer["score"](outputs, dict(program.files)), problem)

    return evaluate


@pytest.mark.parametrize(
    ("name", "seed_fitness"), [("circle_packing", 2.1931), ("openevolve_function", 0.8440), ("two_files", -7.7677)]
)
async def test_example_passes_its_check_and_its_seed_scores_what_its_readme_says(
    tmp_path: Path, name: str, seed_fitness: float
) -> None:
    loaded = load_problem(EXAMPLES / name)
    report = await check_problem(loaded, evaluator_of(loaded, tmp_path))
    assert report.ok, report.complaints
    assert report.seeds[0].fitness == pytest.approx(seed_fitness, abs=2e-4)
    assert f"{abs(seed_fitness):.4f}".rstrip("0") in (EXAMPLES / name / "README.md").read_text()
    read_config([(name, loaded.search)])


def test_openevolve_example_names_what_is_not_honoured() -> None:
    loaded = load_problem(EXAMPLES / "openevolve_function")
    assert [warning.split()[1] for warning in loaded.warnings] == ["checkpoint_interval", "database.archive_size"]
    assert loaded.policy is not None
    assert loaded.policy["api_key_env"] == "OPENAI_API_KEY"


def test_known_lowest_point_of_the_openevolve_example(tmp_path: Path) -> None:
    centre = tmp_path / "best.py"
    x = -4 * math.pi / 3 + 0.5
    centre.write_text(f"def run_search(function, seed):\n    return {x!r}, {x - 1!r}, function({x!r}, {x - 1!r})\n")
    result = python(SHARED, str(EXAMPLES / "openevolve_function"), str(centre))
    assert result["combined_score"] == pytest.approx(1.0, abs=1e-9)


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
