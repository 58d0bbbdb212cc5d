"""Runs on the wire."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from service.schemas.types import (
    Count,
    Identifier,
    Labels,
    Moment,
    MoneyLimit,
    Name,
    Number,
    Object,
    Page,
    Plain,
    Positive,
    ProblemName,
    Reply,
    Request,
    Spent,
)


def _form(value: object) -> str | None:
    return next((form for kind, form in _FORMS.items() if isinstance(value, kind)), None)


_FORMS: dict[type, str] = {str: "name", dict: "description", list: "several", type(None): "none"}
_NamedPolicy = Annotated[Name, Tag("name")]
_DescribedPolicy = Annotated[Plain, Tag("description")]
_Policy = Annotated[
    _NamedPolicy | _DescribedPolicy,
    Discriminator(
        _form, custom_error_type="policy", custom_error_message="must be the name of a policy, or a description of one"
    ),
]
_SeveralPolicies = Annotated[list[_Policy], Field(min_length=1, max_length=16), Tag("several")]
Policies = Annotated[
    _NamedPolicy | _DescribedPolicy | _SeveralPolicies | Annotated[None, Tag("none")],
    Discriminator(
        _form,
        custom_error_type="policies",
        custom_error_message="must be the name of a policy, a description of one, or a list of these",
    ),
]

State = Literal["queued", "running", "pausing", "paused", "cancelling", "cancelled", "succeeded", "failed"]


class RunCreate(Request):
    """A new run."""

    problem: ProblemName = Field(
        description="Id of a problem, or its name for the latest version, or `name@version`", examples=["packing@2"]
    )
    config: Plain = Field(
        default={}, description="Run configuration, nested; what it does not say the problem says, or the default"
    )
    policy: Policies = Field(
        default=None,
        description="Name of one of `/v1/policies`, or a description without a key, or several of these, asked by their"
        " weights; null: the problem's",
    )
    labels: Labels = Field(default={})


class RunCheck(Reply):
    """What a run would be that was not submitted."""

    problem: str = Field(description="Name of its problem")
    config: Object = Field(description="All of its configuration: what was asked for, what the problem says, defaults")
    policies: list[Object]


class RunFork(Request):
    """A run that begins with a program of another."""

    candidate_id: Identifier = Field(description="The candidate whose program is the seed")
    config: Plain = Field(default={}, description="What differs from the configuration of the run forked")
    policy: Policies = Field(default=None, description="Null: the policies of the run forked")
    labels: Labels = Field(default={})


class RunPatch(Request):
    """What of a run may be changed."""

    labels: Labels = Field(description="Take the place of all labels")


class Budget(Request):
    """Limits of a run: those that are named become these, null is no limit; the others stay."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    evaluations: Positive | None = None
    answers: Positive | None = None
    tokens: Positive | None = None
    money: MoneyLimit | None = None
    wall_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    target: Number | None = None
    patience: Positive | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("must name a limit")
        return self


class BudgetExtension(Request):
    """New limits of a run."""

    budget: Budget


class Waiting(Reply):
    """Why a run that is at work cannot go on at present."""

    reason: str
    since: str | None = None
    retry_at: str | None = None


class RunFailure(Reply):
    """Why a run failed."""

    code: str
    detail: str


class Progress(Reply):
    """How far a run is."""

    proposed: Count = Field(description="Proposals asked")
    evaluated: Count = Field(description="Candidates evaluated")
    budget: Count | None = Field(description="Candidates to evaluate in all; null: another limit ends the run")


class Stats(Reply):
    """What became of candidates so far."""

    answers: Count
    valid: Count
    failed: Count
    duplicates: Count
    rejected: Count


class TokenUsage(Reply):
    """What a run has used."""

    tokens_input: Count
    tokens_cached: Count
    tokens_output: Count
    cost: Spent | None = Field(default=None, description="Of the tokens; null: some of it is not known")
    active_seconds: float


class RunUrls(Reply):
    """Where more of a run is."""

    self: str
    events: str
    stream: str
    programs: str


class Run(Reply):
    """A run: the job is the resource."""

    id: str
    state: State
    desired_state: str = Field(description="What is wanted of it: `running`, `paused` or `cancelled`")
    reason: str = Field(description="What ended it: a key of the budget, `target`, `exhausted`, or why it failed")
    waiting: Waiting | None
    error: RunFailure | None
    problem: str = Field(description="Name of its problem")
    problem_id: str
    bundle_hash: str = Field(description="Of the problem's folder")
    config: Object
    policies: list[Object]
    seed: int
    integrity: str
    isolation: str
    objectives: list[Object]
    measures: list[Object]
    known_best: float | None
    best_candidate_id: str | None
    best_fitness: float | None
    seed_fitness: float | None
    progress: Progress
    stats: Stats
    usage: TokenUsage
    labels: dict[str, str]
    batch_id: str | None
    fork_of: str | None
    wanted_budget: Object
    sequence: Count = Field(description="Of its last event")
    source: str
    created_at: Moment
    created_by: str = Field(
        default="", description="Name of the key that it was submitted with; empty: with none, or told to a share"
    )
    started_at: Moment | None
    paused_at: Moment | None
    cancelled_at: Moment | None
    succeeded_at: Moment | None
    failed_at: Moment | None
    urls: RunUrls


class RunPage(Page):
    """Runs, newest first."""

    items: list[Run]
