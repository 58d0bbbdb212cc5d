"""Failures of a run on the wire."""

from pydantic import Field

from service.schemas.types import Count
from service.schemas.untrusted_text import Foreign


class FailureGroup(Foreign):
    """Failed answers with the same reason."""

    outcome: str = Field(
        description="Outcome of the evaluation, or `rejected`, `duplicate` (both not evaluated), `unreadable` (a part"
        " of a completion without an answer) or `unanswered` (a failed proposal)"
    )
    reason: str = Field(description="The most frequent reason. Others differ from it only in numbers and quoted values")
    count: Count = Field(description="Number of answers in the group")
    seconds: float = Field(description="Total time of their evaluations in seconds")
    seconds_share: float | None = Field(description="Share of the time of all evaluations. Null: no evaluations")


class RunFailures(Foreign):
    """The failed answers of a run, grouped by reason."""

    run_id: str = Field(description="Id of the run")
    count: Count = Field(description="Total number of failures")
    seconds: float = Field(description="Total time of their evaluations in seconds")
    seconds_share: float | None = Field(description="Share of the time of all evaluations. Null: no evaluations")
    evaluation_seconds: float = Field(
        default=0.0, description="Total time of all evaluations in seconds, which may overlap"
    )
    items: list[FailureGroup] = Field(description="The most frequent first")
    omitted: Count = Field(description="Number of further groups")
