"""Changes that users made of runs at work: the decision on each, and its effect."""

import time
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, requires
from service.api.connection_limits import opened_of
from service.api.error_responses import raises
from service.api.event_poller import watch_of
from service.api.idempotency import made
from service.api.routes.runs import DecisionPrefer, RunId, reader_of, wait_of
from service.api.routes.runs import Reading as ReadingRuns
from service.api.run_cache import FoldsDep
from service.errors import NotFoundError
from service.ports import ENDED, Caller, RunRecord, Scope
from service.projections.change_decisions import PENDING, SearchDecision, find_decision
from service.projections.change_list import describe_change
from service.schemas.changes import ChangeDecision, ChangeList

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=ApiRoute)

# Hints are words of people, as prompts hold them.
Reading = Annotated[Caller, Depends(requires(Scope.RUNS_READ, Scope.PROGRAMS_READ, shared=True))]
ChangeId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="Id of a change.")]


@router.get("/{run_id}/changes", response_model=ChangeList, operation_id="list_changes")
def list_changes(run_id: RunId, caller: Reading, parts: PartsDep, run_cache: FoldsDep) -> ChangeList:
    """List the changes of a run that users asked for, each with its effect."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    waiting = parts.intents(caller.tenant).changes(run.id)
    return ChangeList(run_id=run.id, items=[describe_change(one) for one in run_cache.changes(reader, run, waiting)])


@router.get(
    "/{run_id}/changes/{change_id}",
    response_model=ChangeDecision,
    responses=raises(NotFoundError),
    operation_id="get_change",
)
async def get_change(
    request: Request,
    run_id: RunId,
    change_id: ChangeId,
    caller: ReadingRuns,
    parts: PartsDep,
    prefer: DecisionPrefer = "",
) -> Response:
    """Read how the search decided on a change. `Prefer: wait=10` waits for the decision."""
    reader = reader_of(parts, caller)
    intents = parts.intents(caller.tenant)

    def read(after: int = 0) -> tuple[RunRecord, SearchDecision]:
        run = reader.run(run_id)
        return run, find_decision(reader, run.id, change_id, intents.changes(run.id), after)

    run, decision = await run_in_threadpool(read)
    seconds = wait_of(prefer)
    if seconds is None:
        return made(_reply(run, decision), 200)
    until = time.monotonic() + seconds
    with opened_of(request).one(caller.actor):
        while decision.state == PENDING and run.state not in ENDED and (rest := until - time.monotonic()) > 0:
            news = await watch_of(request).beyond(run.id, run.sequence, rest)
            run, decision = await run_in_threadpool(read, run.sequence)
            if not news:
                break
    return made(_reply(run, decision), 200, {"Preference-Applied": f"wait={seconds}"})


def _reply(run: RunRecord, decision: SearchDecision) -> ChangeDecision:
    return ChangeDecision(
        run_id=run.id,
        id=decision.change_id,
        kind=decision.kind,
        state=decision.state,
        reason=decision.reason,
        at=decision.at,
    )
