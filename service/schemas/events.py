"""Events on the wire."""

from typing import Annotated

from pydantic import Field

from service.schemas.derived_models import DescribedAs
from service.schemas.event_kinds import EventSchema
from service.schemas.types import Object, Page
from service.schemas.untrusted_text import Foreign

Event = Annotated[Object, DescribedAs(EventSchema)]


class EventPage(Page, Foreign):
    """Events of a run, in order."""

    items: list[Event] = Field(description="Events, in order")


class EventFeed(Page, Foreign):
    """Events of several runs, in order within each."""

    items: list[Event] = Field(description="Events, in order within each run")
    position: str = Field(description="End of this page. Send it as `cursor` to read later events")
