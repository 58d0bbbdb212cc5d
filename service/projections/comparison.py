"""Runs side by side: their best so far over a common axis of evaluations, and what repetitions agree on."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evolve.statistics import best_at_k
from service.ports import RunRecord
from service.projections.columns import Floats
from service.projections.series import best_so_far, finite_or_none, places


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One run on the common axis. `best` ends with the run: beyond it the values are None.

    Attributes:
        group: runs of one group differ in nothing but the seed.
        final: highest fitness at the end.
    """

    run: RunRecord
    group: str
    evaluations: int
    best: Sequence[float | None]
    final: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Runs that differ in nothing but the seed, and what is to be expected of them.

    Attributes:
        mean, low, high: of the best so far over the axis, as far as all of its runs have come.
        best_at_k: expected best of k runs, k from 1 (see `evolve.statistics`).
    """

    name: str
    run_ids: Sequence[str]
    seeds: Sequence[int]
    mean: Sequence[float | None]
    low: Sequence[float | None]
    high: Sequence[float | None]
    final_mean: float | None
    final_deviation: float | None
    best_at_k: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Curves over one axis, and the groups with several seeds among them."""

    axis: Sequence[int]
    curves: Sequence[Curve]
    groups: Sequence[Group]


def compare(runs: Sequence[RunRecord], fitness: Sequence[Sequence[float] | Floats], points: int) -> Comparison:
    """Set runs side by side.

    Args:
        runs: which.
        fitness: of each evaluation of each, in order; NaN where it has none.
        points: of the axis at most.
    """
    bests = [best_so_far(values) for values in fitness]
    longest = max((len(best) for best in bests), default=0)
    axis = [int(place) for place in places(longest, points)] if longest else []
    curves = [
        Curve(
            run=run,
            group=_group_of(run),
            evaluations=len(best),
            best=[finite_or_none(best[place - 1]) if place <= len(best) else None for place in axis],
            final=finite_or_none(best[-1]) if len(best) else None,
        )
        for run, best in zip(runs, bests, strict=True)
    ]
    names = list(dict.fromkeys(curve.group for curve in curves))
    members = [[curve for curve in curves if curve.group == name] for name in names]
    return Comparison(axis=axis, curves=curves, groups=[_group(group) for group in members if len(group) > 1])


def _group_of(run: RunRecord) -> str:
    config = {key: value for key, value in run.config.items() if key != "seed"}
    about = [run.problem_name, run.bundle_hash, config, list(run.policies)]
    text = json.dumps(about, sort_keys=True, default=str)
    return f"{run.problem_name}/{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _group(curves: Sequence[Curve]) -> Group:
    columns = list(zip(*(curve.best for curve in curves), strict=True))
    whole = [[value for value in column if value is not None] for column in columns]
    rows = [values if len(values) == len(curves) else None for values in whole]
    finals = [curve.final for curve in curves if curve.final is not None]
    return Group(
        name=curves[0].group,
        run_ids=[curve.run.id for curve in curves],
        seeds=[curve.run.seed for curve in curves],
        mean=[None if row is None else float(np.mean(row)) for row in rows],
        low=[None if row is None else min(row) for row in rows],
        high=[None if row is None else max(row) for row in rows],
        final_mean=float(np.mean(finals)) if finals else None,
        final_deviation=float(np.std(finals, ddof=1)) if len(finals) > 1 else None,
        best_at_k=[float(best_at_k(finals, k)) for k in range(1, len(finals) + 1)],
    )
