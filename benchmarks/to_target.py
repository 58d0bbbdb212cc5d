"""Evaluations until a target is reached, with the same policy: `python -m benchmarks.to_target`.

Evolve, OpenEvolve and ShinkaEvolve search on the same projects (`benchmarks.tasks`), each with its own defaults, and
are answered by the same policy: the syntax mutator behind a server (`benchmarks.mutator`), which changes the program
that the prompt asks to improve. What is counted is how many programs were evaluated after the seed until one reached
the target. Evolve asks for one answer a call, as the others do, for chains of four, and for those with the built-in
tuner beside the mutator, whose programs count as the rest.

A run that does not get there within its evaluations counts as if it had with the last one, which favours whoever fails
more often; how many those are is told. It takes hours: with `--keep` each result is kept in a file, and what stands
there is not measured again.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import openevolve, shinka
from benchmarks.counts import Kept, geometric
from benchmarks.evolve_runs import run_evolve, served
from benchmarks.harness import arguments, report
from benchmarks.mutator import Mutator
from benchmarks.policy_server import policy_server
from benchmarks.tasks import PROBLEMS, Task, reached, scores_of, task_of, write_problem, write_project

OPENEVOLVE, SHINKA = f"OpenEvolve {openevolve.VERSION}", f"ShinkaEvolve {shinka.VERSION}"
# By title: the model of the policy server, and whether the tuner is beside it.
EVOLVE = {
    "Evolve, one answer a call": ("single", False),
    "Evolve, chains of 4": ("chain", False),
    "Evolve, chains of 4 with the tuner": ("chain", True),
}

# A task, a folder of its own, a seed, the options; evaluations until the target, None where it was not reached.
Run = Callable[[Task, Path, int, Any], int | None]
Counts = dict[str, dict[str, list[int | None]]]


def by_openevolve(python: Path) -> Run:
    def run(task: Task, home: Path, seed: int, options: Any) -> int | None:
        with policy_server(write=Mutator(seed)) as url:
            iterations = openevolve.SPARE * options.evaluations
            project = write_project(home / "project", task.name, url, seed, iterations, options.cores)
            enough = _enough(project, task, options.evaluations)
            ran = openevolve.run_openevolve(python, project, home / "out", iterations, options.limit, enough)
        _refuse_late(ran.in_time)
        return reached(scores_of(project)[: options.evaluations + 1], task.target)

    return run


def by_shinka(python: Path) -> Run:
    def run(task: Task, home: Path, seed: int, options: Any) -> int | None:
        with policy_server(write=Mutator(seed)) as url:
            project = write_project(home / "project", task.name)
            in_time = shinka.run_shinka(
                python, project, url, home / "out", options.evaluations, options.cores, options.limit,
                _enough(project, task, options.evaluations),
            )  # fmt: skip
        _refuse_late(in_time)
        return reached(shinka.evaluated(project, home / "out")[: options.evaluations + 1], task.target)

    return run


def _refuse_late(in_time: bool) -> None:
    if not in_time:
        raise SystemExit("a run took longer than --limit and says nothing: give it more time")


def _enough(project: Path, task: Task, evaluations: int) -> Callable[[], bool]:
    def enough() -> bool:
        scores = scores_of(project)
        return len(scores) > evaluations or reached(scores, task.target) is not None

    return enough


def by_evolve(model: str, *, tuner: bool) -> Run:
    def run(task: Task, home: Path, seed: int, options: Any) -> int | None:
        with policy_server(write=Mutator(seed)) as url:
            project = write_problem(home / "project", task.name)
            words = ["--evaluations", str(options.evaluations + 1), "--set", f"budget.target={task.target!r}"]
            policies = served(url, options.cores, model, tuner=tuner)
            return reached(run_evolve(project, policies, seed, options.cores, words, options.limit), task.target)

    return run


def race(tasks: Sequence[Task], systems: Mapping[str, Run], home: Path, options: Any) -> Counts:
    """Evaluations to the target by system, task and seed; seed by seed, the systems in turn."""
    kept = Kept[int | None](options.keep, "count")
    found: Counts = {system: {task.name: [] for task in tasks} for system in systems}
    for seed in range(options.seeds):
        for task in tasks:
            for system, run in systems.items():
                with tempfile.TemporaryDirectory(dir=home) as own:
                    measure = partial(run, task, Path(own), seed, options)
                    measured = {"system": system, "task": task.name, "target": task.target, "seed": seed}
                    found[system][task.name].append(kept.result(measured, measure))
    return found


def ratios(found: Counts, base: str, last: int) -> dict[str, Any]:
    """Each system of ours against another."""
    return {title: geometric(found[title], found[base], last) for title in EVOLVE}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=500, help="after the seed, at most")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--cores", type=int, default=2, help="evaluations and calls at once")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds that a run may take")
    parser.add_argument("--keep", type=Path, help="a file that keeps each result; what stands there is not run again")
    parser.add_argument("--openevolve", type=Path, default=Path(".venv-openevolve"), help="its environment")
    parser.add_argument("--shinka", type=Path, default=Path(".venv-shinka"), help="its environment")
    options = parser.parse_args()
    python = openevolve.install_openevolve(options.openevolve.absolute())
    systems = {
        OPENEVOLVE: by_openevolve(python),
        SHINKA: by_shinka(shinka.install_shinka(options.shinka.absolute())),
        **{title: by_evolve(model, tuner=tuner) for title, (model, tuner) in EVOLVE.items()},
    }
    with tempfile.TemporaryDirectory(prefix="evolve-benchmark-") as name:
        tasks = [task_of(example, python, Path(name)) for example in options.problems]
        found = race(tasks, systems, Path(name), options)
    figures = {
        "evaluations": options.evaluations,
        "targets": {task.name: {"seed": task.seed, "target": task.target} for task in tasks},
        "reached_after": found,
        "not_reached": {
            title: {name: counts.count(None) for name, counts in of.items()} for title, of in found.items()
        },
        "ratios": {f"to {base}": ratios(found, base, options.evaluations) for base in (OPENEVOLVE, SHINKA)},
    }
    report("to_target", figures, options.out)


if __name__ == "__main__":
    main()
