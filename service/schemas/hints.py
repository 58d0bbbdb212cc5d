"""Hints to a run on the wire."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from evolve.configuration.run import MAX_ISLANDS
from evolve.search.hints import MAX_HINT_PROPOSALS
from service.schemas.types import HintText, Request, integral

DEFAULT_HINT_PROPOSALS = 10


class HintCreate(Request):
    """What a user suggests to a run."""

    text: HintText = Field(description="The suggestion, in words for a model. Empty: end the standing hint")
    proposals: Annotated[int, Field(strict=True, ge=1, le=MAX_HINT_PROPOSALS), BeforeValidator(integral)] = Field(
        default=DEFAULT_HINT_PROPOSALS, description="Number of proposals whose prompts hold it"
    )
    island: Annotated[int, Field(strict=True, ge=0, le=MAX_ISLANDS), BeforeValidator(integral)] | None = Field(
        default=None, description="Island whose proposals hold it. Null: those of all islands"
    )
