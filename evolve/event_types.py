"""One dataclass for each kind of event, with the fields that its stored JSON has; `evolve.event_codec` writes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar

from evolve.extensions import Extension
from evolve.money import Money
from evolve.proposal import Charge, Usage
from evolve.reply_form import ReplyForm

Edges = tuple[tuple[str, str], ...]
# Keys of a field's metadata: what the codec does beside writing every field under its own name.
KEY, OMIT, BESIDE = "key", "omit", "beside"
OMITTED = MappingProxyType({OMIT: True})  # left out of the JSON where the field has its default


class EventKind(StrEnum):
    """Every kind of event; payloads hold ids and small numbers, and of texts hints, insights and written prompts."""

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
    POLICY_UPDATED = "policy.updated"
    RUN_CLOSING = "run.closing"
    HOLDOUT_SCORED = "holdout.scored"
    AUDIT_SCORED = "audit.scored"
    BUDGET_EXTENDED = "budget.extended"
    HINT_GIVEN = "hint.given"
    PROGRAM_INSERTED = "program.inserted"
    PROMPT_WRITTEN = "prompt.written"
    INSIGHTS_WRITTEN = "insights.written"
    CANDIDATE_BANNED = "candidate.banned"
    BAN_LIFTED = "ban.lifted"
    PRIORITY_GIVEN = "priority.given"
    PRIORITY_LIFTED = "priority.lifted"
    SETTINGS_CHANGED = "settings.changed"
    CHANGE_REFUSED = "change.refused"
    PROPOSAL_CREATED = "proposal.created"
    PROPOSAL_ANSWERED = "proposal.answered"
    PROPOSAL_FAILED = "proposal.failed"
    CANDIDATE_CREATED = "candidate.created"
    CANDIDATE_REJECTED = "candidate.rejected"
    CANDIDATE_DUPLICATE = "candidate.duplicate"
    CANDIDATE_EVALUATED = "candidate.evaluated"
    CANDIDATE_REEVALUATED = "candidate.reevaluated"
    INDIVIDUAL_INSERTED = "individual.inserted"
    INDIVIDUALS_REMOVED = "individuals.removed"
    BEST_IMPROVED = "best.improved"
    ISLAND_MIGRATED = "island.migrated"
    ISLAND_RESET = "island.reset"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventData:
    """The base of all, of one `kind`. Every field is written under its own name, unless its metadata says otherwise."""

    kind: ClassVar[EventKind]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCreated(EventData):
    """A run was stored; `limits`: each limit of its budget with where it was set."""

    kind: ClassVar[EventKind] = EventKind.RUN_CREATED
    by: str
    limits: Mapping[str, Any] = field(default_factory=dict, metadata=OMITTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(EventData):
    """A process began to drive the run; `extensions`: those that it uses and that do not come with the product."""

    kind: ClassVar[EventKind] = EventKind.RUN_STARTED
    by: str
    extensions: tuple[Extension, ...] = field(default=(), metadata=OMITTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPausing(EventData):
    """The run stops."""

    kind: ClassVar[EventKind] = EventKind.RUN_PAUSING
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPaused(EventData):
    """The run is paused."""

    kind: ClassVar[EventKind] = EventKind.RUN_PAUSED
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResumed(EventData):
    """A process drives the run again; `extensions` as of `RunStarted`."""

    kind: ClassVar[EventKind] = EventKind.RUN_RESUMED
    by: str
    extensions: tuple[Extension, ...] = field(default=(), metadata=OMITTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContinued(EventData):
    """The run, which had ended for the reason `after`, is queued again."""

    kind: ClassVar[EventKind] = EventKind.RUN_CONTINUED
    by: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCancelled(EventData):
    """The run was cancelled."""

    kind: ClassVar[EventKind] = EventKind.RUN_CANCELLED
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished(EventData):
    """The run has ended by itself; `candidate_id` and `fitness` are those of the best."""

    kind: ClassVar[EventKind] = EventKind.RUN_FINISHED
    reason: str
    candidate_id: str | None
    fitness: float | None
    detail: str = field(default="", metadata=OMITTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWaiting(EventData):
    """The run cannot proceed at present; the times are RFC 3339, and are written where `since` is known."""

    kind: ClassVar[EventKind] = EventKind.RUN_WAITING
    reason: str
    since: str | None = field(default=None, metadata=OMITTED)
    retry_at: str | None = field(default=None, metadata={BESIDE: "since"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUnblocked(EventData):
    """The run proceeds again."""

    kind: ClassVar[EventKind] = EventKind.RUN_UNBLOCKED
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunClosing(EventData):
    """The run ends: `holdout` names the candidates to score on held-out data, `audit` the one to evaluate again."""

    kind: ClassVar[EventKind] = EventKind.RUN_CLOSING
    reason: str
    holdout: tuple[str, ...]
    audit: str | None
    evaluations: int
    tolerance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldoutScored(EventData):
    """A candidate was scored on held-out data."""

    kind: ClassVar[EventKind] = EventKind.HOLDOUT_SCORED
    candidate_id: str
    outcome: str
    reason: str
    fitness: float | None
    scores: Mapping[str, float]
    repeats: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditScored(EventData):
    """The best candidate was evaluated again under another seed."""

    kind: ClassVar[EventKind] = EventKind.AUDIT_SCORED
    candidate_id: str
    number: int
    outcome: str
    reason: str
    fitness: float | None
    scores: Mapping[str, float]
    repeats: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetExtended(EventData):
    """A limit of the budget was changed; None: there is no limit."""

    kind: ClassVar[EventKind] = EventKind.BUDGET_EXTENDED
    key: str
    from_: float | str | None = field(metadata={KEY: "from"})
    to: float | str | None
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalCreated(EventData):
    """A policy is asked: enough to ask it again. `writes`: for a prompt; `change`: a person brought its program."""

    kind: ClassVar[EventKind] = EventKind.PROPOSAL_CREATED
    proposal_number: int
    proposal_id: str
    island: int
    operator: str
    probability: float
    selection: str
    weights: tuple[float, ...]
    rationale: Mapping[str, Any]
    parents: Edges
    failures: tuple[str, ...]
    rejections: tuple[tuple[str, int], ...]
    policy: str
    seed: int
    answers: int
    samples: int
    limit: int
    form: ReplyForm | None = field(default=None, metadata=OMITTED)
    hint: str = field(default="", metadata=OMITTED)
    insights: str = field(default="", metadata=OMITTED)
    change: str = field(default="", metadata=OMITTED)
    tuning: int = field(default=0, metadata=OMITTED)
    prompt: int | None = field(default=None, metadata=OMITTED)
    writes: bool = field(default=False, metadata=OMITTED)
    priority: str = field(default="", metadata=OMITTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalAnswered(EventData):
    """A policy has answered; `dropped` counts the parts in which no answer could be read, `drops` by their reason."""

    kind: ClassVar[EventKind] = EventKind.PROPOSAL_ANSWERED
    proposal_number: int
    answers: int
    dropped: int
    recovered: Mapping[str, int] = field(default_factory=dict, metadata=OMITTED)
    drops: Mapping[str, int]
    tokens: Usage
    cost: Money | None
    charges: tuple[Charge, ...] = field(default=(), metadata=OMITTED)
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalFailed(EventData):
    """A policy gave no answer, or was cut off; `tokens` is None where nothing was written."""

    kind: ClassVar[EventKind] = EventKind.PROPOSAL_FAILED
    proposal_number: int
    reason: str
    tokens: Usage | None = field(default=None, metadata=OMITTED)
    cost: Money | None = field(default=None, metadata={BESIDE: "tokens"})
    charges: tuple[Charge, ...] = field(default=(), metadata=OMITTED)
    away: bool = field(default=False, metadata=OMITTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateCreated(EventData):
    """An answer became a candidate.

    `recovered` says how its answer was not written as asked, `changed` what of the parent it changed, and `size` how
    many characters the program has; older events do not say that.
    """

    kind: ClassVar[EventKind] = EventKind.CANDIDATE_CREATED
    candidate_id: str
    proposal_number: int
    position: int
    island: int
    program_id: str
    fingerprint: str
    early_stop_threshold: float | None = field(default=None, metadata=OMITTED)
    recovered: tuple[str, ...] = field(default=(), metadata=OMITTED)
    changed: str = field(default="", metadata=OMITTED)
    size: int | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRejected(EventData):
    """An answer was refused before evaluation."""

    kind: ClassVar[EventKind] = EventKind.CANDIDATE_REJECTED
    candidate_id: str
    proposal_number: int
    position: int
    island: int
    parents: Edges
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateDuplicate(EventData):
    """A candidate has the same program as another."""

    kind: ClassVar[EventKind] = EventKind.CANDIDATE_DUPLICATE
    candidate_id: str
    of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationData(EventData):
    """The result of an evaluation of a candidate; `attempt` counts them from 1."""

    candidate_id: str
    outcome: str
    fitness: float | None
    scores: Mapping[str, float]
    measures: Mapping[str, float]
    seconds: float
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateEvaluated(EvaluationData):
    """A candidate was evaluated."""

    kind: ClassVar[EventKind] = EventKind.CANDIDATE_EVALUATED


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateReevaluated(EvaluationData):
    """A candidate was evaluated again, because a user asked for it."""

    kind: ClassVar[EventKind] = EventKind.CANDIDATE_REEVALUATED


@dataclass(frozen=True, slots=True, kw_only=True)
class IndividualInserted(EventData):
    """A candidate was offered to the archive of an island; `status` is that of the insertion."""

    kind: ClassVar[EventKind] = EventKind.INDIVIDUAL_INSERTED
    candidate_id: str
    island: int
    status: str
    displaced: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndividualsRemoved(EventData):
    """Banned candidates left the archive of an island."""

    kind: ClassVar[EventKind] = EventKind.INDIVIDUALS_REMOVED
    island: int
    candidate_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BestImproved(EventData):
    """A candidate is better than all before it; `objective` is None: overall."""

    kind: ClassVar[EventKind] = EventKind.BEST_IMPROVED
    candidate_id: str
    fitness: float
    objective: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IslandMigrated(EventData):
    """Candidates came from one island to another."""

    kind: ClassVar[EventKind] = EventKind.ISLAND_MIGRATED
    from_: int = field(metadata={KEY: "from"})
    to: int
    candidate_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IslandReset(EventData):
    """An island restarts from a survivor; `displaced` names the members that its archive had."""

    kind: ClassVar[EventKind] = EventKind.ISLAND_RESET
    island: int
    survivor: str
    displaced: tuple[str, ...]
