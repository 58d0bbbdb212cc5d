"""Hints to a run: the form that gives one, and what those before brought."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.pages import PageRoute, go_to, may
from service.dashboard.run_page import ENDED, RunId, render_run
from service.dashboard.session import Api, FormDep
from service.dashboard.views.candidate import if_any
from service.errors import UsageError
from service.schemas.hints import DEFAULT_HINT_PROPOSALS, HintCreate
from service.schemas.requests import checked
from service.schemas.runs import Run

router = APIRouter(prefix="/runs/{run_id}/hints", route_class=PageRoute, include_in_schema=False)


@router.get("")
async def show_hints(request: Request, run_id: RunId, api: Api) -> Response:
    """Show the hints of a run alone, as they are now."""
    run = await api.send(calls.get_run(run_id))
    return await render_run(request, api, run, "run_hints.html", "overview", **await hints_of(request, api, run))


@router.post("")
async def give_hint(run_id: RunId, api: Api, form: FormDep) -> Response:
    """Give a run a hint, or end the one that stands."""
    proposals = form.get("proposals", "").strip() or str(DEFAULT_HINT_PROPOSALS)
    if not (proposals.isascii() and proposals.isdigit()):
        raise UsageError(f"{proposals[:40]!r} is not a number of proposals: write one such as 10")
    hint = checked(HintCreate, text=form.get("text", ""), proposals=int(proposals))
    run = await api.send(calls.create_hint(run_id, hint))
    return go_to(f"/runs/{run.id}#hints")


async def hints_of(request: Request, api: AsyncClient, run: Run) -> dict[str, object]:
    """The hints of a run, and whether one may be given."""
    found = await if_any(api, calls.list_hints(run.id))
    return {"hints": found.items if found else [], "hinting": run.state not in ENDED and may(request, "runs:control")}
