"""Batches on the wire."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from service.schemas.runs import Policies, RunCreate
from service.schemas.types import (
    NO_OTHERS,
    Count,
    Labels,
    Moment,
    Name,
    Object,
    Page,
    Plain,
    ProblemName,
    Reply,
    Request,
    Spent,
    integral,
)

MOST_RUNS, MOST_PROBLEMS = 200, 20
Seed = Annotated[int, Field(strict=True, ge=0, le=2**53), BeforeValidator(integral)]


class Sweep(Request):
    """Every combination of some seeds, policies and configurations of one problem, or of several."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["problem"], "properties": {"problem": {"type": "string"}, "problems": {"maxItems": 0}}},
                {"required": ["problems"], "properties": {"problem": {"type": "null"}, "problems": {"minItems": 1}}},
            ]
        }
    )

    problem: ProblemName | None = Field(default=None, description="Of all runs; either this or `problems`")
    problems: list[ProblemName] = Field(
        default=[],
        max_length=MOST_PROBLEMS,
        description="Each is searched by every combination; no version of one may come twice",
        json_schema_extra={"uniqueItems": True},
    )
    config: Plain = Field(default={}, description="What all runs have in common")
    seeds: list[Seed] = Field(min_length=1, max_length=MOST_RUNS)
    policies: list[Policies] = Field(default=[None], min_length=1, max_length=20, description="Of each run as `policy`")
    strategies: list[Literal["islands", "best_of_n", "sequential"]] = Field(default=[], max_length=3)
    variants: dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")], Plain] = Field(
        default={},
        max_length=20,
        description="Further configurations, by the name that they shall have",
        json_schema_extra=NO_OTHERS,
    )
    labels: Labels = Field(default={})


class BatchCreate(Request):
    """Many runs submitted as one: a list of runs, or a sweep."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["runs"], "properties": {"sweep": {"type": "null"}, "runs": {"minItems": 1}}},
                {"required": ["sweep"], "properties": {"sweep": {"type": "object"}, "runs": {"maxItems": 0}}},
            ]
        }
    )

    name: Name
    runs: list[RunCreate] = Field(default=[], max_length=MOST_RUNS)
    sweep: Sweep | None = None


class Batch(Reply):
    """A batch; its state is that of its runs."""

    id: str
    name: str
    state: str = Field(description="queued, running, paused, succeeded, failed or cancelled: of the whole")
    states: dict[str, Count] = Field(description="How many of its runs are in which state")
    request: Object
    created_at: Moment


class BatchPage(Page):
    """Batches, newest first."""

    items: list[Batch]


class GroupSummary(Reply):
    """What the runs of one group have come to: those of one problem that differ in nothing but their seeds."""

    problem: str = Field(default="", description="Their problem, as `name@version`")
    group: str = Field(description="Labels that the runs have in common: strategy, policy, variant")
    runs: Count
    ended: Count
    best: float | None = Field(description="Highest best fitness")
    median: float | None = Field(description="Median of the best fitnesses")
    quartiles: list[float] = Field(description="First and third quartile, linearly interpolated; empty without runs")
    evaluations: Count
    tokens: Count
    cost: Spent | None = Field(
        default=None, description="Of the tokens; null: some of it is not known, or it is in several currencies"
    )


class BatchSummary(Reply):
    """What a batch has come to so far."""

    batch: Batch
    groups: list[GroupSummary]
