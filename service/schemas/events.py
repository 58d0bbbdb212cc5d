"""Events on the wire."""

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from evolve.events import Kind
from service.schemas.foreign import Foreign
from service.schemas.types import Object, Page

EVENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "Event",
    "description": "Something that happened to a run; what else it holds depends on its kind.",
    "required": ["schema", "run_id", "sequence", "kind", "at"],
    "properties": {
        "schema": {"type": "integer"},
        "run_id": {"type": "string"},
        "sequence": {"type": "integer", "minimum": 1},
        "kind": {"type": "string", "examples": [str(Kind.CANDIDATE_EVALUATED)]},
        "at": {"type": "string", "format": "date-time"},
    },
    "additionalProperties": True,
}
Event = Annotated[Object, WithJsonSchema(EVENT_SCHEMA)]


class EventPage(Page, Foreign):
    """Events of a run, in order."""

    items: list[Event]


class EventFeed(Page, Foreign):
    """Events of several runs, in order within each."""

    items: list[Event]
    position: str = Field(description="Where this page ended: hand it back as `cursor` to read what came since")
