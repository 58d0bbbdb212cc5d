"""Runs on the wire."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from service.schemas.configuration import AskedConfiguration, BudgetKeys, StoredConfiguration
from service.schemas.derived_models import DescribedAs
from service.schemas.key_descriptions import CONFIGURATION_KEYS
from service.schemas.policies import PolicyDescription
from service.schemas.problem_documents import ShownMeasure, ShownObjective, ShownPolicy
from service.schemas.types import (
    CandidateName,
    Count,
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
_DescribedPolicy = Annotated[Plain, DescribedAs(PolicyDescription), Tag("description")]
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

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "problem": "packing@2",
                    "config": {"islands": 2, "archive": {"kind": "top"}, "budget": {"evaluations": 500}, "seed": 7},
                    "policy": {"base_url": "http://localhost:8000/v1", "edits": "diff"},
                    "labels": {"team": "geometry"},
                }
            ]
        }
    )

    problem: ProblemName = Field(
        description="Id of a problem, or its name for the latest version, or `name@version`", examples=["packing@2"]
    )
    config: AskedConfiguration = Field(
        default={}, description="Run configuration, nested. Missing keys come from the problem, or are defaults"
    )
    policy: Policies = Field(
        default=None,
        description="Name of a policy in `/v1/policies`, or a description without a key, or several of these with"
        " weights. Null: the problem's",
    )
    labels: Labels = Field(default={}, description="Labels by key, at most 16")


class RunCheck(Reply):
    """The preview of a run that was not submitted."""

    problem: str = Field(description="Name of its problem")
    config: StoredConfiguration = Field(description="Its whole configuration: the request, the problem, defaults")
    policies: list[ShownPolicy] = Field(description="Policies that would be asked, without their keys")


class RunFork(Request):
    """A run that begins with a program of another."""

    candidate_id: CandidateName = Field(
        description="Id or name of the candidate whose program is the seed", examples=["28.0"]
    )
    config: AskedConfiguration = Field(default={}, description="Changes to the configuration of the forked run")
    policy: Policies = Field(default=None, description="Null: the policies of the run forked")
    labels: Labels = Field(default={}, description="Labels by key, at most 16")


class RunPatch(Request):
    """The mutable parts of a run."""

    labels: Labels = Field(description="Take the place of all labels")


class Budget(Request):
    """Limits of a run. Named limits are replaced, and null means no limit. The others stay."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    evaluations: Positive | None = Field(default=None, description=CONFIGURATION_KEYS["budget.evaluations"])
    answers: Positive | None = Field(default=None, description=CONFIGURATION_KEYS["budget.answers"])
    tokens: Positive | None = Field(default=None, description=CONFIGURATION_KEYS["budget.tokens"])
    money: MoneyLimit | None = Field(default=None, description=CONFIGURATION_KEYS["budget.money"])
    wall_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None, description=CONFIGURATION_KEYS["budget.wall_seconds"]
    )
    target: Number | None = Field(default=None, description=CONFIGURATION_KEYS["budget.target"])
    patience: Positive | None = Field(default=None, description=CONFIGURATION_KEYS["budget.patience"])

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("must name a limit")
        return self


class BudgetExtension(Request):
    """New limits of a run."""

    budget: Budget = Field(description="The new limits")


class Waiting(Reply):
    """Why an active run cannot continue at present."""

    reason: str = Field(description="Why it waits, in one sentence")
    since: str | None = Field(default=None, description="Start of the wait")
    retry_at: str | None = Field(default=None, description="When it tries again. Null: unknown")


class RunFailure(Reply):
    """Why a run failed."""

    code: str = Field(description="Reason of the failure, such as `error` or `policy_refused`")
    detail: str = Field(description="Cause and cure, in one sentence")


class Progress(Reply):
    """How far a run is."""

    proposed: Count = Field(description="Proposals asked")
    evaluated: Count = Field(description="Candidates evaluated")
    budget: Count | None = Field(description="Total number of candidates to evaluate. Null: another limit ends the run")


