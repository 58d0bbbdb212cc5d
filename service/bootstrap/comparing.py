"""Runs of a database side by side, in the form in which a service tells of them."""

import math
from collections.abc import Sequence

from service.errors import UsageError
from service.ports import RunReader
from service.projections.comparison import compare
from service.schemas.series import ComparedGroup, ComparedRun, RunComparison

MOST_RUNS, POINTS = 20, 200


def compare_stored(reader: RunReader, run_ids: Sequence[str]) -> RunComparison:
    """Set runs side by side.

    Raises:
        UsageError: there are too many of them.
    """
    if len(run_ids) > MOST_RUNS:
        raise UsageError(f"{len(run_ids)} runs are too many to compare: name {MOST_RUNS} at most")
    runs = [reader.run(run_id) for run_id in run_ids]
    found = compare(runs, [_fitness(reader, run.id) for run in runs], POINTS)
    return RunComparison(
        axis=list(found.axis),
        runs=[
            ComparedRun(
                run_id=curve.run.id,
                problem=curve.run.problem_name,
                state=curve.run.state,
                seed=curve.run.seed,
                policies=[str(policy.get("name", "")) for policy in curve.run.policies],
                group=curve.group,
                evaluations=curve.evaluations,
                best=list(curve.best),
                final_fitness=curve.final,
                best_candidate_id=curve.run.best_candidate_id,
                known_best=curve.run.known_best,
            )
            for curve in found.curves
        ],
        groups=[
            ComparedGroup(
                name=group.name,
                run_ids=list(group.run_ids),
                seeds=list(group.seeds),
                mean=list(group.mean),
                low=list(group.low),
                high=list(group.high),
                final_mean=group.final_mean,
                final_deviation=group.final_deviation,
                best_at_k=list(group.best_at_k),
            )
            for group in found.groups
        ],
    )


def _fitness(reader: RunReader, run_id: str) -> list[float]:
    """Of every evaluation, in order; NaN where it has none."""
    return [math.nan if one.fitness is None else one.fitness for one in reader.scored(run_id)]
