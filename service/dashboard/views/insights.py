"""What a run has learnt, version by version, and the form that edits it."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.pages import PageRoute, go_to, may
from service.dashboard.run_page import ENDED, RunId, render_run
from service.dashboard.session import Api, FormDep
from service.dashboard.views.candidate import if_any
from service.schemas.insights import InsightsEdit, InsightsVersion
from service.schemas.requests import checked
from service.schemas.runs import Run

router = APIRouter(prefix="/runs/{run_id}", route_class=PageRoute, include_in_schema=False)
MAX_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVersion:
    """A version with the lines by which it differs from the one before: `added`, `removed` or `same`, and the text."""

    version: InsightsVersion
    lines: Sequence[tuple[str, str]]


@router.get("/insights")
async def show_insights(request: Request, run_id: RunId, api: Api) -> Response:
    """Show the insights of a run alone, as they are now."""
    run = await api.send(calls.get_run(run_id))
    return await render_run(request, api, run, "run_insights.html", "overview", **await insights_of(request, api, run))


@router.post("/insights")
async def edit_insights(run_id: RunId, api: Api, form: FormDep) -> Response:
    """Write the next version of a run's insights."""
    edit = checked(InsightsEdit, text=form.get("text", "").replace("\r\n", "\n"))
    run = await api.send(calls.edit_insights(run_id, edit))
    return go_to(f"/runs/{run.id}#insights")


async def insights_of(request: Request, api: AsyncClient, run: Run) -> dict[str, object]:
    """The insights of a run, the newest first, and whether they may be edited."""
    found = await if_any(api, calls.list_insights(run.id))
    items = found.items[: MAX_SHOWN + 1] if found else []
    before = [*(one.text for one in items), ""][1:]
    shown = [ShownVersion(version=one, lines=compared(old, one.text)) for one, old in zip(items, before, strict=True)]
    may_edit = run.state not in ENDED and may(request, "runs:control")
    wanted = bool(items) or bool(run.config.get("insights", {}).get("every"))
    return {"insights": shown[:MAX_SHOWN], "editing_insights": may_edit and wanted}


def compared(before: str, after: str) -> list[tuple[str, str]]:
    """The lines of a version, with those of the one before that it lacks."""
    kinds = {"+": "added", "-": "removed", " ": "same"}
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [(kinds[line[0]], line[2:]) for line in lines if line[0] in kinds]
