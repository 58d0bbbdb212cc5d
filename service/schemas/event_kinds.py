"""Events of runs in the document of the API, with a model for each kind.

They only type and describe. Events are sent as stored.
"""

from typing import Annotated, Literal

from pydantic import Field, RootModel

from service.schemas.change_event_kinds import ChangeEvent
from service.schemas.event_parts import (
    BudgetLimit,
    EvaluationEvent,
    EventBase,
    EventCharge,
    EventExtension,
    EventTokens,
    ExaminationEvent,
    Rationale,
    ReplyFormSchema,
)
from service.schemas.types import Count, Moment, Spent


class RunCreatedEvent(EventBase):
    """A run was stored."""

    kind: Literal["run.created"] = Field(description="Kind of the event")
    by: str = Field(description="Name of the tenant")
    limits: dict[str, BudgetLimit] = Field(
        default={}, description="Each limit of the budget by its key. Left out if unknown"
    )


class RunStartedEvent(EventBase):
    """A runner began to drive the run."""

    kind: Literal["run.started"] = Field(description="Kind of the event")
    by: str = Field(description="Process that drives the run")
    extensions: list[EventExtension] = Field(
        default=[], description="Extensions of the run. Left out if there are none"
    )


class RunResumedEvent(EventBase):
    """A runner drives the run again."""

    kind: Literal["run.resumed"] = Field(description="Kind of the event")
    by: str = Field(description="Process that drives the run")
    extensions: list[EventExtension] = Field(
        default=[], description="Extensions of the run. Left out if there are none"
    )


class RunPausingEvent(EventBase):
    """The run pauses, and drops its work in flight."""

    kind: Literal["run.pausing"] = Field(description="Kind of the event")
    by: str = Field(description="Name of the key that requested it. Empty: unknown")


class RunPausedEvent(EventBase):
    """The run is paused."""

    kind: Literal["run.paused"] = Field(description="Kind of the event")
    by: str = Field(description="Name of the key that requested it. Empty: unknown")


class RunCancelledEvent(EventBase):
    """The run was cancelled."""

    kind: Literal["run.cancelled"] = Field(description="Kind of the event")
    by: str = Field(description="Name of the key that requested it. Empty: unknown")


class RunContinuedEvent(EventBase):
    """The ended run is queued again."""

    kind: Literal["run.continued"] = Field(description="Kind of the event")
    by: str = Field(description="Name of the key that requested it. Empty: unknown")
    after: str = Field(description="Why it ended before")


class RunFinishedEvent(EventBase):
    """The run has ended by itself."""

    kind: Literal["run.finished"] = Field(description="Kind of the event")
    reason: str = Field(description="Why: a key of the budget, `target`, `exhausted`, or the reason of a failure")
    candidate_id: str | None = Field(description="Id of the best candidate. Null: none")
    fitness: float | None = Field(description="Fitness of the best candidate. Null: none")
    detail: str = Field(default="", description="Cause and cure of a failure, in one sentence")


class RunWaitingEvent(EventBase):
    """The run cannot proceed at present."""

    kind: Literal["run.waiting"] = Field(description="Kind of the event")
    reason: str = Field(description="The reason, in one sentence")
    since: Moment | None = Field(default=None, description="Start of the wait")
    retry_at: Moment | None = Field(default=None, description="When it tries again. Null: unknown")


class RunUnblockedEvent(EventBase):
    """The run proceeds again."""

    kind: Literal["run.unblocked"] = Field(description="Kind of the event")
    reason: str = Field(description="Always empty")


class PolicyUnavailableEvent(EventBase):
    """A policy of several cannot be asked. The run continues with the others."""

    kind: Literal["policy.unavailable"] = Field(description="Kind of the event")
    policy: str = Field(description="Name of the policy")
    reason: str = Field(description="The reason, in one sentence")


class PolicyRecoveredEvent(EventBase):
    """A policy can be asked again."""

    kind: Literal["policy.recovered"] = Field(description="Kind of the event")
    policy: str = Field(description="Name of the policy")


class PolicyAdaptedEvent(EventBase):
    """Requests are written differently, since the server refused a parameter."""

    kind: Literal["policy.adapted"] = Field(description="Kind of the event")
    policy: str = Field(description="Name of the policy")
    parameter: str = Field(description="The parameter")
    action: str = Field(description="`dropped`, `renamed`, `merged` or `lowered`")
    reason: str = Field(description="The server's words")


class RunClosingEvent(EventBase):
    """The run ends, and its results are examined."""

    kind: Literal["run.closing"] = Field(description="Kind of the event")
    reason: str = Field(description="Why the run ends")
    holdout: list[str] = Field(description="Ids of the candidates that are scored on held-out data, the best seed last")
    audit: str | None = Field(description="Id of the best candidate, which is evaluated again. Null: no audit")
    evaluations: Count = Field(description="Number of evaluations of the audit")
    tolerance: float = Field(description="By how much a score may differ in the audit")


