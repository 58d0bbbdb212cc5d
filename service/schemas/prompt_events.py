"""The event of the prompt pool, on the wire."""

from typing import Literal

from pydantic import Field

from service.schemas.event_parts import EventBase
from service.schemas.types import Count


class PromptWrittenEvent(EventBase):
    """A model wrote a prompt for the pool."""

    kind: Literal["prompt.written"] = Field(description="Kind of the event")
    proposal_number: Count = Field(description="Number of the proposal, and of the prompt")
    parent: Count = Field(description="Number of the prompt that it was written from. 0: the configured texts")
    problem: str = Field(description="Text of the problem. Empty: the configured one")
    request: str = Field(description="Words of the request. Empty: the configured ones")
