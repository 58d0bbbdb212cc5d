"""Every problem of the catalogue, by Evolve and by OpenEvolve with one policy: `python -m benchmarks.catalogue`.

Both search the same project with the same budget, seed by seed and in turn: the built-in mutator behind a policy server
writes whole programs, one answer a call. Nothing of the search is set but budget and seed. The table has the best
score of each, its gap to the best known value, the share of the way there from the seed, evaluations and time.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import openevolve
from benchmarks.counts import Kept
from benchmarks.harness import arguments, report
from benchmarks.mutator import Mutator
from benchmarks.policy_server import policy_server
from benchmarks.tasks import PROBLEM, scores_of
from evolve.problem import Direction, Objective
from service.problems.catalogue import catalogue, init_from_catalogue
from service.problems.load import load_problem

NAMES = tuple(problem.name for problem in catalogue())
DIGITS = 11  # of a score: the scale to [0, 1] and back leaves so many right
CLOSING_SECONDS = 120.0
OURS, THEIRS = "Evolve", f"OpenEvolve {openevolve.VERSION}"
EVALUATOR = '''
"""Scores a program by the problem's own scorer, in [0, 1]; the program runs in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "evolve_imports")]
import scorer

ENTRY, NAME, WORST, BEST, SECONDS = {entry!r}, {name!r}, {worst!r}, {best!r}, {seconds!r}
INPUTS = scorer.inputs() if hasattr(scorer, "inputs") else [[]]
PROGRAM = """
import importlib.util, json, sys, time
spec = importlib.util.spec_from_file_location("program", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
outputs = []
for arguments in json.load(sys.stdin):
    start = time.perf_counter()
    value = getattr(module, sys.argv[2])(*arguments)
    outputs.append(dict(value=value, seconds=time.perf_counter() - start, error=None))
print("\\\\n" + json.dumps(outputs))
"""


def outputs(path):
    command = [sys.executable, "-c", PROGRAM, path, ENTRY]
    try:
        done = subprocess.run(
            command, input=json.dumps(INPUTS).encode(), capture_output=True, timeout=SECONDS, check=True
        )
        return json.loads(done.stdout.splitlines()[-1])
    except (OSError, ValueError, IndexError, subprocess.SubprocessError) as error:
        return [dict(value=None, seconds=0.0, error=str(error)) for _ in INPUTS]


def evaluate(program_path):
    scores = scorer.score(outputs(program_path), {{}})
    combined = 0.0 if "error" in scores else max(0.0, (scores[NAME] - WORST) / (BEST - WORST))
    try:
        with (HERE / "scores.txt").open("a") as file:
            file.write(f"{{combined!r}}\\n")
    except OSError:
        pass  # a sandbox that lets nothing be written there keeps its own account
    return {{"combined_score": combined}}
