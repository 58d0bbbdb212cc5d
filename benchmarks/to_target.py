"""Evaluations until a target is reached, with the same policy: `python -m benchmarks.to_target`.

Evolve and OpenEvolve search on the same projects, each with its own defaults, and are answered by the same policy: the
syntax mutator behind a server (`benchmarks.mutator`), which changes the program that the prompt asks to improve. What
is counted is how many programs were evaluated after the seed until one reached the target. Evolve asks for one answer
a call, as OpenEvolve does, and for chains of four.

The problems are shipped examples; the target of each lies half of the way from its seed to its known best value. Both
were fixed before any run. A run that does not get there within its evaluations counts as if it had with the last one,
which favours whoever fails more often; how many those are is told.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import arguments, report
from benchmarks.mutator import Mutator
from benchmarks.openevolve import VERSION, environment, run_openevolve
from benchmarks.policy_server import ANSWERS, policy_server
from evolve.problem import Objective, Problem
from service.problems.load import load_problem

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
PROBLEMS = ("cap_set", "circle_packing", "function_minimisation", "low_autocorrelation", "sorting_network")
WAY = 0.5
DRAWS = 10_000
ROUNDING = 1e-9
EVALUATOR = '''
"""Scores a program by the example's own scorer, in [0, 1]; the program runs in a process of its own."""

import json
import subprocess
import sys
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


def evaluate(program_path):
    scores = scorer.score(outputs(program_path), Path(program_path).read_text())
    combined = 0.0 if "error" in scores else worth(scores)
    try:
        with (HERE / "scores.txt").open("a") as file:
            file.write(f"{{combined!r}}\\n")
    except OSError:
        pass  # a sandbox that lets nothing be written there keeps its own account
    return {{"combined_score": combined}}
'''
CONFIG = """
max_iterations: {evaluations}
random_seed: {seed}
diff_based_evolution: false
llm:
  api_base: "{url}"
  api_key: none
  models: [{{name: single, weight: 1.0}}]
  timeout: 60
evaluator:
  timeout: 20
  cascade_evaluation: false
  parallel_evaluations: {cores}
"""
POLICY = """
[[policies]]
name = "mutator"
kind = "openai"
base_url = "{url}"
model = "{model}"
format = "{format}"
answers = {answers}
samples = 1
concurrency = {cores}
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
    """An example as a project of OpenEvolve, which Evolve takes as it is."""
    problem = load_problem(EXAMPLES / example).problem
    objectives = [(one.name, *_ends(one), one.weight) for one in problem.objectives]
    folder.mkdir(parents=True)
    (folder / "initial_program.py").write_text(problem.seeds[0].text)
    (folder / "scorer.py").write_text((EXAMPLES / example / "evaluator.py").read_text())
    (folder / "evaluator.py").write_text(EVALUATOR.format(entry=problem.evaluator.entry, objectives=objectives))
    config = CONFIG.format(url=url, seed=seed, evaluations=evaluations, cores=cores)
    (folder / "config.yaml").write_text(config)
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


def theirs(task: Task, python: Path, home: Path, seed: int, options: Any) -> int | None:
    with policy_server(write=Mutator(seed)) as url:
        project = write_project(home / "project", task.name, url, seed, options.evaluations, options.cores)

        def enough() -> bool:
            return reached(scores_of(project), task.target) is not None

        run_openevolve(python, project, home / "out", options.evaluations, options.limit, enough)
    return reached(scores_of(project)[: options.evaluations + 1], task.target)


def ours(task: Task, model: str, home: Path, seed: int, options: Any) -> int | None:
    with policy_server(write=Mutator(seed)) as url:
        project = write_project(home / "project", task.name, url, seed, options.evaluations, options.cores)
        shape = {"format": "single" if model == "single" else "tags:answer", "answers": ANSWERS[model]}
        (home / "policy.toml").write_text(POLICY.format(url=url, model=model, cores=options.cores, **shape))
        command = [
            sys.executable, "-m", "service.cli.main", "run", str(project), "--json", "--seed", str(seed),
            "--db", f"sqlite:///{home / 'evolve.db'}", "--workers", str(options.cores),
            "--evaluations", str(options.evaluations + 1), "--set", f"budget.target={task.target!r}",
            "--policy", str(home / "policy.toml"),
        ]  # fmt: skip
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
        done = subprocess.run(command, capture_output=True, text=True, env=kept, timeout=options.limit, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    scores = [line["fitness"] or 0.0 for line in lines if line["kind"] == "candidate.evaluated"]
    if not scores:
        raise SystemExit(f"evolve run evaluated nothing: {done.stderr[-2000:]}")
    return reached(scores, task.target)


def geometric(counts: Mapping[str, Sequence[int | None]], base: Mapping[str, Sequence[int | None]], last: int) -> Any:
    """Geometric mean over problems and seeds of the ratio to the base, with a bootstrap interval over seeds."""
    filled = [np.log([[count or last for count in one[name]] for name in base]) for one in (counts, base)]
    logs = filled[0] - filled[1]
    rng = np.random.default_rng(0)
    seeds = logs.shape[1]
    drawn = rng.integers(seeds, size=(DRAWS, len(logs), seeds))
    means = np.take_along_axis(logs[None], drawn, axis=2).mean(axis=(1, 2))
    low, high = np.exp(np.percentile(means, [2.5, 97.5]))
    mean, by_problem = float(np.exp(logs.mean())), np.exp(logs.mean(axis=1))
    return {
        "ratio": round(mean, 3),
        "interval_95": [round(float(low), 3), round(float(high), 3)],
        "by_problem": {name: round(float(one), 3) for name, one in zip(base, by_problem, strict=True)},
    }


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=500, help="after the seed, at most")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--cores", type=int, default=2, help="evaluations and calls at once")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds after which a run is stopped")
    parser.add_argument("--environment", type=Path, default=Path(".venv-openevolve"))
    options = parser.parse_args()
    python = environment(options.environment.absolute())
    base = f"OpenEvolve {VERSION}"
    found: dict[str, dict[str, list[int | None]]] = {}
    with tempfile.TemporaryDirectory(prefix="evolve-benchmark-") as name:
        home = Path(name)
        tasks = [task_of(example, python, home) for example in options.problems]
        for seed in range(options.seeds):
            for task in tasks:
                for number, title in enumerate((base, "Evolve, one answer a call", "Evolve, chains of 4")):
                    (own := home / f"{task.name}-{seed}-{number}").mkdir()
                    model = ("", "single", "chain")[number]
                    count = ours(task, model, own, seed, options) if model else theirs(task, python, own, seed, options)
                    found.setdefault(title, {}).setdefault(task.name, []).append(count)
    figures = {
        "openevolve": VERSION,
        "evaluations": options.evaluations,
        "targets": {task.name: {"seed": task.seed, "target": task.target} for task in tasks},
        "reached_after": found,
        "to_openevolve": {
            title: geometric(counts, found[base], options.evaluations)
            for title, counts in found.items()
            if title != base
        },
    }
    report("to_target", figures, options.out)


if __name__ == "__main__":
    main()
