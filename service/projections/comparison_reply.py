"""Runs side by side, in the form in which a service tells of them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal

from service.errors import UsageError
from service.ports import RunReader, RunRecord
from service.projections.candidates import objectives_of
from service.projections.columns import columns_of
from service.projections.comparison import Comparison, Curve, Group, Lead, Order, compare
from service.projections.progress_curve import trail_of
from service.schemas import series
from service.schemas.series import MAX_COMPARED, ComparedGroup, ComparedRun, GroupLevel, RunComparison


def compare_stored(reader: RunReader, run_ids: Sequence[str], order: Order) -> RunComparison:
    """Set runs side by side.

    Raises:
        UsageError: there are too many of them, or they cannot be grouped so.
    """
    if len(run_ids) > MAX_COMPARED:
        raise UsageError(f"{len(run_ids)} runs are too many to compare: name {MAX_COMPARED} at most")
    runs = [reader.run(run_id) for run_id in run_ids]
    return shown(compare([trail_of(columns_of(reader, run), run) for run in runs], order))


def shown(comparison: Comparison) -> RunComparison:
    """A comparison as it goes over the wire."""
    return RunComparison.model_validate(
        {
            "over": comparison.order.over,
            "currency": comparison.currency,
            "axis": list(comparison.axis),
            "runs": [_compared(curve) for curve in comparison.curves],
            "groups": [_grouped(group) for group in comparison.groups],
            "budgets": list(comparison.budgets),
            "leads": [_led(lead) for lead in comparison.leads],
            "notes": list(comparison.notes),
        }
    )


def _compared(curve: Curve) -> ComparedRun:
    run = curve.run
    return ComparedRun(
        run_id=run.id,
        problem=run.problem_name,
        state=run.state,
        seed=run.seed,
        policies=[str(policy.get("name", "")) for policy in run.policies],
        group=curve.group,
        evaluations=curve.evaluations,
        tokens=run.counters.tokens_input + run.counters.tokens_output,
        cost=run.counters.cost,
        best=list(curve.best),
        final_fitness=curve.final,
        best_candidate_id=run.best_candidate_id,
        known_best=run.known_best,
        direction=_direction(curve.run),
    )


def _direction(run: RunRecord) -> Literal["maximize", "minimize"] | None:
    objectives = objectives_of(run)
    if len(objectives) != 1:
        return None
    return "maximize" if objectives[0].sign > 0 else "minimize"


def _grouped(group: Group) -> ComparedGroup:
    return ComparedGroup(
        name=group.name,
        title=group.title,
        run_ids=list(group.run_ids),
        seeds=list(group.seeds),
        mean=list(group.mean),
        low=list(group.low),
        high=list(group.high),
        final_mean=group.final_mean,
        final_deviation=group.final_deviation,
        best_at_k=list(group.best_at_k),
        levels=[GroupLevel(**asdict(level)) for level in group.levels],
    )


def _led(lead: Lead) -> series.Lead:
    gaps = [series.Gap.model_validate(asdict(gap)) for gap in lead.gaps]
    return series.Lead(first=lead.first, second=lead.second, gaps=gaps)
