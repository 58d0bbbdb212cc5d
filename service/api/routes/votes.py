"""What the candidates of a run answer, where answers can be compared."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from evolve.statistics.voting import MIN_SHARE
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, requires
from service.api.etags import run_tag, seen, tagged
from service.api.openapi_responses import NOT_MODIFIED
from service.api.routes.runs import RunId, reader_of
from service.ports import Caller, Scope
from service.projections.votes import judge
from service.schemas.votes import Rule, RunVotes

router = APIRouter(prefix="/v1", tags=["metrics"], route_class=ApiRoute)

# Answers are of programs, as what evaluators say of them.
Reading = Annotated[Caller, Depends(requires(Scope.RUNS_READ, Scope.PROGRAMS_READ, shared=True))]
MinShare = Annotated[
    float,
    Query(ge=0, le=1, allow_inf_nan=False, description="Share of the votes from which an answer is frequent enough."),
]


@router.get("/runs/{run_id}/votes", response_model=RunVotes, responses=NOT_MODIFIED, operation_id="get_run_votes")
def get_run_votes(
    request: Request,
    run_id: RunId,
    caller: Reading,
    parts: PartsDep,
    rule: Annotated[Rule, Query(description="Which answer wins.")] = "majority",
    min_share: MinShare = MIN_SHARE,
) -> Response:
    """Count the answers of the candidates of a run, and read the winner.

    `majority`: the most frequent answer. `weighted`: the answer with the most fitness. `best_of_majority`: of the
    answers with `min_share` of the votes, the answer whose best candidate is the fittest. Evaluators give answers as
    `answer`. A run without answers has no votes.
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    if seen(request, run_tag(run)):
        return Response(status_code=304, headers={"ETag": run_tag(run)})
    return tagged(request, judge(run.id, reader.poll(run.id), rule, min_share), run_tag(run))
