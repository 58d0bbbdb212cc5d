"""Events for tests that look at a few of their fields alone."""

from typing import Any

from evolve.event_types import CandidateRejected, ProposalCreated


def proposal_created(number: int, **changes: Any) -> ProposalCreated:
    fields: dict[str, Any] = {
        "proposal_id": f"prp_{number}",
        "island": 0,
        "operator": "mutate",
        "probability": 1.0,
        "selection": "dirichlet",
        "weights": (),
        "rationale": {},
        "parents": (("cnd_parent", "parent"),),
        "failures": (),
        "rejections": (),
        "policy": "m",
        "seed": 7,
        "answers": 1,
        "samples": 1,
        "limit": 1,
    }
    return ProposalCreated(proposal_number=number, **fields | changes)


def candidate_rejected(number: int, position: int = 0) -> CandidateRejected:
    return CandidateRejected(
        candidate_id=f"cnd_{number}_{position}",
        proposal_number=number,
        position=position,
        island=0,
        parents=(("cnd_parent", "parent"),),
        reason="it holds no program",
    )
