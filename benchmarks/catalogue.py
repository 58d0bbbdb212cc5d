"""Every problem of the catalogue, by Evolve and by others with one policy: `python -m benchmarks.catalogue`.

Evolve, Evolve with the built-in tuner beside the mutator, OpenEvolve and ShinkaEvolve search the same project with the
same budget, seed by seed and in turn (`benchmarks.catalogue_systems`). The table has the best score of each, its gap to
the best known value, the share of the way there from the seed, evaluations and time. Then each system of Evolve is
compared with each of the others: on how many problems its mean over the seeds is ahead, and how soon it is where the
other ends.
"""

import math
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

from benchmarks.bandits import improvements
from benchmarks.catalogue_comparison import compared
from benchmarks.catalogue_systems import OURS, PEERS, TITLES, Run, ends, systems
from benchmarks.counts import Kept
from benchmarks.exploration import Steps
from benchmarks.harness import arguments, report
from evolve.problem import Objective
from service.problems.catalogue import catalogue, init_from_catalogue
from service.problems.load import load_problem

NAMES = tuple(problem.name for problem in catalogue())
DIGITS = 11  # of a score: the scale to [0, 1] and back leaves so many right


class Result(TypedDict):
    """What a run reached: its steps in [0, 1], its evaluations with the seed's, and its seconds."""

    steps: Steps
    evaluations: int
    seconds: float


# By system, problem and seed.
Found = dict[str, dict[str, dict[int, Result]]]


def race(systems: Mapping[str, Run], options: Any, home: Path) -> Found:
    """What each run reached; runs that would begin too late are missing."""
    kept = Kept[Result](options.keep, "result")
    found: Found = {system: {} for system in systems}
    end = time.monotonic() + options.total
    for seed in range(options.first_seed, options.seeds):
        for name in options.problems:
            for system, run in systems.items():
                measured = {
                    "system": system, "problem": name, "seed": seed,
                    "evaluations": options.evaluations, "cores": options.cores,
                }  # fmt: skip
                if time.monotonic() < end or kept.knows(measured):
                    result = kept.result(measured, partial(_measure, run, name, seed, home, options))
                    found[system].setdefault(name, {})[seed] = result
    return found


def _measure(run: Run, name: str, seed: int, home: Path, options: Any) -> Result:
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=home) as own:
        scores = run(name, seed, Path(own), options)[: options.evaluations + 1]
    seconds = round(time.monotonic() - start, 1)
    return {"steps": improvements(scores), "evaluations": len(scores), "seconds": seconds}


def table(found: Found, evaluations: int, home: Path) -> list[dict[str, Any]]:
    """A row for each problem: what each system reached, in the unit of the problem.

    Args:
        found: what the runs reached.
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
            if results := list(by_problem.get(name, {}).values()):
                row.setdefault("seed", _in_unit(objective, results[0]["steps"][0][1]))
                columns = _columns(objective, problem.known_best, results, evaluations)
                row |= {f"{system}: {column}": value for column, value in columns.items()}
        rows.append(row)
    return rows


def _columns(
    objective: Objective, known_best: float | None, results: Sequence[Result], evaluations: int
) -> dict[str, Any]:
    worst, best = ends(objective)
    bests = [result["steps"][-1][1] for result in results]
    reached = _in_unit(objective, max(bests))
    known = None if known_best is None else (known_best - worst) / (best - worst)
    ways = [] if known is None else [_way(result["steps"], known) for result in results]
    return {
        "runs": len(results),
        "best": reached,
        "median": _in_unit(objective, statistics.median(bests)),
        "mean": _in_unit(objective, statistics.mean(bests)),
        "gap": None if known_best is None else _rounded(abs(known_best - reached)),
        "way": round(statistics.mean(ways), 3) if ways else None,
        "evaluations": sum(result["evaluations"] for result in results),
        "cut_off": sum(result["evaluations"] <= evaluations for result in results),
        "seconds": round(statistics.mean(result["seconds"] for result in results), 1),
    }


def _in_unit(objective: Objective, share: float) -> float:
    worst, best = ends(objective)
    return _rounded(worst + share * (best - worst))


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _way(steps: Steps, known: float) -> float:
    """The share of the way from the seed to the best known value."""
    seed, best = steps[0][1], steps[-1][1]
    return (best - seed) / (known - seed) if known != seed else 1.0


def comparisons(found: Found, evaluations: int) -> dict[str, Any]:
    """Each system of Evolve beside each other system; a budget of evaluations after the seed."""
    steps = {
        system: {name: {seed: result["steps"] for seed, result in of.items()} for name, of in by_problem.items()}
        for system, by_problem in found.items()
    }
    return {
        f"{own} beside {peer}": compared(steps[own], steps[peer], evaluations + 1)
        for own in OURS
        for peer in PEERS
        if own in steps and peer in steps
    }


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=5, help="from 0 on")
    parser.add_argument("--first-seed", type=int, default=0, help="seeds before it are not run")
    parser.add_argument("--evaluations", type=int, default=2000, help="after the seed")
    parser.add_argument("--problems", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME")
    parser.add_argument("--cores", type=int, default=2, help="evaluations and calls at once")
    parser.add_argument("--limit", type=float, default=7200.0, help="seconds that a run may take")
    parser.add_argument("--total", type=float, default=math.inf, help="seconds after which no further run begins")
    parser.add_argument("--keep", type=Path, help="a file that keeps each result; what stands there is not run again")
    parser.add_argument("--systems", nargs="+", choices=TITLES, default=list(TITLES), help=f"of {_titles()}")
    parser.add_argument("--openevolve", type=Path, default=Path(".venv-openevolve"), help="its environment")
    parser.add_argument("--shinka", type=Path, default=Path(".venv-shinka"), help="its environment")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evolve-benchmark-") as name:
        found = race(systems(options.systems, options), options, Path(name))
        rows = table(found, options.evaluations, Path(name))
    figures = {
        "evaluations": options.evaluations,
        "first_seed": options.first_seed,
        "seeds": options.seeds,
        "problems": rows,
        "comparisons": comparisons(found, options.evaluations),
    }
    report("catalogue", figures, options.out)


def _titles() -> str:
    return ", ".join(f"{name} ({title})" for name, title in TITLES.items())


if __name__ == "__main__":
    main()
