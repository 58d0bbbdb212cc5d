"""Priorities of candidates on the wire."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from evolve.search.priorities import MAX_PRIORITY_PROPOSALS
from service.schemas.types import CandidateName, Count, Moment, Reply, Request, integral

DEFAULT_PRIORITY_PROPOSALS = 10


class PriorityCreate(Request):
    """A candidate that the next proposals of a run start from."""

    candidate_id: CandidateName = Field(description="Id or name of a valid candidate", examples=["28.0"])
    proposals: Annotated[int, Field(strict=True, ge=1, le=MAX_PRIORITY_PROPOSALS), BeforeValidator(integral)] = Field(
        default=DEFAULT_PRIORITY_PROPOSALS, description="Number of proposals that start from it"
    )


class Priority(Reply):
    """A priority that was not lifted or used up."""

    candidate_id: str = Field(description="Id of the candidate")
    proposals: Count = Field(description="Number of proposals that it was given for")
    remaining: Count = Field(description="Number of these that are not created yet")
    by: str = Field(description="Name of the key that requested it")
    at: Moment | None = Field(description="When the search made it. Null: not yet")


class PriorityList(Reply):
    """The priorities of a run."""

    run_id: str = Field(description="Id of the run")
    items: list[Priority] = Field(description="Oldest first")
