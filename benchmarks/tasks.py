"""Tasks for benchmarks: shipped examples with a target each, as projects that every system can take.

The target of each lies half of the way from its seed to its known best value; problems and targets were fixed before
any run.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.openevolve import write_config
from evolve.problem import Objective, Problem
from service.problems.load import load_problem

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
PROBLEMS = ("cap_set", "circle_packing", "function_minimisation", "low_autocorrelation", "sorting_network")
WAY = 0.5
ROUNDING = 1e-9
EVALUATOR = '''
"""Scores a program by the example's own scorer, in [0, 1]; the program runs in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import scorer

ENTRY = {entry!r}
OBJECTIVES = {objectives!r}
PROGRAM = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("program", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print("\\\\n" + json.dumps(getattr(module, sys.argv[2])()))
"""


def outputs(path):
    command = [sys.executable, "-c", PROGRAM, path, ENTRY]
    try:
        done = subprocess.run(command, capture_output=True, timeout=5, check=True)
        return [{{"value": json.loads(done.stdout.splitlines()[-1]), "seconds": 0.0, "error": None}}]
    except (OSError, ValueError, IndexError, subprocess.SubprocessError) as error:
        return [{{"value": None, "seconds": 0.0, "error": str(error)}}]


def worth(scores):
    total = sum(weight for _, _, _, weight in OBJECTIVES)
    parts = [weight * (scores[name] - worst) / (best - worst) for name, worst, best, weight in OBJECTIVES]
    return max(0.0, sum(parts) / total)


def examine(program_path):
    scores = scorer.score(outputs(program_path), Path(program_path).read_text())
    error = str(scores["error"]) if "error" in scores else None
    combined = worth(scores) if error is None else 0.0
    try:
        with (HERE / "scores.txt").open("a") as file:
            file.write(f"{{combined!r}}\\n")
    except OSError:
        pass  # a sandbox that lets nothing be written there keeps its own account
    return combined, error


def evaluate(program_path):
    return {{"combined_score": examine(program_path)[0]}}
'''

PROBLEM = """
schema = 1
name = "{name}"
seeds = ["initial_program.py"]

[evaluator]
integrity = "shared"

[limits]
memory_mb = 4096

[[objectives]]
name = "combined_score"
direction = "maximize"
low = 0.0
high = 1.0
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A problem with its target, in the terms of its evaluator."""

    name: str
    problem: Problem
    seed: float
    target: float


def worth(objective: Objective, value: float) -> float:
    """0 at the worst end of an objective's bounds, 1 at the best."""
    worst, best = _ends(objective)
    return (value - worst) / (best - worst)


def _ends(objective: Objective) -> tuple[float, float]:
    assert objective.low is not None
    assert objective.high is not None
    low, high = objective.low, objective.high
    return (low, high) if objective.direction == "maximize" else (high, low)


def write_project(
    folder: Path, example: str, url: str = "", seed: int = 0, evaluations: int = 1, cores: int = 1
) -> Path:
    """An example as a project of OpenEvolve."""
    problem = load_problem(EXAMPLES / example).problem
    objectives = [(one.name, *_ends(one), one.weight) for one in problem.objectives]
    folder.mkdir(parents=True)
    (folder / "initial_program.py").write_text(problem.seeds[0].text)
    (folder / "scorer.py").write_text((EXAMPLES / example / "evaluator.py").read_text())
    (folder / "evaluator.py").write_text(EVALUATOR.format(entry=problem.evaluator.entry, objectives=objectives))
    write_config(folder, url, evaluations, cores, seed=seed)
    return folder


def write_problem(folder: Path, example: str) -> Path:
    """The same project as a problem of Evolve: its evaluator is the project's, and nothing is said of the search."""
    write_project(folder, example)
    (folder / "problem.toml").write_text(PROBLEM.format(name=example))
    return folder


def task_of(example: str, python: Path, home: Path) -> Task:
    """Evaluates the seed to see where the target lies."""
    problem = load_problem(EXAMPLES / example).problem
    project = write_project(home / f"seed-{example}", example)
    subprocess.run(
        [python, "-c", "import evaluator; evaluator.evaluate('initial_program.py')"], cwd=project, check=True
    )
    (seed,) = scores_of(project)
    assert problem.known_best is not None
    single = len(problem.objectives) == 1
    best = worth(problem.objectives[0], problem.known_best) if single else problem.known_best
    return Task(name=example, problem=problem, seed=seed, target=seed + WAY * (best - seed))


def scores_of(project: Path) -> list[float]:
    path = project / "scores.txt"
    return [float(line) for line in path.read_text().splitlines()] if path.exists() else []


def reached(scores: Sequence[float], target: float) -> int | None:
    """Evaluations after the seed, which stands first, until a score is at the target."""
    return next((place for place, score in enumerate(scores) if place and score >= target - ROUNDING), None)
