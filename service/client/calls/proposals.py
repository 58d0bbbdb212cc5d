"""Calls of the tag proposals. `scripts.openapi` writes them."""

from service.client.call import Call, chosen, place
from service.schemas.candidates import ProposalDetail, ProposalPage


def list_proposals(run_id: str, *, state: str | None = None, limit: int | None = None) -> Call[ProposalPage]:
    """List the proposals of a run in order of their numbers, without completions."""
    return Call(
        method="GET",
        path=place("/v1/runs/{}/proposals", run_id),
        params=chosen(state=state, limit=limit),
        answer=ProposalPage,
    )


def get_proposal(run_id: str, number: int) -> Call[ProposalDetail]:
    """Read a proposal with its prompt, its completions and their dropped parts."""
    return Call(method="GET", path=place("/v1/runs/{}/proposals/{}", run_id, str(number)), answer=ProposalDetail)


def get_proposal_by_id(proposal_id: str) -> Call[ProposalDetail]:
    """Read a proposal by its id, with its prompt, its completions and their dropped parts."""
    return Call(method="GET", path=place("/v1/proposals/{}", proposal_id), answer=ProposalDetail)
