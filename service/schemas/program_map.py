"""The map of a run's programs on the wire."""

from pydantic import Field

from service.schemas.series import ForeignName
from service.schemas.types import Count, Number, Reply


# Not Foreign: the columns are long, and of all their texts only the names are others'.
class ProgramMap(Reply):
    """Evaluated programs in a plane, in columns of equal length: those with similar tokens lie near each other."""

    run_id: str = Field(description="Id of the run")
    sequence: Count = Field(description="Everything up to this event is in the map")
    total: Count = Field(description="Evaluations in all")
    sampled: bool = Field(description="Whether evaluations are left out, because the run has more than 10,000")
    complete: bool = Field(description="Whether all programs of the map are placed. If not, ask again")
    landmarks: Count = Field(description="Number of programs that all others were compared with")
    compared: Count = Field(description="Number of programs that the correlation was measured on. 0: not yet")
    correlation: float | None = Field(
        description="Spearman correlation of the distances on the map with the token distances, over all pairs of these"
        " programs. Null: not measured yet, or fewer than 3 programs, or all equal"
    )
    outcomes: list[ForeignName] = Field(description="Values for `outcome`")
    operators: list[ForeignName] = Field(description="Values for `operator`")
    place: list[int] = Field(description="Place of the evaluation in the run, from 0, rising")
    proposal_number: list[int] = Field(description="Number of the proposal")
    position: list[int] = Field(description="Position of the answer in its proposal")
    island: list[int] = Field(description="Number of the island")
    outcome: list[int] = Field(description="Index into `outcomes`")
    operator: list[int] = Field(description="Index into `operators`")
    fitness: list[Number | None] = Field(description="To 7 digits. Null: not valid")
    x: list[Number] = Field(description="Position of the program. A distance of 1 is no token in common, about")
    y: list[Number] = Field(description="Position of the program, in the same unit")
