"""What a full front keeps, by the rule of who leaves it: `python -m benchmarks.truncation`.

Two parts. Fronts: points of one front are offered in random order, and what is kept is told as a share of the volume of
all that was offered, with the processor time of an offer that makes one leave. Runs: the built-in syntax mutator
searches on DTLZ2 (Deb, Thiele, Laumanns and Zitzler 2005), one answer a proposal, with either rule and the same seeds;
told is the volume of all that a run found, as a share of what is possible, and how many runs are ahead and behind.
"""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.exploration import SECONDS, Late, alarm, silence
from benchmarks.harness import Watch, arguments, new_job, play, report, scratch
from evolve.archives.pareto import enter_front, truncation_of
from evolve.configuration import TRUNCATIONS, ArchiveConfig, BudgetConfig, RunConfig
from evolve.evaluation import PLAIN, Evaluation, Outcome, ScoringRequest
from evolve.multiobjective.pareto import hypervolume
from evolve.multiobjective.scalarization import Floats
from evolve.problem import EvaluatorSpec, Measure, Objective, Problem
from evolve.program import Program
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.policy.syntax.policy import SyntaxPolicy
from service.timestamps import SystemClock

# The exponent p of the fronts sum x^p = 1: bent outwards, flat and bent inwards.
SHAPES = {"concave": 2.0, "linear": 1.0, "convex": 0.5}
VARIABLES = 6
REFERENCE = 1.5
VOLUME = {2: REFERENCE**2 - np.pi / 4, 3: REFERENCE**3 - np.pi / 6}
SEED = f"def solve():\n    return [{', '.join(['0.8'] * VARIABLES)}]\n"
ARCHIVES: Mapping[str, Mapping[str, Any]] = {
    "pareto, 5 members": {"kind": "pareto", "size": 5},
    "pareto, 20 members": {"kind": "pareto", "size": 20},
    "grid, a front of 4 per cell": {"kind": "grid", "front": 4},
}


def points_of(shape: str, objectives: int, count: int, seed: int) -> Floats:
    """Points of a front in random order, more is better in every column."""
    directions = np.abs(np.random.default_rng(seed).standard_normal((count, objectives)))
    exponent = SHAPES[shape]
    length = (directions**exponent).sum(axis=1) ** (1 / exponent)
    points: Floats = directions / length[:, None]
    return points


def kept_of(points: Floats, size: int, rule: str) -> tuple[Floats, list[float]]:
    """The rows that a front of a size keeps, and the milliseconds of each offer to it while it was full."""
    truncation = truncation_of(rule, points.shape[1])
    held, ages, spent = points[:0], np.zeros(0, dtype=np.int64), []
    for age, offered in enumerate(points):
        began = time.thread_time()
        status, leaving = enter_front(held, ages, offered, size, truncation)
        if len(held) == size:
            spent.append(1000 * (time.thread_time() - began))
        if status in {"added", "improved"}:
            held = np.vstack([np.delete(held, leaving, axis=0), offered])
            ages = np.append(np.delete(ages, leaving), age)
    return held, spent


def fronts(options: Any) -> list[dict[str, Any]]:
    rows = []
    for shape in SHAPES:
        for objectives in (2, 3):
            for size in options.sizes:
                row: dict[str, Any] = {"front": shape, "objectives": objectives, "kept": size}
                for rule in TRUNCATIONS:
                    shares, spent = [], list[float]()
                    for seed in range(options.seeds):
                        points = points_of(shape, objectives, max(600, 4 * size), seed)
                        held, times = kept_of(points, size, rule)
                        zero = np.zeros(objectives)
                        shares.append(hypervolume(held, zero) / hypervolume(points, zero))
                        spent += times
                    row[rule] = round(float(np.mean(shares)), 3)
                    row[f"{rule}_milliseconds"] = round(float(np.median(spent)), 3)
                rows.append(row)
    return rows


def losses_of(variables: Floats, objectives: int) -> Floats:
    """DTLZ2: less is better, and the best are a part of the unit sphere."""
    angles = np.pi / 2 * variables[: objectives - 1]
    losses = np.full(objectives, 1 + float(((variables[objectives - 1 :] - 0.5) ** 2).sum()))
    for number in range(objectives):
        losses[number] *= np.cos(angles[: objectives - 1 - number]).prod()
        losses[number] *= np.sin(angles[objectives - 1 - number]) if number else 1.0
    return losses


