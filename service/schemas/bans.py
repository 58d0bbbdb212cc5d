"""Bans of candidates on the wire."""

from typing import Annotated

from pydantic import Field

from service.schemas.types import CandidateName, Moment, Reply, Request


class BanCreate(Request):
    """A candidate that a run does not build upon any more."""

    candidate_id: CandidateName = Field(description="Id or name of an evaluated candidate", examples=["28.0"])
    descendants: Annotated[bool, Field(strict=True)] = Field(
        default=False,
        description="Whether to ban its descendants too, also those to come. False: a ban of its descendants stays",
    )


class Ban(Reply):
    """A ban that was not lifted."""

    candidate_id: str = Field(description="Id of the candidate")
    descendants: bool = Field(description="Whether its descendants are banned too")
    by: str = Field(description="Name of the key that requested it")
    at: Moment | None = Field(description="When the search made it. Null: not yet")


class BanList(Reply):
    """The bans of a run."""

    run_id: str = Field(description="Id of the run")
    items: list[Ban] = Field(description="Oldest first")
