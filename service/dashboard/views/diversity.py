"""Diversity of a run over time, "does it still look at different things?"."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.loading import RunPageRoute
from service.dashboard.run_page import RunId, render_run
from service.dashboard.session import Api
from service.schemas.runs import Run

ROWS = 20
router = APIRouter(prefix="/runs/{run_id}/diversity", route_class=RunPageRoute, include_in_schema=False)


@router.get("")
async def show_diversity(request: Request, run_id: RunId, api: Api) -> Response:
    """Show how different the candidates of a run were over its evaluations."""
    run = await api.send(calls.get_run(run_id))
    return await render_run(request, api, run, "diversity.html", "diversity", **await _series(api, run))


@router.get("/table")
async def show_table(request: Request, run_id: RunId, api: Api) -> Response:
    """Show the numbers alone, as they are now."""
    run = await api.send(calls.get_run(run_id))
    return await render_run(request, api, run, "diversity_table.html", "diversity", **await _series(api, run))


async def _series(api: AsyncClient, run: Run) -> dict[str, Any]:
    metrics = await api.send(calls.get_run_metrics(run.id, points=ROWS))
    return {"points": metrics.points, "last": metrics.points[-1] if metrics.points else None}
