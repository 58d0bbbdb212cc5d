"""Views that are drawn on demand: the pages that show one have it drawn, and wait for it."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.pages import PageRoute, go_to, is_part, render
from service.dashboard.session import Api, FormDep
from service.dashboard.views.candidate import CandidateId
from service.errors import QuotaError, RateLimitedError
from service.schemas.candidates import Candidate
from service.schemas.drawings import Drawing

router = APIRouter(prefix="/candidates/{candidate_id}", route_class=PageRoute, include_in_schema=False)
# A list draws what costs little by itself. Whoever opens the candidate has it drawn, whatever it costs.
MAX_THUMBNAIL_SECONDS = 2.0
WHOLE, MAX_SIZE = 0, 400
Size = Annotated[int, Query(ge=WHOLE, le=MAX_SIZE)]
Asks = Annotated[int, Query(ge=0, le=10_000)]


@router.post("/drawing")
async def request_drawing(request: Request, candidate_id: CandidateId, api: Api, form: FormDep) -> Response:
    """Have the view of a candidate drawn."""
    written = form.get("size", "")
    size = min(int(written), MAX_SIZE) if written.isascii() and written.isdigit() and len(written) < 5 else WHOLE
    candidate = await api.send(calls.get_candidate(candidate_id))
    drawing, complaint = None, ""
    if candidate.view_on_demand and not (size and (candidate.seconds or 0.0) > MAX_THUMBNAIL_SECONDS):
        try:
            drawing = await api.send(calls.request_drawing(candidate.id))
            if drawing.state == "drawn":  # since the candidate was read
                candidate = await api.send(calls.get_candidate(candidate.id))
        except (QuotaError, RateLimitedError) as error:
            complaint = str(error)
    if not is_part(request):
        return go_to(f"/candidates/{candidate.id}#candidate-view")
    return _shown(request, candidate, drawing, size, 0, complaint)


@router.get("/drawing")
async def show_drawing(
    request: Request, candidate_id: CandidateId, api: Api, size: Size = WHOLE, asks: Asks = 0
) -> Response:
    """Show the view of a candidate, or that it is still waited for."""
    candidate = await api.send(calls.get_candidate(candidate_id))
    if not is_part(request):
        return go_to(f"/candidates/{candidate.id}#candidate-view")
    return _shown(request, candidate, await drawing_of(api, candidate), size, asks + 1)


async def drawing_of(api: AsyncClient, candidate: Candidate) -> Drawing | None:
    """How far a view is drawn; None: it is not drawn on demand, or is drawn."""
    if not candidate.view_on_demand:
        return None
    return await api.send(calls.get_drawing(candidate.id))


def _shown(
    request: Request, candidate: Candidate, drawing: Drawing | None, size: int, asks: int, complaint: str = ""
) -> Response:
    waits = drawing is not None and drawing.state == "waiting"
    return render(
        request,
        "candidate_drawing.html",
        candidate=candidate,
        drawing=drawing if waits else None,
        size=size,
        asks=asks,
        complaint=complaint,
        may_see_texts=candidate.feedback is not None,
    )
