"""Batches on the wire."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from service.schemas.configuration import AskedConfiguration
from service.schemas.derived_models import DescribedAs
from service.schemas.problem_documents import ShownObjective
from service.schemas.runs import Policies, RunCreate
from service.schemas.types import (
    NO_OTHERS,
    Count,
    Labels,
    Moment,
    Name,
    Object,
    Page,
    ProblemName,
    Reply,
    Request,
    Spent,
    integral,
)

MAX_RUNS, MAX_PROBLEMS = 200, 20
Seed = Annotated[int, Field(strict=True, ge=0, le=2**53), BeforeValidator(integral)]


class Sweep(Request):
    """All combinations of seeds, policies and configurations for a problem, or for several."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"required": ["problem"], "properties": {"problem": {"type": "string"}}},
            "then": {"properties": {"problems": {"maxItems": 0}}},
            "else": {"required": ["problems"], "properties": {"problems": {"minItems": 1}}},
        }
    )

    problem: ProblemName | None = Field(default=None, description="Problem of all runs. Either this or `problems`")
    problems: list[ProblemName] = Field(
        default=[],
        max_length=MAX_PROBLEMS,
        description="Every combination runs on each problem. No version may occur twice",
        json_schema_extra={"uniqueItems": True},
    )
    config: AskedConfiguration = Field(default={}, description="Configuration of all runs")
    seeds: list[Seed] = Field(
        min_length=1,
        max_length=MAX_RUNS,
        description="Seeds of the random draws, with a run for each",
    )
    policies: list[Policies] = Field(
        default=[None], min_length=1, max_length=20, description="Each as `policy` of its runs"
    )
    strategies: list[Literal["islands", "best_of_n", "sequential"]] = Field(
        default=[],
        max_length=3,
        description="Strategies, with a run for each. Empty: that of the configuration",
    )
    variants: dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")], AskedConfiguration] = Field(
        default={},
        max_length=20,
        description="Further configurations, by name",
        json_schema_extra=NO_OTHERS,
    )
    labels: Labels = Field(default={}, description="Labels that all runs get")


class BatchCreate(Request):
    """Many runs submitted together: a list of runs, or a sweep."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"required": ["sweep"], "properties": {"sweep": {"type": "object"}}},
            "then": {"properties": {"runs": {"maxItems": 0}}},
            "else": {"required": ["runs"], "properties": {"runs": {"minItems": 1}}},
        }
    )

    name: Name = Field(description="Name of the batch")
    runs: list[RunCreate] = Field(default=[], max_length=MAX_RUNS, description="The runs. Either this or `sweep`")
    sweep: Sweep | None = Field(
        default=None,
        description="Combinations that make the runs. Either this or `runs`",
    )


class Batch(Reply):
    """A batch. Its state follows from its runs."""

    id: str = Field(description="Id of the batch")
    name: str = Field(description="Name of the batch")
    state: str = Field(description="queued, running, paused, succeeded, failed or cancelled: of the whole")
    states: dict[str, Count] = Field(description="How many of its runs are in which state")
    request: Annotated[Object, DescribedAs(BatchCreate)] = Field(description="The request that created it")
    created_at: Moment = Field(description="When it was created")


class BatchPage(Page):
    """Batches, newest first."""

    items: list[Batch] = Field(description="Batches, newest first")


class GroupSummary(Reply):
    """Results of a group: runs of the same problem that differ only in their seeds."""

    problem: str = Field(default="", description="Their problem, as `name@version`")
    group: str = Field(description="Labels that the runs have in common: strategy, policy, variant")
    objectives: list[ShownObjective] = Field(
        default=[], description="Objectives of their problem. Empty: the evaluator returns a single number"
    )
    runs: Count = Field(description="Number of runs in the group")
    ended: Count = Field(description="Number of these that have ended")
    best: float | None = Field(
        description="Highest best fitness. Of a minimised objective, the fitness is the negative score"
    )
    median: float | None = Field(description="Median of the best fitnesses")
    quartiles: list[float] = Field(description="First and third quartile, linearly interpolated. Empty: no runs")
    evaluations: Count = Field(description="Number of candidates evaluated, of all its runs")
    tokens: Count = Field(description="Tokens read and written, of all its runs")
    cost: Spent | None = Field(
        default=None, description="Cost of the tokens. Null: partly unknown, or in several currencies"
    )


class BatchSummary(Reply):
    """Results of a batch so far."""

    batch: Batch = Field(description="The batch")
    groups: list[GroupSummary] = Field(description="Its groups, by problem and name")
