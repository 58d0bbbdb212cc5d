"""Failures of a run on the wire."""

from pydantic import Field

from service.schemas.types import Count
from service.schemas.untrusted_text import Foreign


class FailureGroup(Foreign):
    """Answers that came to nothing for one reason."""

    outcome: str = Field(
        description="Of the evaluation; else `rejected` or `duplicate` (not evaluated), `unreadable` (no answer in a"
        " part of a completion), or `unanswered` (a proposal that failed)"
    )
    reason: str = Field(description="The most frequent one; others differ from it in numbers and quoted values alone")
    count: Count = Field(description="Number of answers in the group")
    seconds: float = Field(description="That their evaluations took together")
    seconds_share: float | None = Field(description="Of the time of all evaluations; null: there were none")


class RunFailures(Foreign):
    """Why answers of a run came to nothing, grouped by reason."""

    run_id: str = Field(description="Id of the run")
    count: Count = Field(description="Failures in all")
    seconds: float = Field(description="That their evaluations took together")
    seconds_share: float | None = Field(description="Of the time of all evaluations; null: there were none")
    items: list[FailureGroup] = Field(description="The most frequent first")
    omitted: Count = Field(description="Groups behind the last of `items`")