class Stats(Reply):
    """Numbers of candidates so far."""

    answers: Count = Field(description="Number of answers, seeds included")
    valid: Count = Field(description="Number of evaluations with the outcome `ok`")
    failed: Count = Field(description="Number of evaluations that failed")
    duplicates: Count = Field(description="Number of answers that repeat a program of the run")
    rejected: Count = Field(description="Number of answers that were refused before evaluation")


class TokenUsage(Reply):
    """Usage of a run."""

    tokens_input: Count = Field(description="Tokens that the policies read, including cached tokens")
    tokens_cached: Count = Field(description="Of the tokens read, those from a cache")
    tokens_output: Count = Field(description="Tokens that the policies wrote")
    cost: Spent | None = Field(default=None, description="Cost of the tokens. Null: partly unknown")
    active_seconds: float = Field(description="Time that the run was at work, in seconds")


class RunUrls(Reply):
    """Where more of a run is."""

    self: str = Field(description="Path of the run")
    events: str = Field(description="Path of its events")
    stream: str = Field(description="Path of its events as a stream: ask with `Accept: text/event-stream`")
    candidates: str = Field(description="Path of its candidates")


class Run(Reply):
    """A run: the job is the resource."""

    id: str = Field(description="Id of the run")
    state: State = Field(description="State of the run. `pausing` and `cancelling` until its runner has stopped")
    desired_state: str = Field(description="Requested state: `running`, `paused` or `cancelled`")
    reason: str = Field(description="Why it ended: a key of the budget, `target`, `exhausted`, or the kind of failure")
    waiting: Waiting | None = Field(description="Why it cannot continue at present. Null: it continues, or has ended")
    error: RunFailure | None = Field(description="Why it failed. Null: no failure")
    problem: str = Field(description="Name of its problem")
    problem_id: str = Field(description="Id of the version of its problem")
    bundle_hash: str = Field(description="Hash of the problem's folder")
    config: StoredConfiguration = Field(description="All of its configuration, defaults included")
    policies: list[ShownPolicy] = Field(description="Policies that it asks, without their keys")
    seed: int = Field(description="Seed of its random draws")
    integrity: str = Field(
        description="`separate`: the scorer never shares a process with the program. `shared`: it does",
    )
    isolation: str = Field(description="Isolation level at its start. `workers`: that of each worker")
    objectives: list[ShownObjective] = Field(
        description="Objectives of its problem. Empty: the evaluator returns a single number"
    )
    measures: list[ShownMeasure] = Field(description="Measures of its problem, the axes of its grid")
    known_best: float | None = Field(description="Best known value in the problem's files. Null: none")
    best_candidate_id: str | None = Field(description="Id of the best candidate so far. Null: none")
    best_fitness: float | None = Field(description="Highest fitness so far. Null: no valid candidate")
    seed_fitness: float | None = Field(description="Fitness of its best seed. Null: no valid seed")
    progress: Progress = Field(description="How far it is")
    stats: Stats = Field(description="Numbers of its candidates by result")
    usage: TokenUsage = Field(description="Tokens, cost and time that it has used")
    labels: dict[str, str] = Field(description="Labels by key")
    batch_id: str | None = Field(description="Id of its batch. Null: none")
    fork_of: str | None = Field(description="Id of the candidate that it was forked from. Null: not a fork")
    desired_budget: Annotated[Object, DescribedAs(BudgetKeys)] = Field(
        description="Requested limits that its runner has not applied yet",
    )
    sequence: Count = Field(description="Sequence number of its last event")
    source: str = Field(description="Source of its problem")
    created_at: Moment = Field(description="When it was created")
    created_by: str = Field(
        default="", description="Name of the key that submitted it. Empty: without a key, or for a share"
    )
    started_at: Moment | None = Field(description="When it started. Null: not started")
    paused_at: Moment | None = Field(description="When it was paused. Null: not paused")
    cancelled_at: Moment | None = Field(description="When it was cancelled. Null: not cancelled")
    succeeded_at: Moment | None = Field(description="When it succeeded. Null: not succeeded")
    failed_at: Moment | None = Field(description="When it failed. Null: not failed")
    urls: RunUrls = Field(description="Paths of its parts")


class RunPage(Page):
    """Runs, newest first."""

    items: list[Run] = Field(description="Runs, newest first")
