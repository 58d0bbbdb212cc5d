"""Parts of events in the document of the API: the base of all, and the values that several kinds hold."""

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from service.schemas.derived_models import without_defaults
from service.schemas.types import Count, Moment, Spent


class EventBase(BaseModel):
    """The members of every event."""

    model_config = ConfigDict(populate_by_name=True, json_schema_extra=without_defaults)

    schema_: int = Field(alias="schema", description="Version of the form of events")
    run_id: str = Field(description="Id of the run")
    sequence: int = Field(ge=1, description="Sequence number in the run, from 1, without gaps")
    at: Moment = Field(description="When it was written")


class BudgetLimit(BaseModel):
    """A limit of a budget, and where it was set."""

    limit: float | str = Field(description="Value of the limit")
    from_: str = Field(alias="from", description="Where it was set: a file, a flag, the request or the default")


class EventExtension(BaseModel):
    """An extension that the run uses."""

    kind: str = Field(description="Its kind: `selection`, `archive`, `strategy`, `operator` or `stopping rule`")
    name: str = Field(description="Name by which the configuration names it")
    reference: str = Field(description="Its place in Python, `module:attribute`. Empty: an object of a script")
    package: str = Field(description="Package that offers it. Empty: none")
    version: str = Field(description="Version of the package. Empty: none")


class EventTokens(BaseModel):
    """Tokens of a completion."""

    model_config = ConfigDict(json_schema_extra=without_defaults)

    input: Count = Field(description="Tokens read, including cached tokens")
    cached: Count = Field(description="Of these, tokens from a cache")
    output: Count = Field(description="Tokens written")
    reasoning: Count = Field(default=0, description="Of these, tokens of reasoning. Left out if there are none")


class EventCharge(BaseModel):
    """A payment in addition to a completion."""

    policy: str = Field(description="Name of the policy that was paid")
    purpose: str = Field(description="Its purpose: `review`, `ideas`, `embedding` or `insights`")
    tokens: EventTokens = Field(description="Tokens that were paid for")
    cost: Spent | None = Field(description="Cost of these tokens. Null: unknown")
    seconds: float = Field(description="Duration in seconds")


class Choice(BaseModel):
    """The numbers of a choice, without those that played no part."""

    model_config = ConfigDict(extra="allow")

    __pydantic_extra__: dict[str, JsonValue]


class Rationale(BaseModel):
    """The reasons for a proposal: a few numbers for the parent, and an object for each other choice."""

    model_config = ConfigDict(extra="allow")

    __pydantic_extra__: dict[str, JsonValue]

    island: Choice | None = Field(default=None, description="Choice of the island by a bandit")
    operator: Choice | None = Field(default=None, description="Choice of the operator")
    policy: Choice | None = Field(default=None, description="Choice of the policy")
    form: Choice | None = Field(default=None, description="Choice of the form of the reply")
    second_parent: Choice | None = Field(default=None, description="Choice of the second parent of a crossover")


class ReplyFormSchema(BaseModel):
    """How a policy is asked to write."""

    format: str = Field(description="How answers of a chain are set apart, such as `tags:answer`")
    edits: str = Field(description="`rewrite`: whole programs. `continue`: the rest of a program. `diff`: edits")
    answers: Count = Field(description="Answers per chain")
    samples: Count = Field(description="Chains per proposal")


class EvaluationEvent(EventBase):
    """The result of an evaluation."""

    candidate_id: str = Field(description="Id of the candidate")
    outcome: str = Field(description="Outcome of the evaluation, such as `ok` or `timeout`")
    fitness: float | None = Field(description="Fitness, more is better. Null: not valid")
    scores: dict[str, float] = Field(description="Score by objective or metric")
    measures: dict[str, float] = Field(description="Value by measure")
    seconds: float = Field(description="Duration in seconds")
    attempt: Count = Field(description="Number of the evaluation of this candidate, from 1")


class ExaminationEvent(EventBase):
    """The result of an evaluation after the end of the search."""

    candidate_id: str = Field(description="Id of the candidate")
    outcome: str = Field(description="Outcome of the evaluation, such as `ok` or `timeout`")
    reason: str = Field(description="Why it failed, in one sentence. Empty: `ok`")
    fitness: float | None = Field(description="Fitness, more is better. Null: not valid")
    scores: dict[str, float] = Field(description="Score by objective or metric")
    repeats: Count = Field(description="How often it was scored")
    seconds: float = Field(description="Duration in seconds")
