"""How similar the programs of a run are, as a map."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.api.api_route import ApiRoute
from service.api.auth import PartsDep
from service.api.etags import run_tag, seen, tagged
from service.api.openapi_responses import NOT_MODIFIED
from service.api.routes.runs import Reading, RunId, reader_of
from service.api.run_cache import FoldsDep
from service.api.serializers.columns import shown_program_map
from service.schemas.program_map import ProgramMap

router = APIRouter(prefix="/v1", tags=["metrics"], route_class=ApiRoute)


@router.get(
    "/runs/{run_id}/program-map", response_model=ProgramMap, responses=NOT_MODIFIED, operation_id="get_program_map"
)
def get_program_map(request: Request, run_id: RunId, caller: Reading, parts: PartsDep, run_cache: FoldsDep) -> Response:
    """Read the map of the evaluated programs of a run, in which programs with similar tokens lie near each other.

    Each request places up to 2,000 more programs. Ask again until the map is complete. `correlation` says how well its
    distances keep the order of the token distances. When a run has twice as many evaluations, its map is drawn anew.
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    if seen(request, run_tag(run)):
        return Response(status_code=304, headers={"ETag": run_tag(run)})
    drawn, placed = run_cache.program_map(reader, run)
    body = shown_program_map(run.id, drawn, placed)
    return tagged(request, body, run_tag(run) if placed.complete else f'{run_tag(run)[:-1]}-{len(placed.places)}"')
