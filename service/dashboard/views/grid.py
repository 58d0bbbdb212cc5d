"""The grid of a run, "what is covered?": two measures against each other, and who holds each cell."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.loading import RunPageRoute
from service.dashboard.run_page import RunId, render_run
from service.dashboard.session import Api
from service.schemas.archives import Grid, GridAxis, GridCell
from service.schemas.runs import Run
from service.schemas.series import Metrics

CELLS_SHOWN = 100
POINTS = 20
MAX_DOTS = 1000
WIDTH, HEIGHT, EDGE = 1000, 420, 40
FAINTEST = 0.15
# A cell was filled lately that was filled in so large a part of the run.
LATELY = 0.1
router = APIRouter(prefix="/runs/{run_id}/grid", route_class=RunPageRoute, include_in_schema=False)
AxisName = Annotated[str, Query(max_length=1000)]
From = Annotated[int, Query(alias="from", ge=0, le=10_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """What of a grid is shown.

    Attributes:
        x, y: which axes; y is None where there is only one.
        fixed: by axis the bin that is shown of it; of an axis that is not here the best over it.
    """

    x: int
    y: int | None
    fixed: Mapping[int, int]

    def others(self, axes: Sequence[GridAxis]) -> list[int]:
        """The axes that are not drawn."""
        return [place for place in range(len(axes)) if place not in (self.x, self.y)]

    def cells(self, cells: Sequence[GridCell]) -> list[GridCell]:
        """The fittest of each cell of the picture, the fittest first; the grid's cells come in that order."""
        found: dict[tuple[int, int], GridCell] = {}
        for cell in cells:
            if all(cell.bins[axis] == place for axis, place in self.fixed.items()):
                found.setdefault((cell.bins[self.x], 0 if self.y is None else cell.bins[self.y]), cell)
        return list(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """Who holds a region of a tessellation, where it lies in the picture, and how strongly it is drawn."""

    cell: GridCell
    x: float
    y: float
    strength: float


@router.get("")
async def show_grid(
    request: Request, run_id: RunId, api: Api, x: AxisName = "", y: AxisName = "", begin: From = 0
) -> Response:
    """Show two measures of a run against each other, and what of their grid is filled."""
    run = await api.send(calls.get_run(run_id))
    grid, metrics = await _read(api, run)
    shown = _sliced(request, grid, read_slice(grid.axes, x, y, request.query_params), begin) if grid.axes else {}
    since = lately(run.progress.evaluated)
    return await render_run(request, api, run, "grid.html", "grid", **_standing(grid, metrics), since=since, **shown)


@router.get("/standing")
async def show_coverage(request: Request, run_id: RunId, api: Api) -> Response:
    """Show how much of the grid is filled, as it is now."""
    run = await api.send(calls.get_run(run_id))
    grid, metrics = await _read(api, run)
    return await render_run(request, api, run, "grid_standing.html", "grid", **_standing(grid, metrics))


async def _read(api: AsyncClient, run: Run) -> tuple[Grid, Metrics]:
    return await api.send(calls.get_grid(run.id)), await api.send(calls.get_run_metrics(run.id, points=POINTS))


def _standing(grid: Grid, metrics: Metrics) -> dict[str, object]:
    return {
        "grid": grid,
        "points": metrics.points,
        "last": metrics.points[-1] if metrics.points else None,
    }


def _sliced(request: Request, grid: Grid, chosen: Slice, begin: int) -> dict[str, object]:
    """What the page shows of the grid, from one cell of the table on."""
    cells = grid.cells if grid.tessellation else chosen.cells(grid.cells)
    behind = begin + CELLS_SHOWN
    following = request.url.include_query_params(**{"from": behind}).query if behind < len(cells) else ""
    drawn = {"x": chosen.x, "y": chosen.y, "fixed": chosen.fixed}
    return {
        "slice": chosen,
        "cells": cells[begin:behind],
        "filled": len(cells),
        "begin": begin,
        "older": "?" + following if following else "",
        "drawn": json.dumps(drawn),
        "bin_range": bin_range,
        "dots": dots_of(grid, chosen) if grid.tessellation else (),
        "picture": {"width": WIDTH, "height": HEIGHT, "edge": EDGE},
    }


def dots_of(grid: Grid, chosen: Slice) -> Sequence[Dot]:
    """Who holds the regions of a tessellation, by two measures: the fitter, the stronger; the fittest so many."""
    cells = grid.cells[:MAX_DOTS]
    worth = [cell.fitness for cell in cells]
    minimum, span = min(worth, default=0.0), max(worth, default=0.0) - min(worth, default=0.0)
    return [
        Dot(
            cell=cell,
            x=round(EDGE + (WIDTH - 2 * EDGE) * _share(grid.axes[chosen.x], cell.values[chosen.x]), 1),
            y=round(
                HEIGHT / 2
                if chosen.y is None
                else HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * _share(grid.axes[chosen.y], cell.values[chosen.y]),
                1,
            ),
            strength=round(FAINTEST + (1 - FAINTEST) * ((cell.fitness - minimum) / span if span > 0 else 1.0), 2),
        )
        for cell in cells
    ]


def _share(axis: GridAxis, value: float) -> float:
    if axis.low is None or axis.high is None or not axis.high > axis.low:
        return 0.5
    return min(1.0, max(0.0, (value - axis.low) / (axis.high - axis.low)))


def read_slice(axes: Sequence[GridAxis], x: str, y: str, params: Mapping[str, str]) -> Slice:
    """What an address asks to see: axes by name, `at0=3` for a bin of the first axis; what it does not say is open."""
    names = [axis.name for axis in axes]
    across = names.index(x) if x in names else int(len(names) > 1 and y == names[0])
    up = names.index(y) if y in names and names.index(y) != across else int(across == 0)
    fixed = {}
    for place, axis in enumerate(axes):
        text = params.get(f"at{place}", "")
        if place not in (across, up) and text.isdecimal() and int(text[:9]) < axis.bins:
            fixed[place] = int(text[:9])
    return Slice(x=across, y=up if len(axes) > 1 else None, fixed=fixed)


def lately(evaluated: int) -> int:
    """From which evaluation on a cell was filled lately."""
    return math.floor(evaluated * (1 - LATELY))


def bin_range(axis: GridAxis, place: int) -> tuple[float | None, float | None]:
    """From where to where a bin of an axis reaches; None both: nothing was seen on it yet."""
    if axis.low is None or axis.high is None:
        return None, None
    span = axis.high - axis.low
    return axis.low + span * (place / axis.bins), axis.low + span * ((place + 1) / axis.bins)
