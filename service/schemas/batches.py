"""Batches on the wire."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from service.schemas.configuration import AskedConfiguration
from service.schemas.derived_models import DescribedAs
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
    """Every combination of some seeds, policies and configurations of one problem, or of several."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"required": ["problem"], "properties": {"problem": {"type": "string"}}},
            "then": {"properties": {"problems": {"maxItems": 0}}},
            "else": {"required": ["problems"], "properties": {"problems": {"minItems": 1}}},
        }
    )

    problem: ProblemName | None = Field(default=None, description="Of all runs; either this or `problems`")
    problems: list[ProblemName] = Field(
        default=[],
        max_length=MAX_PROBLEMS,
        description="Each is searched by every combination; no version of one may come twice",
        json_schema_extra={"uniqueItems": True},
    )
    config: AskedConfiguration = Field(default={}, description="What all runs have in common")
    seeds: list[Seed] = Field(
        min_length=1,
        max_length=MAX_RUNS,
        description="Seeds of the random draws, one run for each",
    )
    policies: list[Policies] = Field(default=[None], min_length=1, max_length=20, description="Of each run as `policy`")
    strategies: list[Literal["islands", "best_of_n", "sequential"]] = Field(
        default=[],
        max_length=3,
        description="Strategies, one run for each; empty: as the configuration says",
    )
    variants: dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")], AskedConfiguration] = Field(
        default={},
        max_length=20,
        description="Further configurations, by the name that they shall have",
        json_schema_extra=NO_OTHERS,
    )
    labels: Labels = Field(default={}, description="Labels that all runs get")


class BatchCreate(Request):
    """Many runs submitted as one: a list of runs, or a sweep."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"required": ["sweep"], "properties": {"sweep": {"type": "object"}}},
            "then": {"properties": {"runs": {"maxItems": 0}}},
            "else": {"required": ["runs"], "properties": {"runs": {"minItems": 1}}},
        }
    )

    name: Name = Field(description="Name of the batch")
    runs: list[RunCreate] = Field(default=[], max_length=MAX_RUNS, description="The runs; either this or `sweep`")
    sweep: Sweep | None = Field(
        default=None,
        description="Combinations from which the runs are made; either this or `runs`",
    )


class Batch(Reply):
    """A batch; its state is that of its runs."""

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
    """What the runs of one group have come to: those of one problem that differ in nothing but their seeds."""

    problem: str = Field(default="", description="Their problem, as `name@version`")
    group: str = Field(description="Labels that the runs have in common: strategy, policy, variant")
    runs: Count = Field(description="Number of runs in the group")
    ended: Count = Field(description="Number of these that have ended")
    best: float | None = Field(description="Highest best fitness")
    median: float | None = Field(description="Median of the best fitnesses")
    quartiles: list[float] = Field(description="First and third quartile, linearly interpolated; empty without runs")
    evaluations: Count = Field(description="Number of candidates evaluated, of all its runs")
    tokens: Count = Field(description="Tokens read and written, of all its runs")
    cost: Spent | None = Field(
        default=None, description="Of the tokens; null: some of it is not known, or it is in several currencies"
    )


class BatchSummary(Reply):
    """What a batch has come to so far."""

    batch: Batch = Field(description="The batch")
    groups: list[GroupSummary] = Field(description="Its groups, by problem and name")
