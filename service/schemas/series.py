"""Runs over time and side by side on the wire."""

from pydantic import Field

from service.schemas.foreign import Foreign
from service.schemas.types import Count, Moment, Reply


class SeriesPoint(Reply):
    """A run after some evaluations."""

    evaluations: Count
    at: Moment
    best_fitness: float | None = Field(description="Null: nothing was valid yet")
    valid_share: float = Field(description="Of the evaluations so far")
    duplicate_share: float = Field(description="Of all candidates so far")
    rejected_share: float = Field(description="Of all candidates so far")
    hypervolume: float | None = Field(
        description="Of the front so far, in rewards; sampled for more than 2 objectives; null: objectives lack bounds"
    )
    tokens_input: Count
    tokens_output: Count


class Success(Foreign):
    """How candidates of one kind did."""

    name: str
    evaluations: Count
    valid: Count
    improvements: Count = Field(description="How many became the best of the run")
    mean_fitness: float | None


class Metrics(Reply):
    """A run over its evaluations."""

    run_id: str
    points: list[SeriesPoint] = Field(description="Evenly over the evaluations, the last one now")
    operators: list[Success]
    policies: list[Success]
    positions: list[Success] = Field(description="By the place of the answer in its proposal")


class ComparedRun(Foreign):
    """One run on the common axis."""

    run_id: str
    problem: str
    state: str
    seed: int
    policies: list[str]
    group: str = Field(description="Runs of one group differ in nothing but the seed")
    evaluations: Count
    best: list[float | None] = Field(description="Best fitness so far at each place of the axis; null: not come there")
    final_fitness: float | None
    best_candidate_id: str | None
    known_best: float | None


class ComparedGroup(Foreign):
    """Runs that differ in nothing but the seed."""

    name: str
    run_ids: list[str]
    seeds: list[int]
    mean: list[float | None]
    low: list[float | None]
    high: list[float | None]
    final_mean: float | None
    final_deviation: float | None = Field(description="Standard deviation over the runs")
    best_at_k: list[float] = Field(description="Expected best of k of these runs, k from 1")


class RunComparison(Reply):
    """Runs side by side."""

    axis: list[Count] = Field(description="Numbers of evaluations")
    runs: list[ComparedRun]
    groups: list[ComparedGroup] = Field(description="Those with several runs")
