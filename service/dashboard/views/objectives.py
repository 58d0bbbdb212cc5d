"""The objectives of a run, "what is the trade-off?": fronts, weights, and who is best under them."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from evolve.problem import MAX_MAGNITUDE
from service.client import AsyncClient, calls
from service.dashboard.loading import RunPageRoute
from service.dashboard.run_page import RunId, render_run
from service.dashboard.session import Api
from service.errors import UsageError
from service.schemas.archives import Best
from service.schemas.candidates import Candidate
from service.schemas.runs import Run

FRONT_SHOWN = 25
BINS = 24
POINTS = 5_000  # that a browser draws and sorts without a pause
DRAWN = ("name", "direction", "low", "high", "reference")
router = APIRouter(prefix="/runs/{run_id}/objectives", route_class=RunPageRoute, include_in_schema=False)
AxisName = Annotated[str, Query(max_length=1000)]
Cursor = Annotated[str, Query(max_length=2000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightField:
    """The field for the weight of one objective.

    Attributes:
        field: its name in the form and in the address.
        text: what stands in it.
        value: what that means; None: it is no weight, and the complaint says why.
    """

    name: str
    field: str
    text: str
    value: float | None
    complaint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramBar:
    """How many scores lie in one part of their range."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How the valid scores of a run are spread over their range, the worst first."""

    bars: Sequence[HistogramBar]
    worst: float
    median: float
    best: float
    count: int

    @property
    def maximum(self) -> int:
        """The count of the fullest bar."""
        return max(bar.count for bar in self.bars)


@router.get("")
async def show_objectives(
    request: Request, run_id: RunId, api: Api, x: AxisName = "", y: AxisName = "", cursor: Cursor = ""
) -> Response:
    """Show how the objectives of a run trade off; of a single one how its scores are spread."""
    run = await api.send(calls.get_run(run_id))
    if len(run.objectives) < 2:
        return await render_run(request, api, run, "objective.html", "objectives", **await _single(api, run))
    weighing = weigh(run.objectives, request.query_params)
    wrong = [field for field in weighing if field.complaint]
    call = calls.list_front(run.id, limit=FRONT_SHOWN)
    front = await api.send(call.at(cursor) if cursor else call)
    best, refusal = (None, "") if wrong or run.best_candidate_id is None else await _best(api, run, weighing)
    across, up = picked(run.objectives, x, y)
    values = {
        "front": front,
        "groups": grouped(front.items),
        "older": "?" + request.url.include_query_params(cursor=front.next_cursor).query if front.next_cursor else "",
        "cursor": cursor,
        "drawn": drawn(run.objectives),
        "columns_at": f"/v1/runs/{run.id}/columns?points={POINTS}&front=true",
        "across": across,
        "up": up,
        "weighing": weighing,
        "best": best,
        "refusal": refusal,
        "fittest": await _fittest(api, run),
    }
    page = await render_run(request, api, run, "objectives.html", "objectives", **values)
    page.status_code = 422 if wrong else 200
    return page


def grouped(members: Sequence[Candidate]) -> list[list[Candidate]]:
    """The members of a front, those with equal scores together, in the order of the first of each group."""
    found: dict[tuple[tuple[str, float], ...], list[Candidate]] = {}
    for member in members:
        found.setdefault(tuple(sorted(member.scores.items())), []).append(member)
    return list(found.values())


@router.get("/standing")
async def show_front(request: Request, run_id: RunId, api: Api) -> Response:
    """Show what the front is worth, as it is now."""
    front = await api.send(calls.list_front(run_id, limit=1))
    return await render_run(request, api, run_id, "objectives_standing.html", "objectives", front=front)


@router.get("/spread")
async def show_spread(request: Request, run_id: RunId, api: Api) -> Response:
    """Show how the scores of a single objective are spread, as they are now."""
    run = await api.send(calls.get_run(run_id))
    return await render_run(request, api, run, "objective_spread.html", "objectives", **await _single(api, run))


async def _best(api: AsyncClient, run: Run, weighing: Sequence[WeightField]) -> tuple[Best | None, str]:
    """The best under weights; where the API cannot be asked, as names may hold anything, why not."""
    text = ",".join(f"{field.name}={field.value!r}" for field in weighing)
    try:
        return await api.send(calls.get_best(run.id, weights=text)), ""
    except UsageError as error:
        return None, str(error)


async def _fittest(api: AsyncClient, run: Run) -> Best | None:
    if run.best_candidate_id is None:
        return None
    return await api.send(calls.get_best(run.id))


async def _single(api: AsyncClient, run: Run) -> dict[str, object]:
    columns = await api.send(calls.get_run_columns(run.id))
    sign = -1.0 if run.objectives and run.objectives[0].get("direction") == "minimize" else 1.0
    scores = [sign * value for value in columns.fitness if value is not None]
    return {
        "objective": run.objectives[0] if run.objectives else None,
        "spread": spread(scores, larger_is_better=sign > 0),
        "failed": columns.total - len(scores),
    }


def weigh(objectives: Sequence[Mapping[str, Any]], params: Mapping[str, str]) -> list[WeightField]:
    """The fields for weights: as the address says, else as the problem declares them."""
    fields = [_weighing(place, objective, params) for place, objective in enumerate(objectives)]
    if all(field.value == 0 for field in fields):
        return [replace(fields[0], complaint="give at least one objective a weight above 0"), *fields[1:]]
    return fields


def _weighing(place: int, objective: Mapping[str, Any], params: Mapping[str, str]) -> WeightField:
    field, name = f"w{place}", str(objective.get("name", ""))
    declared = float(objective.get("weight", 1.0))
    text = params.get(field, "").strip()[:100] or f"{declared:g}"
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if 0 <= value <= MAX_MAGNITUDE:
        return WeightField(name=name, field=field, text=text, value=value)
    return WeightField(name=name, field=field, text=text, value=None, complaint="write a number from 0 on, such as 2.5")


def picked(objectives: Sequence[Mapping[str, Any]], x: str, y: str) -> tuple[int, int]:
    """Which objectives the axes show: those that are named, else the first ones that are left; never one twice."""
    names = [objective.get("name") for objective in objectives]
    across = names.index(x) if x in names else int(bool(names) and y == names[0])
    up = names.index(y) if y in names and names.index(y) != across else int(across == 0)
    return across, up


def drawn(objectives: Sequence[Mapping[str, Any]]) -> str:
    """What charts know of objectives, as JSON."""
    return json.dumps([{name: objective.get(name) for name in DRAWN} for objective in objectives])


def spread(scores: Sequence[float], larger_is_better: bool, bins: int = BINS) -> Spread | None:
    """How scores are spread over equal parts of their range; None: there are none."""
    if not scores:
        return None
    ordered = sorted(scores)
    low, high = ordered[0], ordered[-1]
    if low == high:
        bins = 1
    edges = [low + (high - low) * (place / bins) for place in range(bins)] + [high]
    counts = [0] * bins
    for score in ordered:
        # Times the bins first: a share of a share would put a score on an edge one bar too low.
        place = (score - low) * bins / (high - low) if high > low else 0.0
        counts[min(bins - 1, int(place))] += 1
    bars = [HistogramBar(low=edges[place], high=edges[place + 1], count=counts[place]) for place in range(bins)]
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    worst, best = (low, high) if larger_is_better else (high, low)
    return Spread(
        bars=bars if larger_is_better else bars[::-1], worst=worst, median=middle, best=best, count=len(ordered)
    )
