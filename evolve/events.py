"""Events: the append-only truth of a run. State is their fold; everything shown is a projection of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from evolve.proposal import Candidate, CompletedReply, Individual, Proposal

SCHEMA = 1

Subject = Proposal | CompletedReply | Candidate | Individual


class EventKind(StrEnum):
    """Every kind of event; payloads hold ids and small numbers only, never texts."""

    RUN_CREATED = "run.created"
    RUN_STARTED = "run.started"
    RUN_PAUSING = "run.pausing"
    RUN_PAUSED = "run.paused"
    RUN_RESUMED = "run.resumed"
    RUN_CONTINUED = "run.continued"
    RUN_CANCELLED = "run.cancelled"
    RUN_FINISHED = "run.finished"
    RUN_WAITING = "run.waiting"
    RUN_UNBLOCKED = "run.unblocked"
    POLICY_UNAVAILABLE = "policy.unavailable"
    POLICY_RECOVERED = "policy.recovered"
    POLICY_ADAPTED = "policy.adapted"
    RUN_CLOSING = "run.closing"
    HOLDOUT_SCORED = "holdout.scored"
    AUDIT_SCORED = "audit.scored"
    BUDGET_EXTENDED = "budget.extended"
    PROPOSAL_CREATED = "proposal.created"
    PROPOSAL_ANSWERED = "proposal.answered"
    PROPOSAL_FAILED = "proposal.failed"
    CANDIDATE_CREATED = "candidate.created"
    CANDIDATE_REJECTED = "candidate.rejected"
    CANDIDATE_DUPLICATE = "candidate.duplicate"
    CANDIDATE_EVALUATED = "candidate.evaluated"
    CANDIDATE_REEVALUATED = "candidate.reevaluated"
    INDIVIDUAL_INSERTED = "individual.inserted"
    BEST_IMPROVED = "best.improved"
    ISLAND_MIGRATED = "island.migrated"
    ISLAND_RESET = "island.reset"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a run, before the log gave it a sequence number and a time.

    Attributes:
        payload: JSON values; small.
        subject: the value with the long texts that storage keeps beside the event; never part of the event itself.
    """

    kind: EventKind
    payload: Mapping[str, Any]
    subject: Subject | None = field(default=None, compare=False, repr=False)
