"""The closing assessment of a run on the wire."""

from pydantic import Field

from service.schemas.foreign import Foreign
from service.schemas.types import Count


class HeldOut(Foreign):
    """A program on what was held out."""

    candidate_id: str
    outcome: str = Field(description="Of its held-out scoring; empty: it was not done")
    reason: str = Field(description="One sentence where it failed")
    fitness: float | None = Field(description="On what was held out; more is better")
    scores: dict[str, float]
    recorded_fitness: float | None = Field(description="That the search went by")
    recorded_scores: dict[str, float]
    difference: float | None = Field(
        description="Held-out fitness less the recorded one: far below 0, the search has fitted what it was scored by"
    )


class AuditRange(Foreign):
    """A score over the evaluations of an audit."""

    name: str
    recorded: float = Field(description="That the search went by")
    low: float
    high: float
    holds: bool = Field(description="Whether all lie within the tolerance of the recorded one")


class Audit(Foreign):
    """The best program of a run, evaluated anew under other seeds."""

    candidate_id: str
    wanted: Count
    made: Count
    tolerance: float = Field(description="A share of the objective's declared range, else of the score itself")
    failed: list[str] = Field(description="Outcome and reason of those that could not be scored")
    ranges: list[AuditRange]
    holds: bool | None = Field(description="Null: not all evaluations were made")
    sentence: str


class Assessment(Foreign):
    """What a run found, examined when it ended; neither prompts nor archives ever learned of it."""

    run_id: str
    holdout: list[HeldOut] = Field(description="The best first, the best seed last; empty: nothing was held out")
    audit: Audit | None = Field(description="Null: none was wanted, or the run has not come to it")
