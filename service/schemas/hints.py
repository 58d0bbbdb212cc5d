"""Hints to a run on the wire."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from evolve.search.hints import MAX_HINT_PROPOSALS
from service.schemas.types import Count, HintText, Moment, Reply, Request, integral
from service.schemas.untrusted_text import Foreign

DEFAULT_HINT_PROPOSALS = 10


class HintCreate(Request):
    """What a user suggests to a run."""

    text: HintText = Field(description="The suggestion, in words for a model. Empty: end the standing hint")
    proposals: Annotated[int, Field(strict=True, ge=1, le=MAX_HINT_PROPOSALS), BeforeValidator(integral)] = Field(
        default=DEFAULT_HINT_PROPOSALS, description="Number of proposals whose prompts hold it"
    )


class Hint(Foreign):
    """A hint, and the results of the proposals with it in their prompts."""

    id: str = Field(description="Id of the hint")
    text: str = Field(description="The suggestion. Empty: it ended the standing hint")
    proposals: Count = Field(description="Number of proposals that it was given for")
    by: str = Field(description="Name of the key that requested it")
    at: Moment | None = Field(description="When the search received it. Null: not yet")
    used: Count = Field(description="Number of proposals with it in their prompt so far")
    evaluations: Count = Field(description="Evaluated candidates of these proposals")
    valid: Count = Field(description="Number of these with the outcome `ok`")
    improvements: Count = Field(description="Number of these that became the best of the run")
    best_fitness: float | None = Field(description="Highest fitness of these. Null: none is valid")


class HintList(Reply):
    """The hints of a run."""

    run_id: str = Field(description="Id of the run")
    items: list[Hint] = Field(description="The newest first, at most 100")
