"""Calls about programs and the proposals that they came of."""

from typing import Literal

from service.client.call import Call, chosen, place
from service.schemas.candidates import (
    Candidate,
    CandidateDiff,
    CandidatePage,
    Direction,
    EvaluationPage,
    Lineage,
    ProposalDetail,
    ProposalPage,
    ReevaluationReply,
    Source,
)

PROGRAM, PROPOSALS = "/v1/candidates/{}", "/v1/runs/{}/proposals"


def list_candidates(
    run_id: str,
    *,
    order: Literal["age", "fitness"] = "age",
    status: str = "",
    outcome: str = "",
    island: int | None = None,
    operator: str = "",
    policy: str = "",
    proposal_number: int | None = None,
    text: str = "",
    limit: int | None = None,
    count: bool = False,
) -> Call[CandidatePage]:
    """List the programs of a run: all by age, or those that were evaluated with success by fitness."""
    params = chosen(
        order=order,
        status=status,
        outcome=outcome,
        island=island,
        operator=operator,
        policy=policy,
        proposal_number=proposal_number,
        text=text,
        limit=limit,
        include="count" if count else "",
    )
    return Call(method="GET", path=place("/v1/runs/{}/candidates", run_id), params=params, answer=CandidatePage)


def get_candidate(candidate_id: str) -> Call[Candidate]:
    """Read a candidate."""
    return Call(method="GET", path=place(PROGRAM, candidate_id), answer=Candidate)


def get_candidate_source(candidate_id: str) -> Call[Source]:
    """Read the source text of a candidate."""
    return Call(method="GET", path=place(f"{PROGRAM}/source", candidate_id), answer=Source)


def get_candidate_file(candidate_id: str, path: str) -> Call[bytes]:
    """Read one file of a candidate."""
    parts = path.split("/")
    template = f"{PROGRAM}/files/" + "/".join("{}" for _ in parts)
    return Call(method="GET", path=place(template, candidate_id, *parts), answer=bytes)


def get_lineage(
    candidate_id: str, *, direction: Direction = "ancestors", to: str = "", limit: int | None = None
) -> Call[Lineage]:
    """Read where a candidate comes from, what came of it, or how it is related to another."""
    params = chosen(direction=direction, to=to, limit=limit)
    return Call(method="GET", path=place(f"{PROGRAM}/lineage", candidate_id), params=params, answer=Lineage)


def list_children(candidate_id: str, *, limit: int | None = None) -> Call[CandidatePage]:
    """List the candidates that have this one as parent."""
    params = chosen(limit=limit)
    return Call(method="GET", path=place(f"{PROGRAM}/children", candidate_id), params=params, answer=CandidatePage)


def get_diff(candidate_id: str, against: str = "") -> Call[CandidateDiff]:
    """Compare a candidate with another, or with its first parent."""
    params = chosen(against=against)
    return Call(method="GET", path=place(f"{PROGRAM}/diff", candidate_id), params=params, answer=CandidateDiff)


def list_evaluations(candidate_id: str, *, limit: int | None = None) -> Call[EvaluationPage]:
    """List all attempts at scoring a candidate."""
    params = chosen(limit=limit)
    return Call(method="GET", path=place(f"{PROGRAM}/evaluations", candidate_id), params=params, answer=EvaluationPage)


def reevaluate_candidate(candidate_id: str) -> Call[ReevaluationReply]:
    """Have a candidate of a paused or ended run evaluated once more."""
    return Call(method="POST", path=place(f"{PROGRAM}/evaluations", candidate_id), answer=ReevaluationReply)


def list_proposals(run_id: str, *, state: str = "", limit: int | None = None) -> Call[ProposalPage]:
    """List the proposals of a run, without what was written."""
    params = chosen(state=state, limit=limit)
    return Call(method="GET", path=place(PROPOSALS, run_id), params=params, answer=ProposalPage)


def get_proposal(run_id: str, number: int) -> Call[ProposalDetail]:
    """Read a proposal with its prompt and completions."""
    return Call(method="GET", path=place(f"{PROPOSALS}/{{}}", run_id, str(number)), answer=ProposalDetail)


def get_proposal_by_id(proposal_id: str) -> Call[ProposalDetail]:
    """Read a proposal by its id, with its prompt and completions."""
    return Call(method="GET", path=place("/v1/proposals/{}", proposal_id), answer=ProposalDetail)
