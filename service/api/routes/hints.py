"""Hints: what users suggest to a run at work."""

from fastapi import APIRouter
from fastapi.responses import Response

from evolve.change_events import HintGiven, RequestedChange
from evolve.search.hints import check_hint
from service.api.auth import PartsDep
from service.api.idempotency import OnceDep
from service.api.request_bodies import JsonRoute
from service.api.routes.runs import HINTED, RunId, Steering, located, reader_of
from service.identifiers import CHANGE, new_id
from service.schemas.hints import HintCreate
from service.schemas.runs import Run

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=JsonRoute)


@router.post("/{run_id}/hints", status_code=202, response_model=Run, responses=HINTED, operation_id="create_hint")
def create_hint(run_id: RunId, body: HintCreate, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Give a run a hint. It is in the prompts of its next proposals, in place of any other hint.

    The run's search receives it within a second, as the event `hint.given`. An empty text ends the standing hint.
    """
    check_hint(body.text.strip(), body.proposals)
    run = reader_of(parts, caller).run(run_id)

    def give() -> Response:
        hint = HintGiven(
            change_id=new_id(CHANGE, parts.clock.now()),
            text=body.text.strip(),
            proposals=body.proposals,
            by=caller.actor,
        )
        return located(parts.intents(caller.tenant).change(run.id, RequestedChange(data=hint)), 202, caller)

    return once(give)
