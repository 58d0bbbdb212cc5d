"""Changes of a run at work by people: the form of a hint, and what all of them brought."""

import json

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import JsonValue

from service.client import AsyncClient, calls
from service.dashboard.pages import PageRoute, go_to, may
from service.dashboard.run_page import ENDED, RunId, render_run
from service.dashboard.session import Api, FormDep
from service.dashboard.views.candidate import if_any
from service.projections.candidates import configured_islands
from service.schemas.hints import DEFAULT_HINT_PROPOSALS, HintCreate
from service.schemas.requests import checked
from service.schemas.run_settings import SettingsChange
from service.schemas.runs import Run

router = APIRouter(prefix="/runs/{run_id}", route_class=PageRoute, include_in_schema=False)


@router.get("/changes")
async def show_changes(request: Request, run_id: RunId, api: Api) -> Response:
    """Show the changes of a run alone, as they are now."""
    run = await api.send(calls.get_run(run_id))
    return await render_run(request, api, run, "run_changes.html", "overview", **await changes_of(request, api, run))


@router.post("/hints")
async def give_hint(run_id: RunId, api: Api, form: FormDep) -> Response:
    """Give a run a hint, or end the one that stands."""
    hint = checked(
        HintCreate,
        text=form.get("text", ""),
        proposals=form.proposals(DEFAULT_HINT_PROPOSALS),
        island=form.island(),
    )
    run = await api.send(calls.create_hint(run_id, hint))
    return go_to(f"/runs/{run.id}#changes")


@router.post("/settings")
async def change_setting(run_id: RunId, api: Api, form: FormDep) -> Response:
    """Give a setting of a run another value."""
    key, text = form.get("key", ""), form.get("value", "").strip()
    wanted = checked(SettingsChange, settings={key: setting_value(text)})
    run = await api.send(calls.change_settings(run_id, wanted))
    return go_to(f"/runs/{run.id}/setup#settings")


def setting_value(text: str) -> JsonValue:
    """A value as a person writes it: JSON where it is that, else a word."""
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return text
    return value


async def changes_of(request: Request, api: AsyncClient, run: Run) -> dict[str, object]:
    """The changes of a run by people, and whether one may be made."""
    found = await if_any(api, calls.list_changes(run.id))
    may_hint = run.state not in ENDED and may(request, "runs:control")
    islands = configured_islands(run.config)
    return {"changes": found.items if found else [], "hinting": may_hint, "island_count": islands}