def problem_of(objectives: int) -> Problem:
    return Problem(
        name=f"dtlz2 {objectives}",
        seeds=(Program.of({"program.py": SEED}),),
        evaluator=EvaluatorSpec(entry="solve"),
        objectives=tuple(Objective(name=f"f{n}", low=-2.5, high=0.0) for n in range(objectives)),
        measures=tuple(Measure(name=f"x{n}", bins=4, low=0.0, high=1.0) for n in (0, VARIABLES - 1)),
    )


@dataclass
class InProcess:
    """Runs programs in this process, and keeps the scores of all."""

    objectives: int
    slots: int = 2
    waiting: str = ""
    found: list[Floats] = field(default_factory=list)

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        del evaluation_id, scoring
        await asyncio.sleep(0)  # others get their turn, as while a real evaluation runs
        space: dict[str, Any] = {"__name__": "program"}
        try:
            with silence(), alarm(SECONDS):
                exec(compile(program.text, "program.py", "exec"), space)
                variables = np.clip(np.asarray(space["solve"](), dtype=np.float64), 0.0, 1.0)
            scores = -losses_of(variables.reshape(VARIABLES), self.objectives)
        except (Exception, SystemExit, Late) as error:  # noqa: BLE001 - a program may raise anything
            return Evaluation(outcome=Outcome.INVALID, reason=type(error).__name__)
        if not np.isfinite(scores).all():
            return Evaluation(outcome=Outcome.INVALID, reason="not finite")
        self.found.append(scores)
        return Evaluation(
            outcome=Outcome.OK,
            scores={f"f{number}": float(score) for number, score in enumerate(scores)},
            measures={f"x{number}": float(variables[number]) for number in (0, VARIABLES - 1)},
        )


def search(objectives: int, archive: str, rule: str, seed: int, evaluations: int) -> float:
    """The volume of all that one run found, as a share of what is possible."""
    problem, evaluator = problem_of(objectives), InProcess(objectives)
    config = RunConfig(
        islands=1,
        archive=ArchiveConfig(truncation=rule, **ARCHIVES[archive]),
        seed=seed,
        budget=BudgetConfig(evaluations=evaluations),
    )
    with scratch() as folder, contextlib.closing(open_database(f"sqlite:///{Path(folder) / 'evolve.db'}")) as database:
        log = SqlRunLog(database, SystemClock())
        status = play(new_job(log, problem, config, SyntaxPolicy(problem, answers=1), evaluator), Watch())
    if status.state != "succeeded":
        raise SystemExit(f"the search with {archive}, {rule} and seed {seed} {status.state}")
    reference = np.full(objectives, -REFERENCE)
    return hypervolume(np.array(evaluator.found), reference) / VOLUME[objectives]


def runs(options: Any) -> list[dict[str, Any]]:
    """Seed by seed, the rules in turn."""
    rows = []
    for objectives in options.run_objectives:
        for archive in ARCHIVES:
            shares = {rule: list[float]() for rule in TRUNCATIONS}
            for seed in range(options.run_seeds):
                for rule, found in shares.items():
                    found.append(search(objectives, archive, rule, seed, options.evaluations))
            crowding, volume = (np.array(found) for found in shares.values())
            apart = volume - crowding
            rows.append(
                {
                    "objectives": objectives,
                    "archive": archive,
                    **{rule: round(float(np.mean(found)), 4) for rule, found in shares.items()},
                    "difference": round(float(apart.mean()), 4),
                    "standard_error": round(float(apart.std(ddof=1) / np.sqrt(len(apart))), 4),
                    "ahead": int((apart > 0).sum()),
                    "behind": int((apart < 0).sum()),
                }
            )
    return rows


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[3, 5, 20, 50, 200], help="of the fronts")
    parser.add_argument("--seeds", type=int, default=5, help="of the fronts")
    parser.add_argument("--run-seeds", type=int, default=10)
    parser.add_argument("--run-objectives", type=int, nargs="+", choices=[2, 3], default=[2, 3])
    parser.add_argument("--evaluations", type=int, default=300, help="of a run")
    options = parser.parse_args()
    report("truncation", {"fronts": fronts(options), "runs": runs(options)}, options.out)


if __name__ == "__main__":
    main()
