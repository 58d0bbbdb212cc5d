"""What a run came to, in numbers."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.api.api_route import ApiRoute
from service.api.auth import PartsDep
from service.api.etags import run_tag, seen, tagged
from service.api.openapi_responses import NOT_MODIFIED
from service.api.routes.runs import Reading, RunId, reader_of
from service.api.run_cache import FoldsDep
from service.schemas.statistics import RunStatistics

router = APIRouter(prefix="/v1", tags=["metrics"], route_class=ApiRoute)


@router.get(
    "/runs/{run_id}/statistics",
    response_model=RunStatistics,
    responses=NOT_MODIFIED,
    operation_id="get_run_statistics",
)
def get_run_statistics(
    request: Request, run_id: RunId, caller: Reading, parts: PartsDep, run_cache: FoldsDep
) -> Response:
    """Read the statistics of a run: best@k, pass@k, hypervolume, coverage, diversity, migration, yields, cost.

    The reference of metrics defines each number, with formula and source. Large sets are compared pair by pair on a
    sample, always the same. Each part says how many items it looked at.
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    if seen(request, run_tag(run)):
        return Response(status_code=304, headers={"ETag": run_tag(run)})
    return tagged(request, run_cache.statistics(reader, run), run_tag(run))
