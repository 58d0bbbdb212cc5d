"""Events for tests that look at a few of their fields alone."""

from collections.abc import Mapping
from typing import Any

from evolve.event_types import CandidateRejected, EventKind, ProposalCreated

_BY = {"by": "test"}
# The fields of a kind's payload that a test may leave out, with their values.
_REST: Mapping[EventKind, Mapping[str, Any]] = {
    EventKind.RUN_CREATED: _BY,
    EventKind.RUN_STARTED: _BY,
    EventKind.RUN_PAUSING: _BY,
    EventKind.RUN_PAUSED: _BY,
    EventKind.RUN_RESUMED: _BY,
    EventKind.RUN_CONTINUED: _BY,
    EventKind.RUN_CANCELLED: _BY,
    EventKind.BUDGET_EXTENDED: _BY,
    EventKind.HINT_GIVEN: _BY,
    EventKind.PROGRAM_INSERTED: _BY,
    EventKind.CANDIDATE_BANNED: _BY,
    EventKind.BAN_LIFTED: _BY,
    EventKind.PRIORITY_GIVEN: _BY,
    EventKind.PRIORITY_LIFTED: _BY,
    EventKind.SETTINGS_CHANGED: _BY,
    EventKind.CHANGE_REFUSED: _BY,
    EventKind.RUN_FINISHED: {"candidate_id": None, "fitness": None},
    EventKind.PROPOSAL_ANSWERED: {"dropped": 0, "drops": {}, "cost": None, "seconds": None},
    EventKind.CANDIDATE_REJECTED: {"parents": []},
    EventKind.CANDIDATE_EVALUATED: {"attempt": 1},
    EventKind.INDIVIDUAL_INSERTED: {"displaced": []},
    EventKind.BEST_IMPROVED: {"objective": None},
}


def whole_payload(kind: EventKind, payload: Mapping[str, Any]) -> dict[str, Any]:
    """A payload with every field that its kind has."""
    return {**_REST.get(kind, {}), **payload}


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