class HoldoutScoredEvent(ExaminationEvent):
    """A candidate was scored on held-out data."""

    kind: Literal["holdout.scored"] = Field(description="Kind of the event")


class AuditScoredEvent(ExaminationEvent):
    """The best candidate was evaluated again under another seed."""

    kind: Literal["audit.scored"] = Field(description="Kind of the event")
    number: Count = Field(description="Number of the evaluation, from 1")


class BudgetExtendedEvent(EventBase):
    """A limit of the budget was changed."""

    kind: Literal["budget.extended"] = Field(description="Kind of the event")
    key: str = Field(description="Key of the budget")
    from_: float | str | None = Field(alias="from", description="Previous limit. Null: none")
    to: float | str | None = Field(description="New limit. Null: none")
    by: str = Field(description="Name of the key that requested it. Empty: unknown")


class ProposalCreatedEvent(EventBase):
    """A policy is asked for programs."""

    kind: Literal["proposal.created"] = Field(description="Kind of the event")
    proposal_number: Count = Field(description="Number of the proposal. 0: a seed")
    proposal_id: str = Field(description="Id of the proposal")
    island: Count = Field(description="Number of the island, from 0")
    operator: str = Field(description="Operator that was drawn, such as `mutate`")
    probability: float = Field(default=0.0, description="Probability with which the operator was drawn")
    selection: str = Field(description="Selection that chose the parent")
    weights: list[float] = Field(description="Weights that the selection drew, for each objective. Empty: none")
    rationale: Rationale = Field(description="Reasons of the other choices")
    parents: list[tuple[str, str]] = Field(
        description="Candidates that the policy is shown, each with its role, the parent first"
    )
    failures: list[str] = Field(default=[], description="Ids of the failed candidates that the policy is shown")
    rejections: list[tuple[str, int]] = Field(
        default=[], description="Why the policy's last answers could not be used, each with its count"
    )
    policy: str = Field(description="Name of the policy")
    seed: int = Field(default=0, description="Seed of the completion")
    answers: Count = Field(default=0, description="Answers per chain")
    samples: Count = Field(default=0, description="Chains in the proposal")
    limit: Count = Field(default=0, description="Most answers that are taken")
    form: ReplyFormSchema | None = Field(
        default=None, description="Requested form of the reply. Left out if there is only a single form"
    )
    hint: str = Field(default="", description="Id of the hint in its prompt. Left out if there is none")
    insights: str = Field(default="", description="Id of the insights in its prompt. Left out if there are none")
    change: str = Field(
        default="", description="Id of the change by which a person inserted its program. Left out otherwise"
    )
    priority: str = Field(
        default="", description="Id of the change by which a person gave its parent priority. Left out otherwise"
    )
    tuning: Count = Field(
        default=0, description="Number of the proposal that began its tuning session. Left out if no numbers are tuned"
    )
    prompt: Count = Field(default=0, description="Number of its prompt in the pool. Left out if there is no pool")
    writes: bool = Field(default=False, description="Whether it is to write a prompt, and no program. Left out if not")


class ProposalAnsweredEvent(EventBase):
    """A policy has answered."""

    kind: Literal["proposal.answered"] = Field(description="Kind of the event")
    proposal_number: Count = Field(description="Number of the proposal. 0: a seed")
    answers: Count = Field(description="Number of answers that were taken")
    dropped: Count = Field(default=0, description="Number of parts in which no answer could be read")
    drops: dict[str, Count] = Field(default={}, description="Number of these parts by reason")
    recovered: dict[str, Count] = Field(
        default={},
        description="Number of answers not written as requested, by kind. Left out if there are none",
    )
    tokens: EventTokens = Field(description="Tokens of the completion")
    cost: Spent | None = Field(description="Cost of these tokens. Null: unknown")
    seconds: float | None = Field(description="Time from the question to the end of the answer")
    charges: list[EventCharge] = Field(default=[], description="Further payments. Left out if there are none")


class ProposalFailedEvent(EventBase):
    """A policy gave no answer, or was cut off."""

    kind: Literal["proposal.failed"] = Field(description="Kind of the event")
    proposal_number: Count = Field(description="Number of the proposal. 0: a seed")
    reason: str = Field(description="The reason, in one sentence")
    tokens: EventTokens | None = Field(
        default=None, description="Tokens of the part that was written. Left out if unknown"
    )
    cost: Spent | None = Field(default=None, description="Cost of these tokens. Null: unknown")
    charges: list[EventCharge] = Field(default=[], description="Further payments. Left out if there are none")
    away: bool = Field(default=False, description="Whether the policy could not be asked and others could")


