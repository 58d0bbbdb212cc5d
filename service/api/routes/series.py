"""Runs over time and side by side."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from service.api.api_route import ApiRoute
from service.api.auth import PartsDep
from service.api.error_responses import raises
from service.api.etags import run_tag, seen, tagged
from service.api.openapi_responses import NOT_MODIFIED
from service.api.problem_errors import ApiFault
from service.api.routes.runs import Reading, RunId, reader_of
from service.api.run_cache import FoldsDep
from service.api.serializers.columns import shown_columns
from service.errors import NotFoundError
from service.ports import RunReader, RunRecord
from service.projections import costs, series
from service.projections.comparison import Order, compare
from service.projections.comparison_reply import shown
from service.projections.series_point import series_point
from service.schemas.problem_details import Code
from service.schemas.series import (
    MAX_COMPARED,
    Axis,
    Cost,
    Metrics,
    PolicyCurve,
    RunColumns,
    RunComparison,
    Success,
)
from service.schemas.types import WITHOUT_NUL

router = APIRouter(prefix="/v1", tags=["metrics"], route_class=ApiRoute)

MAX_POINTS, MAX_EVALUATIONS = 1000, 400_000
Points = Annotated[int, Query(ge=1, description=f"Maximum number of points. At most {MAX_POINTS} count.")]
MIN_DRAWN, MAX_DRAWN = 100, 20_000
After = Annotated[int, Query(ge=0, le=2**53, description="Number of evaluations to leave out at the start.")]
Drawable = Annotated[
    int,
    Query(
        ge=0,
        description="Approximate number of evaluations. 0: all. The number is at least "
        f"{MIN_DRAWN} and at most {MAX_DRAWN}. Ignored with `after`.",
    ),
]
RunIds = Annotated[
    str,
    Query(
        pattern=rf"^[A-Za-z0-9_-]{{6,64}}(,[A-Za-z0-9_-]{{6,64}}){{0,{MAX_COMPARED - 1}}}$",
        max_length=4000,
        description=f"Ids of runs, separated by commas, at most {MAX_COMPARED}.",
    ),
]
By = Annotated[
    str,
    Query(
        max_length=200,
        pattern=WITHOUT_NUL,
        description="Group runs by `strategy`, `policy`, `name` (a label), `problem`, `labels.KEY`, or any key of the"
        " configuration, such as `archive.kind`. Empty: by everything except the seed.",
    ),
]
GroupNames = Annotated[
    str,
    Query(
        max_length=4000,
        pattern=WITHOUT_NUL,
        description="Names of the runs' groups instead, in the order of the runs, separated by commas.",
    ),
]
Budgets = Annotated[
    str,
    Query(
        pattern=r"^([0-9]{1,15}(\.[0-9]{1,12})?(,[0-9]{1,15}(\.[0-9]{1,12})?){0,9})?$",
        max_length=300,
        description="Budgets at which groups are compared, separated by commas, at most 10. Empty: four, evenly"
        " spaced up to the end of the shortest run.",
    ),
]


@router.get("/runs/{run_id}/metrics", response_model=Metrics, responses=NOT_MODIFIED, operation_id="get_run_metrics")
def get_run_metrics(
    request: Request, run_id: RunId, caller: Reading, parts: PartsDep, run_cache: FoldsDep, points: Points = 200
) -> Response:
    """Read the progress of a run over its evaluations: best, waste, cost, and success by operator and policy."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    if seen(request, run_tag(run)):
        return Response(status_code=304, headers={"ETag": run_tag(run)})
    folded = run_cache.series(reader, run, min(points, MAX_POINTS))
    spent = run_cache.costs(reader, run)
    body = Metrics(
        run_id=run.id,
        points=[series_point(moment) for moment in folded.moments],
        operators=[_success(one) for one in folded.operators],
        policies=[_success(one) for one in folded.policies],
        positions=[_success(one) for one in folded.positions],
        policy_costs=_costs(spent.policies),
        operator_costs=_costs(spent.operators),
        policy_curves=[
            PolicyCurve(
                name=curve.name,
                evaluations=list(curve.evaluations),
                gain=list(curve.gain),
                tokens=list(curve.tokens),
                cost=list(curve.cost),
            )
            for curve in folded.policy_curves
        ],
    )
    return tagged(request, body, run_tag(run))


