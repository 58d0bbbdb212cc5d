"""Why answers of a run came to nothing."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, requires
from service.api.etags import run_tag, seen, tagged
from service.api.openapi_responses import NOT_MODIFIED
from service.api.routes.runs import RunId, reader_of
from service.ports import Caller, Scope
from service.projections.failures import group_failures
from service.schemas.failures import RunFailures

router = APIRouter(prefix="/v1", tags=["metrics"], route_class=ApiRoute)

# Reasons quote what programs raise.
Reading = Annotated[Caller, Depends(requires(Scope.RUNS_READ, Scope.PROGRAMS_READ, shared=True))]


@router.get(
    "/runs/{run_id}/failures", response_model=RunFailures, responses=NOT_MODIFIED, operation_id="get_run_failures"
)
def get_run_failures(request: Request, run_id: RunId, caller: Reading, parts: PartsDep) -> Response:
    """Count the failed answers of a run by reason, with the time that their evaluations took.

    It counts failed evaluations, rejected answers, duplicates, parts of completions without an answer, and proposals
    that failed. Reasons that differ only in numbers and quoted values share a group.
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    if seen(request, run_tag(run)):
        return Response(status_code=304, headers={"ETag": run_tag(run)})
    return tagged(request, group_failures(run.id, reader.outcomes(run.id)), run_tag(run))
