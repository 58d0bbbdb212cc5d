"""The closing assessment of a run on the wire."""

from pydantic import Field

from service.schemas.types import Count
from service.schemas.untrusted_text import Foreign


class HeldOut(Foreign):
    """A program on what was held out."""

    candidate_id: str = Field(description="Id of the candidate")
    outcome: str = Field(description="Of its held-out scoring; empty: it was not done")
    reason: str = Field(description="One sentence where it failed")
    fitness: float | None = Field(description="On what was held out; more is better")
    scores: dict[str, float] = Field(description="Score by objective on the held-out data")
    recorded_fitness: float | None = Field(description="That the search went by")
    recorded_scores: dict[str, float] = Field(description="Score by objective that the search went by")
    difference: float | None = Field(
        description="Held-out fitness less the recorded one: far below 0, the search has fitted what it was scored by"
    )


class AuditRange(Foreign):
    """A score over the evaluations of an audit."""

    name: str = Field(description="Name of the objective or metric")
    recorded: float = Field(description="That the search went by")
    low: float = Field(description="Lowest score over the evaluations")
    high: float = Field(description="Highest score over the evaluations")
    holds: bool = Field(description="Whether all lie within the tolerance of the recorded one")


class Audit(Foreign):
    """The best program of a run, evaluated anew under other seeds."""

    candidate_id: str = Field(description="Id of the best candidate")
    wanted: Count = Field(description="Number of evaluations that were asked for")
    made: Count = Field(description="Number of evaluations that were made")
    tolerance: float = Field(description="A share of the objective's declared range, else of the score itself")
    failed: list[str] = Field(description="Outcome and reason of those that could not be scored")
    ranges: list[AuditRange] = Field(description="Range of each score")
    holds: bool | None = Field(description="Null: not all evaluations were made")
    sentence: str = Field(description="The finding, in one sentence")


class Assessment(Foreign):
    """What a run found, examined when it ended; neither prompts nor archives ever learned of it."""

    run_id: str = Field(description="Id of the run")
    holdout: list[HeldOut] = Field(description="The best first, the best seed last; empty: nothing was held out")
    audit: Audit | None = Field(description="Null: none was wanted, or the run has not come to it")
