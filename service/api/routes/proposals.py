"""Proposals: what policies were asked, and what they wrote."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from service.api.api_route import ApiRoute
from service.api.auth import PartsDep
from service.api.pagination import DEFAULT_LIMIT, Cursor, Limit, Paging
from service.api.routes.candidates import Texts
from service.api.routes.runs import Reading, RunId, reader_of
from service.api.serializers.candidates import shown_detail, shown_proposal
from service.schemas.candidates import ProposalDetail, ProposalPage

router = APIRouter(prefix="/v1", tags=["proposals"], route_class=ApiRoute)

State = Annotated[
    str,
    Query(
        pattern=r"^(asked|answered|failed|unreadable)?$",
        description="Only in this state. `unreadable`: with parts of completions that made no answer.",
    ),
]
ProposalId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,100}$", description="Id of a proposal: `prp_...`.")]
Number = Annotated[int, Path(ge=0, le=2**31 - 1, description="Number of a proposal in its run.")]


@router.get("/runs/{run_id}/proposals", response_model=ProposalPage, operation_id="list_proposals")
def list_proposals(
    run_id: RunId,
    caller: Reading,
    parts: PartsDep,
    state: State = "",
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = "",
) -> ProposalPage:
    """List the proposals of a run in order of their numbers, without completions."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    paging = Paging(parts.signer, cursor, limit, {"list": "proposals", "run": run.id, "state": state})
    after = -1 if paging.after is None else int(paging.after)
    rows, following = paging.cut(reader.proposals(run.id, after, paging.limit + 1, state), lambda row: row.number)
    return ProposalPage(items=[shown_proposal(row) for row in rows], next_cursor=following)


@router.get("/runs/{run_id}/proposals/{number}", response_model=ProposalDetail, operation_id="get_proposal")
def get_proposal(run_id: RunId, number: Number, caller: Texts, parts: PartsDep) -> ProposalDetail:
    """Read a proposal with its prompt, its completions and their dropped parts."""
    return shown_detail(reader_of(parts, caller).proposal(run_id, number))


@router.get("/proposals/{proposal_id}", response_model=ProposalDetail, operation_id="get_proposal_by_id")
def get_proposal_by_id(proposal_id: ProposalId, caller: Texts, parts: PartsDep) -> ProposalDetail:
    """Read a proposal by its id, with its prompt, its completions and their dropped parts."""
    return shown_detail(reader_of(parts, caller).proposal_named(proposal_id))
