"""The kind of event that tells of the prompt pool."""

from dataclasses import dataclass
from typing import ClassVar

from evolve.event_types import EventData, EventKind


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptWritten(EventData):
    """A model wrote a prompt for the pool; the number of its proposal is the prompt's. Empty: the configured text."""

    kind: ClassVar[EventKind] = EventKind.PROMPT_WRITTEN
    proposal_number: int
    parent: int
    problem: str
    request: str
