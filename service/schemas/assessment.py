"""The closing assessment of a run on the wire."""

from pydantic import Field

from service.schemas.types import Count
from service.schemas.untrusted_text import Foreign


class HeldOut(Foreign):
    """The score of a program on held-out data."""

    candidate_id: str = Field(description="Id of the candidate")
    outcome: str = Field(description="Outcome of the scoring on held-out data. Empty: not done")
    reason: str = Field(description="The reason of a failure, in one sentence")
    fitness: float | None = Field(description="Fitness on held-out data, more is better")
    scores: dict[str, float] = Field(description="Score by objective on the held-out data")
    recorded_fitness: float | None = Field(description="Fitness that the search used")
    recorded_scores: dict[str, float] = Field(description="Score by objective that the search went by")
    difference: float | None = Field(
        description="Held-out fitness minus the recorded fitness. Far below 0: the search has overfitted its scores"
    )


class AuditRange(Foreign):
    """A score over the evaluations of an audit."""

    name: str = Field(description="Name of the objective or metric")
    recorded: float = Field(description="Score that the search used")
    low: float = Field(description="Lowest score over the evaluations")
    high: float = Field(description="Highest score over the evaluations")
    holds: bool = Field(description="Whether all are within the tolerance of the recorded score")


class Audit(Foreign):
    """The best program of a run, evaluated again under other seeds."""

    candidate_id: str = Field(description="Id of the best candidate")
    wanted: Count = Field(description="Number of requested evaluations")
    made: Count = Field(description="Number of evaluations so far")
    tolerance: float = Field(description="A share of the objective's declared range, else of the score itself")
    failed: list[str] = Field(description="Outcome and reason of failed evaluations")
    ranges: list[AuditRange] = Field(description="Range of each score")
    holds: bool | None = Field(description="Null: not all evaluations were made")
    sentence: str = Field(description="The finding, in one sentence")


class Assessment(Foreign):
    """The examination of a run's results at its end. Prompts and archives do not see it."""

    run_id: str = Field(description="Id of the run")
    holdout: list[HeldOut] = Field(description="The best first, the best seed last. Empty: no held-out data")
    audit: Audit | None = Field(description="Null: none was requested, or the run is not there yet")
