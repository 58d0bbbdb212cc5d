"""How far the view of a candidate is drawn."""

from datetime import datetime

from service.ports import CandidateRecord, ViewRequest
from service.schemas.drawings import Drawing, DrawingState

# A runner looks for requests several times a second.
UNTAKEN_SECONDS = 10.0
NO_RUNNER = "No runner is at work: the view is drawn when `evolve serve` or `evolve runner` runs on this database."


def drawing_of(candidate: CandidateRecord, request: ViewRequest | None, now: datetime) -> Drawing:
    """The drawing of a candidate's view.

    Args:
        candidate: as it is stored.
        request: how its view waits; None: it does not.
        now: the time.
    """
    if candidate.view_on_demand and request is not None:
        waited = max(0.0, (now - request.created_at).total_seconds())
        untaken = not (request.tries or request.reason) and waited > UNTAKEN_SECONDS
        return Drawing(
            candidate_id=candidate.id,
            state="waiting",
            reason=NO_RUNNER if untaken else request.reason,
            waited_seconds=waited,
        )
    state: DrawingState = "undrawn" if candidate.view_on_demand else "drawn" if candidate.view_type else "failed"
    if not candidate.view_on_demand and candidate.view_type is None:
        state = "none"
    return Drawing(candidate_id=candidate.id, state=state, reason=candidate.view_reason)
