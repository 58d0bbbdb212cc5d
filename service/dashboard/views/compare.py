"""Compare, "which of these does better, and why?": up to six runs over one axis, with what sets them apart."""

import asyncio
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from evolve.money import Money
from service.client import AsyncClient, calls
from service.dashboard.door import Api
from service.dashboard.pages import PageRoute, render
from service.dashboard.run_page import run_title
from service.errors import AmbiguousIdError, NotFoundError
from service.schemas.archives import FrontPage
from service.schemas.runs import Run
from service.schemas.series import ComparedGroup, Metrics, RunComparison

LEAST, MOST = 2, 6
OFFERED = 30
POINTS, ROWS = 400, 10
AXES = ("evaluations", "tokens", "money", "time")
router = APIRouter(route_class=PageRoute, include_in_schema=False)
Axis = Literal["evaluations", "tokens", "money", "time"]
Curve = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run came to."""

    run: Run
    title: str
    front: FrontPage


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A key that is not the same in all runs, with its value in each."""

    key: str
    values: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Runs that differ in nothing but the seed. `places`: of its runs on the page, from 1."""

    group: ComparedGroup
    places: Sequence[int]


def titles_of(runs: Sequence[Run]) -> list[str]:
    """What runs are called beside one another: those of one name are told apart by the end of their ids."""
    named = [run_title(run) for run in runs]
    return [
        name if named.count(name) == 1 else f"{name} ({run.id[-4:]})" for name, run in zip(named, runs, strict=True)
    ]


def leaves(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Keys of a nested configuration with their values as text."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from leaves(inner, f"{key}.{name}" if key else str(name))
    else:
        yield key, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def differences(runs: Sequence[Run]) -> list[Difference]:
    """What is not the same in all runs, of what was set before they began."""
    settings = [dict(leaves(_settings(run))) for run in runs]
    keys = dict.fromkeys(key for one in settings for key in one)
    rows = [Difference(key=key, values=[one.get(key, "") for one in settings]) for key in keys]
    return [row for row in rows if len(set(row.values)) > 1]


def _settings(run: Run) -> Mapping[str, Any]:
    policies = {str(policy.get("name") or place): policy for place, policy in enumerate(run.policies)}
    return {
        "problem": run.problem,
        "problem_content": run.bundle_hash[:12],
        "integrity": run.integrity,
        "isolation": run.isolation,
        **run.config,
        "seed": run.seed,
        "policy": {"names": ", ".join(policies), **policies},
    }


def curve_of(metrics: Metrics, axis: str) -> Curve:
    """The best so far of a run over an axis; time in seconds since its first evaluation that is told.

    Over money it is empty where what the run cost is not known.
    """
    points = [point for point in metrics.points if point.best_fitness is not None]
    if axis == "money":
        points = [point for point in points if point.cost is not None]
    if not points:
        return []
    begin = metrics.points[0].at
    places: Mapping[str, Sequence[float]] = {
        "evaluations": [point.evaluations for point in points],
        "tokens": [point.tokens_input + point.tokens_output for point in points],
        "money": [float(Money.read(point.cost).amount) if point.cost else math.nan for point in points],
        "time": [(point.at - begin).total_seconds() for point in points],
    }
    return list(zip(places[axis], [point.best_fitness or 0.0 for point in points], strict=True))


def best_at(curve: Curve, place: float) -> float | None:
    """The best until a place; None: nothing yet, or the run had ended before."""
    if not curve or place > curve[-1][0]:
        return None
    return next((best for at, best in reversed(curve) if at <= place), None)


def table_of(curves: Sequence[Curve], rows: int = ROWS) -> list[tuple[float, list[float | None]]]:
    """Curves at evenly spaced places of their axis."""
    end = max((curve[-1][0] for curve in curves if curve), default=0.0)
    if not end:
        return []
    places = [end * ((row + 1) / rows) for row in range(rows)]  # the last one is the end itself
    return [(place, [best_at(curve, place) for curve in curves]) for place in places]


def groups_of(comparison: RunComparison) -> list[Group]:
    """Groups, with the places of their runs."""
    places = {run.run_id: place for place, run in enumerate(comparison.runs, start=1)}
    return [Group(group=group, places=[places[one] for one in group.run_ids]) for group in comparison.groups]


def notes_of(runs: Sequence[Run]) -> list[str]:
    """What keeps runs from being compared as they stand."""
    found = []
    if len({run.problem for run in runs}) > 1:
        found.append("These runs are of different problems: their fitness is not of one scale.")
    elif len({run.bundle_hash for run in runs}) > 1:
        found.append("These runs are of different versions of the problem: their fitness may not be of one scale.")
    if any(run.state in ("queued", "running", "pausing", "paused", "cancelling") for run in runs):
        found.append("Some of these runs have not ended: reload the page to see how they go on.")
    return found


Wanted = Annotated[list[str], Query(max_length=100)]


@router.get("/compare")
async def compare(
    request: Request,
    api: Api,
    run: Wanted = [],  # noqa: B006 -- FastAPI copies it
    axis: Axis = "evaluations",
) -> Response:
    """Set runs side by side, or offer a choice of them."""
    wanted = list(dict.fromkeys(one.strip() for one in run if one.strip()))
    if not wanted:
        return await _choose(request, api, wanted, axis)
    if not LEAST <= len(wanted) <= MOST:
        complaint = f"{len(wanted)} run{'' if len(wanted) == 1 else 's'} chosen: choose {LEAST} to {MOST}."
        return await _choose(request, api, wanted, axis, complaint, 422)
    try:
        found = [await api.send(calls.get_run(one)) for one in wanted]
    except (NotFoundError, AmbiguousIdError) as error:
        return await _choose(request, api, wanted, axis, f"{error}: choose others.", 404)
    return await _show(request, api, found, axis)


async def _choose(
    request: Request, api: AsyncClient, wanted: Sequence[str], axis: str, complaint: str = "", status: int = 200
) -> Response:
    page = await api.send(calls.list_runs(limit=OFFERED))
    values: dict[str, Any] = {"offered": page.items, "titles": titles_of(page.items), "wanted": wanted, "axis": axis}
    return render(request, "compare_choose.html", status, complaint=complaint, most=MOST, **values)


async def _show(request: Request, api: AsyncClient, runs: Sequence[Run], axis: str) -> Response:
    comparison = await api.send(calls.compare_runs([run.id for run in runs], points=POINTS))
    metrics = await asyncio.gather(*(api.send(calls.get_run_metrics(run.id, points=POINTS)) for run in runs))
    fronts = await asyncio.gather(*(api.send(calls.list_front(run.id, limit=1)) for run in runs))
    titles = titles_of(runs)
    curves = [curve_of(one, axis) for one in metrics]
    outcomes = [
        Outcome(run=run, title=title, front=front) for run, title, front in zip(runs, titles, fronts, strict=True)
    ]
    chosen = [("run", run.id) for run in runs]
    best = max(outcomes, key=lambda one: float("-inf") if one.run.best_fitness is None else one.run.best_fitness)
    values: dict[str, Any] = {
        "outcomes": outcomes,
        "best": best,
        "titles": titles,
        "axis": axis,
        "axes": [(name, f"?{urlencode([*chosen, ('axis', name)])}") for name in AXES],
        "others": f"?{urlencode([('axis', axis)])}",
        "table": table_of(curves),
        "groups": groups_of(comparison),
        "differences": differences(runs),
        "notes": notes_of(runs),
        "drawn": [{"id": run.id, "title": title} for run, title in zip(runs, titles, strict=True)],
    }
    return render(request, "compare.html", **values)