class CandidateCreatedEvent(EventBase):
    """An answer became a candidate."""

    kind: Literal["candidate.created"] = Field(description="Kind of the event")
    candidate_id: str = Field(description="Id of the candidate")
    proposal_number: Count = Field(description="Number of the proposal. 0: a seed")
    position: Count = Field(description="Place among the answers of its proposal, from 0")
    island: Count = Field(description="Number of the island, from 0")
    program_id: str = Field(description="Id of its content")
    fingerprint: str = Field(description="Hash of its content without layout")
    early_stop_threshold: float = Field(
        default=0.0, description="Fitness that its repeats depend on. Left out if all repeats run"
    )
    recovered: list[str] = Field(
        default=[], description="Deviations of its answer from the requested form, by kind. Left out if there are none"
    )
    changed: str = Field(
        default="", description="What of its parent it changed: `constants`, `structure` or `both`. Left out for a root"
    )
    size: Count = Field(default=0, description="Characters of its program. Left out of older events")


class CandidateRejectedEvent(EventBase):
    """An answer was refused before evaluation."""

    kind: Literal["candidate.rejected"] = Field(description="Kind of the event")
    candidate_id: str = Field(description="Id of the candidate")
    proposal_number: Count = Field(description="Number of the proposal. 0: a seed")
    position: Count = Field(description="Place among the answers of its proposal, from 0")
    island: Count = Field(description="Number of the island, from 0")
    parents: list[tuple[str, str]] = Field(
        description="Candidates that it descends from, each with its role, the parent first"
    )
    reason: str = Field(description="The reason, in one sentence")


class CandidateDuplicateEvent(EventBase):
    """A candidate repeats the program of another."""

    kind: Literal["candidate.duplicate"] = Field(description="Kind of the event")
    candidate_id: str = Field(description="Id of the candidate")
    of: str = Field(description="Id of the candidate with the same program")


class CandidateEvaluatedEvent(EvaluationEvent):
    """A candidate was evaluated."""

    kind: Literal["candidate.evaluated"] = Field(description="Kind of the event")


class CandidateReevaluatedEvent(EvaluationEvent):
    """A candidate was evaluated again, by request."""

    kind: Literal["candidate.reevaluated"] = Field(description="Kind of the event")


class IndividualInsertedEvent(EventBase):
    """A candidate was offered to the archive of an island."""

    kind: Literal["individual.inserted"] = Field(description="Kind of the event")
    candidate_id: str = Field(description="Id of the candidate")
    island: Count = Field(description="Number of the island, from 0")
    status: Literal["new_cell", "improved", "added", "dominated", "full", "duplicate"] = Field(
        description="Result of the insertion"
    )
    displaced: list[str] = Field(description="Ids of the candidates that it displaced")


class IndividualsRemovedEvent(EventBase):
    """Banned candidates left the archive of an island."""

    kind: Literal["individuals.removed"] = Field(description="Kind of the event")
    island: Count = Field(description="Number of the island, from 0")
    candidate_ids: list[str] = Field(description="Ids of the candidates")


class BestImprovedEvent(EventBase):
    """A candidate is better than all before it."""

    kind: Literal["best.improved"] = Field(description="Kind of the event")
    candidate_id: str = Field(description="Id of the candidate")
    fitness: float | None = Field(description="Fitness, more is better. Null: not valid")
    objective: str | None = Field(description="Name of the objective. Null: overall")


class IslandMigratedEvent(EventBase):
    """Candidates migrated between islands."""

    kind: Literal["island.migrated"] = Field(description="Kind of the event")
    from_: Count = Field(alias="from", description="Number of the island that they left")
    to: Count = Field(description="Number of the island that they reached")
    candidate_ids: list[str] = Field(description="Ids of the candidates")


class IslandResetEvent(EventBase):
    """An island restarts from a survivor."""

    kind: Literal["island.reset"] = Field(description="Kind of the event")
    island: Count = Field(description="Number of the island, from 0")
    survivor: str = Field(description="Id of the candidate that it restarts from")
    displaced: list[str] = Field(description="Ids of the candidates of its archive before")


class EventSchema(
    RootModel[
        Annotated[
            RunCreatedEvent
            | RunStartedEvent
            | RunResumedEvent
            | RunContinuedEvent
            | RunPausingEvent
            | RunPausedEvent
            | RunCancelledEvent
            | RunFinishedEvent
            | RunWaitingEvent
            | RunUnblockedEvent
            | PolicyUnavailableEvent
            | PolicyRecoveredEvent
            | PolicyAdaptedEvent
            | RunClosingEvent
            | HoldoutScoredEvent
            | AuditScoredEvent
            | BudgetExtendedEvent
            | ChangeEvent
            | ProposalCreatedEvent
            | ProposalAnsweredEvent
            | ProposalFailedEvent
            | CandidateCreatedEvent
            | CandidateRejectedEvent
            | CandidateDuplicateEvent
            | CandidateEvaluatedEvent
            | CandidateReevaluatedEvent
            | IndividualInsertedEvent
            | IndividualsRemovedEvent
            | BestImprovedEvent
            | IslandMigratedEvent
            | IslandResetEvent,
            Field(discriminator="kind"),
        ]
    ]
):
    """A change of a run. Further members depend on its kind."""
