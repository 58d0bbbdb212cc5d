"""Candidates, their evaluations and proposals as the API shows them."""

from typing import Any

from evolve.identity import evaluation_id, proposal_id
from service.ports import Caller, CandidateRecord, EvaluationRecord, ProposalRecord, Scope
from service.ports.shared_fields import for_schema
from service.schemas.candidates import (
    Candidate,
    CandidateUrls,
    Charge,
    Evaluation,
    Message,
    Parent,
    Proposal,
    ProposalDetail,
    ProposalUrls,
)


def shown_candidate(candidate: CandidateRecord, caller: Caller) -> Candidate:
    """A candidate as it goes over the wire; what the evaluator wrote only to those who may read programs."""
    base, run = f"/v1/candidates/{candidate.id}", f"/v1/runs/{candidate.run_id}"
    return Candidate(
        **for_schema(
            candidate,
            Candidate,
            proposal_id=proposal_id(candidate.run_id, candidate.proposal_number),
            name=f"{candidate.proposal_number}.{candidate.position}",
            feedback=_for(caller, candidate.feedback),
            answer=_for(caller, candidate.answer),
            view_reason=_for(caller, candidate.view_reason),
            parents=[Parent(candidate_id=edge.candidate_id, role=edge.role) for edge in candidate.parents],
        ),
        urls=CandidateUrls(
            self=base,
            run=run,
            source=f"{base}/source",
            lineage=f"{base}/lineage",
            children=f"{base}/children",
            diff=f"{base}/diff",
            evaluations=f"{base}/evaluations",
            drawing=f"{base}/drawing" if candidate.view_on_demand else None,
            view=f"{base}/view" if candidate.view_type else None,
            proposal=f"{run}/proposals/{candidate.proposal_number}" if candidate.proposal_number else None,
        ),
    )


def shown_evaluation(evaluation: EvaluationRecord, caller: Caller) -> Evaluation:
    """An attempt at scoring as it goes over the wire."""
    return Evaluation(
        **for_schema(
            evaluation,
            Evaluation,
            id=evaluation_id(evaluation.candidate_id, evaluation.attempt),
            feedback=_for(caller, evaluation.feedback),
            answer=_for(caller, evaluation.answer),
        )
    )


def shown_proposal(proposal: ProposalRecord) -> Proposal:
    """A proposal without what was written."""
    return Proposal(**for_schema(proposal, Proposal, **_parts_of(proposal)))


def shown_detail(proposal: ProposalRecord) -> ProposalDetail:
    """A proposal with its prompt and completions."""
    prompt = [Message(role=message["role"], content=message["content"]) for message in proposal.prompt]
    return ProposalDetail(**for_schema(proposal, ProposalDetail, prompt=prompt, **_parts_of(proposal)))


def _for(caller: Caller, text: str | None) -> str | None:
    return text if Scope.PROGRAMS_READ in caller.scopes else None


def _parts_of(proposal: ProposalRecord) -> dict[str, Any]:
    run = f"/v1/runs/{proposal.run_id}"
    return {
        "charges": [Charge.model_validate(charge) for charge in proposal.charges],
        "urls": ProposalUrls(
            self=f"{run}/proposals/{proposal.number}",
            candidates=f"{run}/candidates?proposal_number={proposal.number}",
        ),
    }
