"""Settings of runs that users change while they are active."""

from fastapi import APIRouter
from fastapi.responses import Response

from evolve.change_events import RequestedChange
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep
from service.api.idempotency import OnceDep
from service.api.routes.runs import HINTED, Reading, RunId, Steering, reader_of, steered
from service.identifiers import CHANGE, new_id
from service.projections.run_settings import current_settings, settings_change
from service.schemas.changes import ChangedRun
from service.schemas.run_settings import RunSettings, SettingsChange

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=ApiRoute)


@router.get("/{run_id}/settings", response_model=RunSettings, operation_id="get_settings")
def get_settings(run_id: RunId, caller: Reading, parts: PartsDep) -> RunSettings:
    """Read the settings of a run that may change while it is active, with the changes so far."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    waiting = parts.intents(caller.tenant).changes(run.id)
    return RunSettings(run_id=run.id, settings=current_settings(reader, run, waiting))


@router.post(
    "/{run_id}/settings", status_code=202, response_model=ChangedRun, responses=HINTED, operation_id="change_settings"
)
def change_settings(run_id: RunId, body: SettingsChange, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Change settings of an active run. They hold for the proposals to come.

    The search receives them within a second, as the event `settings.changed`. `extend` changes the budget.
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    intents = parts.intents(caller.tenant)

    def check() -> RequestedChange:
        change_id = new_id(CHANGE, parts.clock.now())
        return settings_change(reader, run, intents.changes(run.id), body.settings, change_id, caller.actor)

    return once.after(check, lambda change: steered(parts, caller, run, change))