'''
Result = dict[str, float]
POLICY = """
[[policies]]
name = "mutator"
kind = "openai"
base_url = "{url}"
model = "single"
format = "single"
answers = 1
samples = 1
concurrency = {cores}
"""


def write_project(folder: Path, name: str, url: str, seed: int, options: Any) -> Path:
    """A problem of the catalogue as a project of OpenEvolve, and as a problem of Evolve that says nothing else."""
    init_from_catalogue(folder, name)
    problem = load_problem(folder).problem
    (objective,) = problem.objectives
    worst, best = _ends(objective)
    (folder / "evaluator.py").rename(folder / "scorer.py")
    (folder / "verify.py").unlink(missing_ok=True)
    text = EVALUATOR.format(
        entry=problem.evaluator.entry, name=objective.name, worst=worst, best=best, seconds=problem.limits.wall_seconds
    )
    (folder / "evaluator.py").write_text(text)
    (folder / "problem.toml").write_text(PROBLEM.format(name=name))
    openevolve.write_config(folder, url, options.evaluations, options.cores, seed=seed)
    return folder


def _ends(objective: Objective) -> tuple[float, float]:
    assert objective.low is not None
    assert objective.high is not None
    ends = objective.low, objective.high
    return ends if objective.direction is Direction.MAXIMIZE else ends[::-1]


def by_openevolve(python: Path, name: str, seed: int, home: Path, options: Any) -> list[float]:
    """The scores of a run in order, the seed's first, in [0, 1]."""
    with policy_server(write=Mutator(seed)) as url:
        project = write_project(home / "project", name, url, seed, options)
        openevolve.run_openevolve(python, project, home / "out", options.evaluations, options.limit)
    return scores_of(project)


def by_evolve(name: str, seed: int, home: Path, options: Any) -> list[float]:
    """The scores of a run in order, the seed's first, in [0, 1]."""
    with policy_server(write=Mutator(seed)) as url:
        project = write_project(home / "project", name, url, seed, options)
        (home / "policy.toml").write_text(POLICY.format(url=url, cores=options.cores))
        command = [
            sys.executable, "-m", "service.cli.main", "run", str(project), "--json", "--seed", str(seed),
            "--db", f"sqlite:///{home / 'evolve.db'}", "--workers", str(options.cores),
            "--evaluations", str(options.evaluations + 1), "--policy", str(home / "policy.toml"),
            "--wall-seconds", str(options.limit),
        ]  # fmt: skip
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "PYTHONPATH") if key in os.environ}
        seconds = options.limit + CLOSING_SECONDS
        done = subprocess.run(command, capture_output=True, text=True, env=kept, timeout=seconds, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    scores = [line["fitness"] or 0.0 for line in lines if line["kind"] == "candidate.evaluated"]
    if not scores:
        raise SystemExit(f"evolve run evaluated nothing: {done.stderr[-2000:]}")
    return scores


def race(options: Any, home: Path, python: Path | None) -> dict[str, dict[str, list[Result]]]:
    """What each run reached, by system, problem and seed; runs that would begin too late are missing."""
    systems = {OURS: by_evolve, **({THEIRS: partial(by_openevolve, python)} if python is not None else {})}
    kept = Kept[Result](options.keep, "result")
    found: dict[str, dict[str, list[Result]]] = {system: {} for system in systems}
    end = time.monotonic() + options.total
    for seed in range(options.seeds):
        for name in options.problems:
            for system, run in systems.items():
                measured = {"system": system, "problem": name, "seed": seed, "evaluations": options.evaluations}
                if time.monotonic() < end or kept.knows(measured):
                    result = kept.result(measured, partial(_measure, run, name, seed, home, options))
                    found[system].setdefault(name, []).append(result)
    return found


def _measure(run: Any, name: str, seed: int, home: Path, options: Any) -> Result:
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=home) as own:
        scores = run(name, seed, Path(own), options)[: options.evaluations + 1]
    seconds = round(time.monotonic() - start, 1)
    return {"seed": scores[0], "best": max(scores), "evaluations": len(scores), "seconds": seconds}


def table(found: Mapping[str, Mapping[str, Sequence[Result]]], evaluations: int, home: Path) -> list[dict[str, Any]]:
    """A row for each problem: what each system reached, in the unit of the problem.

    Args:
        found: results by system and problem.
        evaluations: the budget after the seed; a run of fewer was cut off.
        home: a folder for the problems.
    """
    rows = []
    for name in dict.fromkeys(name for by_problem in found.values() for name in by_problem):
        init_from_catalogue(home / f"facts-{name}", name)
        problem = load_problem(home / f"facts-{name}").problem
        (objective,) = problem.objectives
        row: dict[str, Any] = {"problem": name, "known_best": problem.known_best}
        for system, by_problem in found.items():
            if results := by_problem.get(name, ()):
                row.setdefault("seed", _in_unit(objective, results[0]["seed"]))
                columns = _columns(objective, problem.known_best, results, evaluations)
                row |= {f"{system}: {column}": value for column, value in columns.items()}
        rows.append(row)
    return rows


def _columns(
    objective: Objective, known_best: float | None, results: Sequence[Result], evaluations: int
) -> dict[str, Any]:
    worst, best = _ends(objective)
    reached = _in_unit(objective, max(result["best"] for result in results))
    known = None if known_best is None else (known_best - worst) / (best - worst)
    ways = [] if known is None else [_way(result["seed"], result["best"], known) for result in results]
    return {
        "runs": len(results),
        "best": reached,
        "median": _in_unit(objective, statistics.median(result["best"] for result in results)),
        "gap": None if known_best is None else _rounded(abs(known_best - reached)),
        "way": round(statistics.mean(ways), 3) if ways else None,
        "evaluations": sum(int(result["evaluations"]) for result in results),
        "cut_off": sum(result["evaluations"] <= evaluations for result in results),
        "seconds": round(statistics.mean(result["seconds"] for result in results), 1),
    }


def _in_unit(objective: Objective, share: float) -> float:
    worst, best = _ends(objective)
    return _rounded(worst + share * (best - worst))


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _way(seed: float, best: float, known: float) -> float:
    """The share of the way from the seed to the best known value."""
    return (best - seed) / (known - seed) if known != seed else 1.0


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--evaluations", type=int, default=2000, help="after the seed")
    parser.add_argument("--problems", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME")
    parser.add_argument("--cores", type=int, default=2, help="evaluations and calls at once")
    parser.add_argument("--limit", type=float, default=7200.0, help="seconds that a run may take")
    parser.add_argument("--total", type=float, default=math.inf, help="seconds after which no further run begins")
    parser.add_argument("--keep", type=Path, help="a file that keeps each result; what stands there is not run again")
    parser.add_argument("--alone", action="store_true", help="without OpenEvolve")
    parser.add_argument("--openevolve", type=Path, default=Path(".venv-openevolve"), help="its environment")
    options = parser.parse_args()
    python = None if options.alone else openevolve.install_openevolve(options.openevolve.absolute())
    with tempfile.TemporaryDirectory(prefix="evolve-benchmark-") as name:
        found = race(options, Path(name), python)
        rows = table(found, options.evaluations, Path(name))
    figures = {"evaluations": options.evaluations, "seeds": options.seeds, "problems": rows}
    report("catalogue", figures, options.out)


if __name__ == "__main__":
    main()
