"""Insights: what a run has learnt, in versions that users may edit."""

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from evolve.change_events import InsightsWritten, RequestedChange
from evolve.search.insights import PERSON, check_insights
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, requires
from service.api.idempotency import OnceDep
from service.api.routes.runs import HINTED, RunId, Steering, reader_of, steered
from service.identifiers import CHANGE, new_id
from service.ports import Caller, Scope
from service.projections.insight_versions import insights_list
from service.schemas.changes import ChangedRun
from service.schemas.insights import InsightsEdit, InsightsList

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=ApiRoute)

# Insights quote lines of programs.
Reading = Annotated[Caller, Depends(requires(Scope.RUNS_READ, Scope.PROGRAMS_READ, shared=True))]


@router.get("/{run_id}/insights", response_model=InsightsList, operation_id="list_insights")
def list_insights(run_id: RunId, caller: Reading, parts: PartsDep) -> InsightsList:
    """List the versions of what a run has learnt, with the edits of users that wait for the run."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    return insights_list(reader, run.id, parts.intents(caller.tenant).changes(run.id))


@router.post(
    "/{run_id}/insights", status_code=202, response_model=ChangedRun, responses=HINTED, operation_id="edit_insights"
)
def edit_insights(run_id: RunId, body: InsightsEdit, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Write the next version of a run's insights. It is in prompts until the run writes another.

    The search receives it within a second, as the event `insights.written`. Lines that are not in the version before
    stay in the versions that the run writes later.
    """
    text = body.text.strip()
    check_insights(text)
    run = reader_of(parts, caller).run(run_id)

    def write() -> Response:
        edit = InsightsWritten(
            change_id=new_id(CHANGE, parts.clock.now()), by=caller.actor, text=text, source=PERSON, evaluations=0
        )
        return steered(parts, caller, run, RequestedChange(data=edit))

    return once(write)
