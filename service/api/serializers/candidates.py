"""Candidates, their evaluations and proposals as the API shows them."""

from typing import Any

from evolve.identity import evaluation_id, proposal_id
from service.ports import Caller, CandidateRecord, EvaluationRecord, ProposalRecord, Scope
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
        id=candidate.id,
        run_id=candidate.run_id,
        program_id=candidate.program_id,
        proposal_id=proposal_id(candidate.run_id, candidate.number),
        proposal_number=candidate.number,
        position=candidate.position,
        island=candidate.island,
        islands=list(candidate.islands),
        operator=candidate.operator,
        policy=candidate.policy,
        status=candidate.status,
        outcome=candidate.outcome,
        reason=candidate.reason,
        fitness=candidate.fitness,
        scores=dict(candidate.scores),
        rewards=None if candidate.rewards is None else list(candidate.rewards),
        measures=dict(candidate.measures),
        cases=dict(candidate.cases),
        spread=dict(candidate.spread),
        repeats=candidate.repeats,
        feedback=_for(caller, candidate.feedback),
        answer=_for(caller, candidate.answer),
        seconds=candidate.seconds,
        isolation=candidate.isolation,
        parents=[Parent(candidate_id=edge.candidate_id, role=edge.role) for edge in candidate.parents],
        duplicate_of=candidate.duplicate_of,
        created_at=candidate.created_at,
        evaluated_at=candidate.evaluated_at,
        urls=CandidateUrls(
            self=base,
            run=run,
            source=f"{base}/source",
            lineage=f"{base}/lineage",
            children=f"{base}/children",
            diff=f"{base}/diff",
            evaluations=f"{base}/evaluations",
            proposal=f"{run}/proposals/{candidate.number}" if candidate.number else None,
        ),
    )


def shown_evaluation(evaluation: EvaluationRecord, caller: Caller) -> Evaluation:
    """An attempt at scoring as it goes over the wire."""
    return Evaluation(
        id=evaluation_id(evaluation.candidate_id, evaluation.attempt),
        candidate_id=evaluation.candidate_id,
        attempt=evaluation.attempt,
        outcome=evaluation.outcome,
        reason=evaluation.reason,
        scores=dict(evaluation.scores),
        measures=dict(evaluation.measures),
        cases=dict(evaluation.cases),
        spread=dict(evaluation.spread),
        repeats=evaluation.repeats,
        feedback=_for(caller, evaluation.feedback),
        answer=_for(caller, evaluation.answer),
        seconds=evaluation.seconds,
        worker=evaluation.worker,
        isolation=evaluation.isolation,
        at=evaluation.at,
    )


def shown_proposal(proposal: ProposalRecord) -> Proposal:
    """A proposal without what was written."""
    return Proposal(**_facts(proposal))


def shown_detail(proposal: ProposalRecord) -> ProposalDetail:
    """A proposal with its prompt and completions."""
    return ProposalDetail(
        **_facts(proposal),
        prompt=[Message(role=message["role"], content=message["content"]) for message in proposal.prompt],
        completions=list(proposal.completions),
        reasoning=list(proposal.reasoning),
        dropped=list(proposal.dropped),
    )


def _for(caller: Caller, text: str | None) -> str | None:
    return text if Scope.PROGRAMS_READ in caller.scopes else None


def _facts(proposal: ProposalRecord) -> dict[str, Any]:
    names = (
        "id", "run_id", "number", "island", "operator", "probability", "selection", "weights", "rationale", "policy",
        "state", "reason", "tokens_input", "tokens_cached", "tokens_output", "cost", "seconds", "finish_reasons",
        "created_at", "answered_at", "form",
    )  # fmt: skip
    run = f"/v1/runs/{proposal.run_id}"
    urls = ProposalUrls(
        self=f"{run}/proposals/{proposal.number}", candidates=f"{run}/candidates?number={proposal.number}"
    )
    charges = [Charge.model_validate(charge) for charge in proposal.charges]
    return {**{name: getattr(proposal, name) for name in names}, "charges": charges, "urls": urls}