@router.get("/runs/{run_id}/columns", response_model=RunColumns, responses=NOT_MODIFIED, operation_id="get_run_columns")
def get_run_columns(
    request: Request,
    run_id: RunId,
    caller: Reading,
    parts: PartsDep,
    run_cache: FoldsDep,
    after: After = 0,
    points: Drawable = 0,
    front: Annotated[bool, Query(description="Include the Pareto front over time.")] = False,
) -> Response:
    """Read the evaluations of a run in columns, as for a chart: all, or those after `after`.

    To get only new evaluations, send the previous `total` as `after`. A sample holds the best and the worst of each
    stretch, some failures, the last evaluation, every new best, and the Pareto front if there is room.
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    if seen(request, run_tag(run)):
        return Response(status_code=304, headers={"ETag": run_tag(run)})
    enough = min(max(points, MIN_DRAWN), MAX_DRAWN) if points else 0
    drawn = run_cache.drawn(reader, run, after, enough, front=front)
    return tagged(request, shown_columns(run.id, drawn), run_tag(run))


@router.get("/compare", response_model=RunComparison, responses=raises(NotFoundError), operation_id="compare_runs")
def compare_runs(
    caller: Reading,
    parts: PartsDep,
    run_cache: FoldsDep,
    runs: RunIds,
    points: Points = 200,
    over: Annotated[Axis, Query(description="The axis: evaluations, tokens, money, or seconds.")] = "evaluations",
    by: By = "",
    names: GroupNames = "",
    budgets: Budgets = "",
) -> RunComparison:
    """Compare runs: their best fitness over a common axis, and the differences between groups of them.

    Each group has its mean, its range, the expected best of k runs, and its mean at some equal budgets with a 95 %
    interval. Each pair of groups has its difference there, paired by seed and problem if seeds match, and whether
    the difference is significant.
    """
    reader = reader_of(parts, caller)
    found, groups = _found(reader, runs.split(","), names.split(",") if names else [])
    order = Order(
        over=over,
        by=by,
        names=groups,
        budgets=[float(budget) for budget in budgets.split(",") if budget],
        points=min(points, MAX_POINTS),
    )
    return shown(compare([run_cache.trail(reader, run) for run in found], order))


def _found(reader: RunReader, ids: list[str], names: list[str]) -> tuple[list[RunRecord], list[str]]:
    """Each run once, and the name of its group where groups are named."""
    read = [reader.run(run_id) for run_id in ids]
    if names and len(names) != len(ids):
        detail = f"{len(ids)} runs have {len(names)} names: name the group of each"
        raise ApiFault(422, Code.INVALID_REQUEST, detail)
    found = {run.id: run for run in read}
    groups = {run.id: name for run, name in zip(read, names, strict=False)}
    if sum(run.counters.evaluations for run in found.values()) > MAX_EVALUATIONS:
        detail = f"these runs have more than {MAX_EVALUATIONS} evaluations together: name fewer"
        raise ApiFault(422, Code.INVALID_REQUEST, detail)
    return list(found.values()), [groups[run_id] for run_id in found] if groups else []


def _costs(found: Mapping[str, costs.Cost]) -> list[Cost]:
    return [
        Cost(
            name=name,
            **{counted: getattr(cost, counted) for counted in costs.COUNTED},
            cost=cost.money,
            seconds=cost.total_seconds,
            seconds_p50=cost.quantile(0.5),
            seconds_p95=cost.quantile(0.95),
            finish_reasons=dict(cost.finish_reasons),
        )
        for name, cost in found.items()
    ]


def _success(success: series.Success) -> Success:
    return Success(
        name=success.name,
        evaluations=success.evaluations,
        valid=success.valid,
        improvements=success.improvements,
        mean_fitness=success.mean_fitness,
        gain=success.gain,
        seconds=success.seconds,
    )
