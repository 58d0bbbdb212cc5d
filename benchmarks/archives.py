"""What each archive costs the controller: `python -m benchmarks.archives`.

Processor time of offering one individual to an archive that is full, by its size and the number of objectives. The
individuals are random, each a little better than those long before it, so that a part is kept and others leave; their
measures are random in the unit square.
"""

import statistics
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.harness import arguments, report
from evolve.archives import add, open_archive
from evolve.configuration import ArchiveConfig
from evolve.evaluation import Evaluation, Outcome
from evolve.problem import EvaluatorSpec, Measure, Objective, Problem
from evolve.program import Program
from evolve.proposal import Individual

PROGRAM = Program.of({"program.py": "x = 1\n"})
DRIFT = 1e-5
# As configurations name them; a grid's size is its bins, which are chosen so that it has as many cells.
KINDS: Mapping[str, Mapping[str, Any]] = {
    "top": {"kind": "top"},
    "pareto": {"kind": "pareto"},
    "grid": {"kind": "grid"},
    "grid, a front of 4 per cell": {"kind": "grid", "front": 4},
    "cvt": {"kind": "cvt"},
    "dominated_novelty": {"kind": "dominated_novelty"},
}


def problem(size: int, objectives: int) -> Problem:
    bins = round(size**0.5)
    return Problem(
        name="benchmark",
        seeds=(PROGRAM,),
        evaluator=EvaluatorSpec(entry="value"),
        objectives=tuple(Objective(name=f"o{n}", low=0.0, high=2.0) for n in range(objectives)),
        measures=tuple(Measure(name=f"m{n}", bins=bins, low=0.0, high=1.0) for n in range(2)),
    )


def individuals(objectives: int) -> Iterator[Individual]:
    rng = np.random.default_rng(0)
    number = 0
    while True:
        direction = rng.random(objectives)
        rewards = direction / np.linalg.norm(direction) * (0.5 + rng.random() / 2) + DRIFT * number
        across, up = rng.random(2).tolist()
        yield Individual(
            candidate_id=f"c{number}",
            program=PROGRAM,
            evaluation=Evaluation(outcome=Outcome.OK),
            fitness=float(rewards.sum()),
            rewards=tuple(rewards.tolist()),
            signed_scores=tuple(rewards.tolist()),
            measures={"m0": across, "m1": up},
        )
        number += 1


def measure(title: str, size: int, objectives: int, rounds: int) -> dict[str, float | int | str]:
    archive = open_archive(problem(size, objectives), ArchiveConfig(size=size, **KINDS[title]), seed=0)
    coming = individuals(objectives)
    for _ in range(2 * size):
        add(archive, next(coming))
    spent, kept = [], 0
    for _ in range(rounds):
        one = next(coming)
        began = time.thread_time()
        insertion = add(archive, one)
        spent.append(1000 * (time.thread_time() - began))
        kept += insertion.kept
    return {
        "archive": title,
        "size": size,
        "members": len(archive.members),
        "objectives": objectives,
        "median_milliseconds": round(statistics.median(spent), 3),
        "mean_milliseconds": round(statistics.mean(spent), 3),
        "kept_share": round(kept / rounds, 2),
    }


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 10_000])
    parser.add_argument("--objectives", type=int, nargs="+", default=[2, 3, 5])
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    rows = [
        measure(title, size, objectives, options.rounds)
        for size in options.sizes
        for objectives in options.objectives
        for title in KINDS
    ]
    report("archives", {"rows": rows}, options.out)


if __name__ == "__main__":
    main()
