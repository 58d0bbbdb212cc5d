"""Hints: what users suggest to a run at work."""

from fastapi import APIRouter
from fastapi.responses import Response

from evolve.change_events import HintGiven, RequestedChange
from evolve.search.hints import check_hint
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep
from service.api.idempotency import OnceDep
from service.api.routes.runs import HINTED, RunId, Steering, reader_of, steered
from service.identifiers import CHANGE, new_id
from service.projections.candidates import island_count
from service.schemas.changes import ChangedRun
from service.schemas.hints import HintCreate

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=ApiRoute)


@router.post(
    "/{run_id}/hints", status_code=202, response_model=ChangedRun, responses=HINTED, operation_id="create_hint"
)
def create_hint(run_id: RunId, body: HintCreate, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Give a run, or one of its islands, a hint. It is in the next prompts, in place of any other hint.

    The run's search receives it within a second, as the event `hint.given`. An empty text ends the standing hint. On
    an island with a hint of its own, that hint comes before a hint for all islands.
    """
    run = reader_of(parts, caller).run(run_id)
    check_hint(body.text.strip(), body.proposals, body.island, island_count(run))

    def give() -> Response:
        hint = HintGiven(
            change_id=new_id(CHANGE, parts.clock.now()),
            text=body.text.strip(),
            proposals=body.proposals,
            island=body.island,
            by=caller.actor,
        )
        return steered(parts, caller, run, RequestedChange(data=hint))

    return once(give)
