"""Hints: what users suggest to a run at work, and what came of it."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from evolve.change_events import HintGiven, RequestedChange
from evolve.search.hints import check_hint
from service.api.auth import PartsDep, requires
from service.api.idempotency import OnceDep
from service.api.request_bodies import JsonRoute
from service.api.routes.runs import HINTED, RunId, Steering, located, reader_of
from service.api.run_cache import FoldsDep
from service.identifiers import CHANGE, new_id
from service.ports import Caller, Scope
from service.projections.hints import HintYield
from service.schemas.hints import Hint, HintCreate, HintList
from service.schemas.runs import Run

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=JsonRoute)

# Hints are words of people, as prompts hold them.
Reading = Annotated[Caller, Depends(requires(Scope.RUNS_READ, Scope.PROGRAMS_READ, shared=True))]


@router.post("/{run_id}/hints", status_code=202, response_model=Run, responses=HINTED, operation_id="create_hint")
def create_hint(run_id: RunId, body: HintCreate, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Give a run a hint. It is in the prompts of its next proposals, in place of any other hint.

    The run's search receives it within a second, as the event `hint.given`. An empty text ends the standing hint.
    """
    check_hint(body.text.strip(), body.proposals)
    run = reader_of(parts, caller).run(run_id)

    def give() -> Response:
        hint = HintGiven(
            change_id=new_id(CHANGE, datetime.now(UTC)),
            text=body.text.strip(),
            proposals=body.proposals,
            by=caller.actor,
        )
        return located(parts.intents(caller.tenant).change(run.id, RequestedChange(data=hint)), 202, caller)

    return once(give)


@router.get("/{run_id}/hints", response_model=HintList, operation_id="list_hints")
def list_hints(run_id: RunId, caller: Reading, parts: PartsDep, run_cache: FoldsDep) -> HintList:
    """List the hints of a run, each with the results of the proposals that it was shown to."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    return HintList(
        run_id=run.id,
        items=[_hint(one) for one in run_cache.hints(reader, run, parts.intents(caller.tenant).changes(run.id))],
    )


def _hint(one: HintYield) -> Hint:
    return Hint(
        id=one.hint.change_id,
        text=one.hint.text,
        proposals=one.hint.proposals,
        by=one.hint.by,
        at=one.at,
        used=one.used,
        evaluations=one.evaluations,
        valid=one.valid,
        improvements=one.improvements,
        best_fitness=one.best_fitness,
    )
