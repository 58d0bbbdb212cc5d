"""Events of runs in the document of the API: one model for each kind, with what it holds.

They type and describe; events go out as they were stored.
"""

from typing import Annotated, Literal

from pydantic import Field, RootModel

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
        default={}, description="Each limit of the budget by its key; left out where it is not known"
    )


class RunStartedEvent(EventBase):
    """A runner began to drive the run."""

    kind: Literal["run.started"] = Field(description="Kind of the event")
    by: str = Field(description="Process that drives the run")
    extensions: list[EventExtension] = Field(
        default=[], description="Extensions that it uses; left out where there are none"
    )


class RunResumedEvent(EventBase):
    """A runner drives the run again."""

    kind: Literal["run.resumed"] = Field(description="Kind of the event")
    by: str = Field(description="Process that drives the run")
    extensions: list[EventExtension] = Field(
        default=[], description="Extensions that it uses; left out where there are none"
    )


class RunPausingEvent(EventBase):
    """The run stops: what is in flight is abandoned."""

    kind: Literal["run.pausing"] = Field(description="Kind of the event")
    by: str = Field(description="Name of the key of the person who asked for it; empty: not known")


class RunPausedEvent(EventBase):
    """The run is paused."""

    kind: Literal["run.paused"] = Field(description="Kind of the event")
    by: str = Field(description="Name of the key of the person who asked for it; empty: not known")


class RunCancelledEvent(EventBase):
    """The run was cancelled."""

    kind: Literal["run.cancelled"] = Field(description="Kind of the event")
    by: str = Field(description="Name of the key of the person who asked for it; empty: not known")


class RunContinuedEvent(EventBase):
    """The run, which had ended, is queued again."""

    kind: Literal["run.continued"] = Field(description="Kind of the event")
    by: str = Field(description="Name of the key of the person who asked for it; empty: not known")
    after: str = Field(description="Why it had ended")


class RunFinishedEvent(EventBase):
    """The run has ended by itself."""

    kind: Literal["run.finished"] = Field(description="Kind of the event")
    reason: str = Field(description="Why: a key of the budget, `target`, `exhausted`, or the reason of a failure")
    candidate_id: str | None = Field(description="Id of the best candidate; null: there is none")
    fitness: float | None = Field(description="Fitness of the best candidate; null: there is none")
    detail: str = Field(default="", description="Of a failure, one sentence with the cause and the cure")


class RunWaitingEvent(EventBase):
    """The run cannot proceed at present."""

    kind: Literal["run.waiting"] = Field(description="Kind of the event")
    reason: str = Field(description="Why, in one sentence")
    since: Moment | None = Field(default=None, description="Since when")
    retry_at: Moment | None = Field(default=None, description="When it tries again; null: not known")


class RunUnblockedEvent(EventBase):
    """The run proceeds again."""

    kind: Literal["run.unblocked"] = Field(description="Kind of the event")
    reason: str = Field(description="Always empty")


class PolicyUnavailableEvent(EventBase):
    """One of several policies cannot be asked; the run proceeds with the others."""

    kind: Literal["policy.unavailable"] = Field(description="Kind of the event")
    policy: str = Field(description="Name of the policy")
    reason: str = Field(description="Why, in one sentence")


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
    """The run ends, and what it found is examined."""

    kind: Literal["run.closing"] = Field(description="Kind of the event")
    reason: str = Field(description="Why the run ends")
    holdout: list[str] = Field(description="Ids of the candidates that are scored on held-out data, the best seed last")
    audit: str | None = Field(description="Id of the best candidate, which is evaluated again; null: it is not")
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
    from_: float | str | None = Field(alias="from", description="The limit before; null: there was none")
    to: float | str | None = Field(description="The limit now; null: there is none")
    by: str = Field(description="Name of the key of the person who asked for it; empty: not known")


class ProposalCreatedEvent(EventBase):
    """A policy is asked for programs."""

    kind: Literal["proposal.created"] = Field(description="Kind of the event")
    number: Count = Field(description="Number of the proposal; 0: a seed")
    proposal_id: str = Field(description="Id of the proposal")
    island: Count = Field(description="Number of the island, from 0")
    operator: str = Field(description="Operator that was drawn, such as `mutate`")
    probability: float = Field(default=0.0, description="Probability with which the operator was drawn")
    selection: str = Field(description="Selection that chose the parent")
    weights: list[float] = Field(
        description="Weights that the selection drew, one for each objective; empty: it drew none"
    )
    rationale: Rationale = Field(description="What else decided")
    parents: list[tuple[str, str]] = Field(
        description="Candidates that the policy is shown, each with its role, the parent first"
    )
    failures: list[str] = Field(default=[], description="Ids of the failed candidates that the policy is shown")
    rejections: list[tuple[str, int]] = Field(
        default=[], description="Why the policy's last answers could not be used, each with its count"
    )
    policy: str = Field(description="Name of the policy")
    seed: int = Field(default=0, description="Seed of the completion")
    answers: Count = Field(default=0, description="Answers in one chain")
    samples: Count = Field(default=0, description="Chains in the proposal")
    limit: Count = Field(default=0, description="Most answers that are taken")
    form: ReplyFormSchema | None = Field(
        default=None, description="How the policy is asked to write; left out where it has one form alone"
    )


