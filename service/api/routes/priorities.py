"""Priorities: users have the next proposals of a run start from a candidate."""

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import Response

from evolve.change_events import RequestedChange
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep
from service.api.error_responses import raises
from service.api.idempotency import OnceDep
from service.api.routes.runs import CHANGED, Reading, RunId, Steering, reader_of, steered
from service.errors import NotFoundError
from service.identifiers import CHANGE, new_id
from service.projections.priorities import RunPriority, lift_priority_change, priority_change, standing_priorities
from service.schemas.changes import ChangedRun
from service.schemas.priorities import Priority, PriorityCreate, PriorityList

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=ApiRoute)
_STEERED = CHANGED | raises(NotFoundError)
CandidateName = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.-]{1,100}$", description="Id or name of a candidate.")]


@router.get("/{run_id}/priorities", response_model=PriorityList, operation_id="list_priorities")
def list_priorities(run_id: RunId, caller: Reading, parts: PartsDep) -> PriorityList:
    """List the priorities of a run that were not lifted or used up."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    found = standing_priorities(reader, run, parts.intents(caller.tenant).changes(run.id))
    return PriorityList(run_id=run.id, items=[_priority(one) for one in found])


@router.post(
    "/{run_id}/priorities",
    status_code=202,
    response_model=ChangedRun,
    responses=_STEERED,
    operation_id="create_priority",
)
def create_priority(run_id: RunId, body: PriorityCreate, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Give a candidate priority. The next proposals of the run start from it, also if no archive holds it.

    The search receives it within a second, as the event `priority.given`. Several priorities are used one after the
    other, the oldest first.
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    intents = parts.intents(caller.tenant)

    def check() -> RequestedChange:
        change_id, waiting = new_id(CHANGE, parts.clock.now()), intents.changes(run.id)
        return priority_change(
            reader, run, body.candidate_id, waiting, change_id, caller.actor, proposals=body.proposals
        )

    return once.after(check, lambda change: steered(parts, caller, run, change))


@router.delete(
    "/{run_id}/priorities/{candidate_id}",
    status_code=202,
    response_model=ChangedRun,
    responses=_STEERED,
    operation_id="lift_priority",
)
def lift_priority(
    run_id: RunId, candidate_id: CandidateName, caller: Steering, parts: PartsDep, once: OnceDep
) -> Response:
    """Lift the priority of a candidate before it is used up.

    The search receives this within a second, as the event `priority.lifted`.
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    intents = parts.intents(caller.tenant)

    def check() -> RequestedChange:
        change_id = new_id(CHANGE, parts.clock.now())
        return lift_priority_change(reader, run, candidate_id, intents.changes(run.id), change_id, caller.actor)

    return once.after(check, lambda change: steered(parts, caller, run, change))


def _priority(one: RunPriority) -> Priority:
    change = one.change
    return Priority(
        candidate_id=change.candidate_id, proposals=change.proposals, remaining=one.left, by=change.by, at=one.at
    )
