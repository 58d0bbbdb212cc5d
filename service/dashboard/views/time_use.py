"""Where the time of a run goes: what its policies took to answer, and its evaluations by how they ended."""

from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.loading import RunPageRoute
from service.dashboard.run_page import RunId, render_run
from service.dashboard.session import Api
from service.dashboard.views.candidate import if_any
from service.schemas.failures import RunFailures
from service.schemas.runs import Run
from service.schemas.series import Metrics

router = APIRouter(prefix="/runs/{run_id}", route_class=RunPageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeUse:
    """One of the things that take time.

    Attributes:
        count: how often it was done.
        seconds: for all of them together; those at the same time count each.
        share: of the time of all things.
    """

    name: str
    count: int
    seconds: float
    share: float


@router.get("/time")
async def show_time(request: Request, run_id: RunId, api: Api) -> Response:
    """Show alone where the time goes, as it is now."""
    run = await api.send(calls.get_run(run_id))
    return await render_run(request, api, run, "run_time.html", "overview", **await time_use(api, run))


async def time_use(api: AsyncClient, run: Run) -> dict[str, object]:
    """What the overview tells of time; before those who may not read candidates, how evaluations ended is left out."""
    metrics = await api.send(calls.get_run_metrics(run.id, points=1))
    failures = await if_any(api, calls.get_run_failures(run.id))
    return {"time_uses": time_uses(run, metrics, failures)}


def time_uses(run: Run, metrics: Metrics, failures: RunFailures | None) -> list[TimeUse]:
    """What took time, the most of it first."""
    found = [(f"Policy {one.name}", one.answered, one.seconds) for one in metrics.policy_costs]
    if failures is not None:
        found.append(("Valid evaluations", run.stats.valid, failures.evaluation_seconds - failures.seconds))
        found.append(("Failed evaluations", run.stats.failed, failures.seconds))
    total = sum(seconds for _, _, seconds in found)
    uses = [
        TimeUse(name=name, count=count, seconds=seconds, share=seconds / total)
        for name, count, seconds in found
        if seconds > 0
    ]
    return sorted(uses, key=lambda one: -one.seconds)
