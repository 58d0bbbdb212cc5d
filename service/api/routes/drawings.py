"""Views that are drawn on demand: they are requested here, and a runner has a worker draw them."""

from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, requires
from service.api.error_responses import raises
from service.api.idempotency import OnceDep, made
from service.api.openapi_responses import REPLAY_HEADER
from service.api.routes.candidates import CandidateId, Texts
from service.api.routes.runs import reader_of
from service.errors import NotFoundError, QuotaError
from service.ports import Caller, Scope
from service.projections.drawings import drawing_of
from service.schemas.drawings import Drawing

router = APIRouter(prefix="/v1", tags=["candidates"], route_class=ApiRoute)
# The bearer of a share sees what is drawn, and has nothing done.
Requesting = Annotated[Caller, Depends(requires(Scope.PROGRAMS_READ))]
_TAKEN: dict[int | str, dict[str, Any]] = {202: {"model": Drawing, "headers": REPLAY_HEADER}}


@router.get("/candidates/{candidate_id}/drawing", response_model=Drawing, operation_id="get_drawing")
def get_drawing(candidate_id: CandidateId, caller: Texts, parts: PartsDep) -> Drawing:
    """Read how far the view of a candidate is drawn."""
    candidate = reader_of(parts, caller).candidate(candidate_id)
    return drawing_of(candidate, parts.views.waiting(candidate.id), parts.clock.now())


@router.post(
    "/candidates/{candidate_id}/drawing",
    status_code=202,
    response_model=Drawing,
    responses=_TAKEN | raises(NotFoundError, QuotaError),
    operation_id="request_drawing",
)
def request_drawing(candidate_id: CandidateId, caller: Requesting, parts: PartsDep, once: OnceDep) -> Response:
    """Have the view of a candidate drawn. Repeating has no effect while it waits, or when it is drawn."""
    reader = reader_of(parts, caller)
    candidate = reader.candidate(candidate_id)

    def effect() -> Response:
        if candidate.view_on_demand:
            with suppress(NotFoundError):  # it was drawn since the candidate was read
                parts.views.request(caller.tenant, candidate.id, caller.actor)
        waiting = parts.views.waiting(candidate.id) if candidate.view_on_demand else None
        body = drawing_of(reader.candidate(candidate.id), waiting, parts.clock.now())
        return made(body, 202, {"Location": f"/v1/candidates/{candidate.id}/drawing"})

    return once(effect)