class ProposalAnsweredEvent(EventBase):
    """A policy has answered."""

    kind: Literal["proposal.answered"] = Field(description="Kind of the event")
    number: Count = Field(description="Number of the proposal; 0: a seed")
    answers: Count = Field(description="Number of answers that were taken")
    dropped: Count = Field(default=0, description="Number of parts in which no answer could be read")
    drops: dict[str, Count] = Field(default={}, description="Number of these parts by reason")
    recovered: dict[str, Count] = Field(
        default={},
        description="Number of answers that were not written as asked, by kind; left out where there are none",
    )
    tokens: EventTokens = Field(description="Tokens of the completion")
    cost: Spent | None = Field(description="Cost of these tokens; null: it is not known")
    seconds: float | None = Field(description="Time from the question to the end of the answer")
    charges: list[EventCharge] = Field(
        default=[], description="What was paid beside the completion; left out where nothing was"
    )


class ProposalFailedEvent(EventBase):
    """A policy gave no answer, or was cut off."""

    kind: Literal["proposal.failed"] = Field(description="Kind of the event")
    number: Count = Field(description="Number of the proposal; 0: a seed")
    reason: str = Field(description="One sentence that says why")
    tokens: EventTokens | None = Field(
        default=None, description="Tokens of the part that was written; left out where it is not known"
    )
    cost: Spent | None = Field(default=None, description="Cost of these tokens; null: it is not known")
    charges: list[EventCharge] = Field(
        default=[], description="What was paid beside the completion; left out where nothing was"
    )
    away: bool = Field(default=False, description="Whether the policy could not be asked and others could")


class CandidateCreatedEvent(EventBase):
    """An answer became a candidate."""

    kind: Literal["candidate.created"] = Field(description="Kind of the event")
    candidate_id: str = Field(description="Id of the candidate")
    number: Count = Field(description="Number of the proposal; 0: a seed")
    position: Count = Field(description="Place among the answers of its proposal, from 0")
    island: Count = Field(description="Number of the island, from 0")
    program_id: str = Field(description="Id of its content")
    fingerprint: str = Field(description="Hash of its content without layout")
    early_stop_threshold: float = Field(
        default=0.0, description="Fitness that its repeats depend on; left out where all are made"
    )
    recovered: list[str] = Field(
        default=[], description="How its answer was not written as asked, by kind; left out where it was"
    )


class CandidateRejectedEvent(EventBase):
    """An answer was refused before evaluation."""

    kind: Literal["candidate.rejected"] = Field(description="Kind of the event")
    candidate_id: str = Field(description="Id of the candidate")
    number: Count = Field(description="Number of the proposal; 0: a seed")
    position: Count = Field(description="Place among the answers of its proposal, from 0")
    island: Count = Field(description="Number of the island, from 0")
    parents: list[tuple[str, str]] = Field(
        description="Candidates that it descends from, each with its role, the parent first"
    )
    reason: str = Field(description="One sentence that says why")


class CandidateDuplicateEvent(EventBase):
    """A candidate repeats the program of another."""

    kind: Literal["candidate.duplicate"] = Field(description="Kind of the event")
    candidate_id: str = Field(description="Id of the candidate")
    of: str = Field(description="Id of the candidate that has the same program")


class CandidateEvaluatedEvent(EvaluationEvent):
    """A candidate was evaluated."""

    kind: Literal["candidate.evaluated"] = Field(description="Kind of the event")


class CandidateReevaluatedEvent(EvaluationEvent):
    """A candidate was evaluated again, since somebody asked for it."""

    kind: Literal["candidate.reevaluated"] = Field(description="Kind of the event")


class IndividualInsertedEvent(EventBase):
    """A candidate was offered to the archive of an island."""

    kind: Literal["individual.inserted"] = Field(description="Kind of the event")
    candidate_id: str = Field(description="Id of the candidate")
    island: Count = Field(description="Number of the island, from 0")
    status: Literal["new_cell", "improved", "added", "dominated", "full", "duplicate"] = Field(
        description="What became of it"
    )
    displaced: list[str] = Field(description="Ids of the candidates that it displaced")


class BestImprovedEvent(EventBase):
    """A candidate is better than all before it."""

    kind: Literal["best.improved"] = Field(description="Kind of the event")
    candidate_id: str = Field(description="Id of the candidate")
    fitness: float | None = Field(description="Fitness, more is better; null: not valid")
    objective: str | None = Field(description="Name of the objective; null: overall")


class IslandMigratedEvent(EventBase):
    """Candidates came from one island to another."""

    kind: Literal["island.migrated"] = Field(description="Kind of the event")
    from_: Count = Field(alias="from", description="Number of the island that they left")
    to: Count = Field(description="Number of the island that they reached")
    candidate_ids: list[str] = Field(description="Ids of the candidates")


class IslandResetEvent(EventBase):
    """An island restarts from a survivor."""

    kind: Literal["island.reset"] = Field(description="Kind of the event")
    island: Count = Field(description="Number of the island, from 0")
    survivor: str = Field(description="Id of the candidate that it restarts from")
    displaced: list[str] = Field(description="Ids of the candidates that its archive held")


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
            | ProposalCreatedEvent
            | ProposalAnsweredEvent
            | ProposalFailedEvent
            | CandidateCreatedEvent
            | CandidateRejectedEvent
            | CandidateDuplicateEvent
            | CandidateEvaluatedEvent
            | CandidateReevaluatedEvent
            | IndividualInsertedEvent
            | BestImprovedEvent
            | IslandMigratedEvent
            | IslandResetEvent,
            Field(discriminator="kind"),
        ]
    ]
):
    """Something that happened to a run; what else it holds depends on its kind."""
