"""Insights of a run on the wire."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from evolve.configuration.checks import PLAIN_TEXT
from evolve.search.insights import MAX_INSIGHTS_CHARACTERS
from service.schemas.types import Count, Moment, Reply, Request, storable_text
from service.schemas.untrusted_text import Foreign

MAX_VERSIONS = 100


class InsightsEdit(Request):
    """The next version of a run's insights, written by a user."""

    text: Annotated[
        str, Field(max_length=MAX_INSIGHTS_CHARACTERS, pattern=PLAIN_TEXT), AfterValidator(storable_text)
    ] = Field(description="The whole text. Empty: prompts hold no insights until the run writes the next version")


class InsightsVersion(Foreign):
    """A version of a run's insights."""

    id: str = Field(description="Id of the change")
    version: Count = Field(description="Number of the version, from 1. 0: it waits for the run")
    source: Literal["facts", "analyst", "person", "earlier_run"] = Field(description="Who wrote it")
    by: str = Field(description="Name of the key of the person who wrote it. Empty: the run did")
    policy: str = Field(description="The analyst that was asked. Empty: none was")
    reason: str = Field(description="Why the analyst wrote nothing. Empty: it did, or none was asked")
    evaluations: Count = Field(description="Evaluations of the run when it became due")
    at: Moment | None = Field(description="When it was written. Null: it waits for the run")
    text: str = Field(description="The text. Empty: prompts hold none")


class InsightsList(Reply):
    """The insights of a run."""

    run_id: str = Field(description="Id of the run")
    items: list[InsightsVersion] = Field(description="The newest version first, at most 100")
