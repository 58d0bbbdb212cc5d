"""Notes, pins, views and shares on the wire."""

import json
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from service.schemas.types import Identifier, Moment, Name, Object, Page, Plain, Reply, Request, Text

LONGEST_NOTE = 20_000
MOST_SETTINGS = 20_000


def _small(value: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(value)) > MOST_SETTINGS:
        raise ValueError(f"must be at most {MOST_SETTINGS} characters of JSON")
    return value


Body = Annotated[Text, Field(min_length=1, max_length=LONGEST_NOTE)]


class NoteCreate(Request):
    """A text about a run, or about one of its candidates."""

    body: Body
    candidate_id: Identifier | None = Field(default=None, description="Null: about the run")


class NotePatch(Request):
    """Another text for a note."""

    body: Body


class Note(Reply):
    """A text about a run or a candidate."""

    id: str
    run_id: str
    candidate_id: str | None
    body: str
    author: str
    created_at: Moment
    updated_at: Moment


class NotePage(Page):
    """Notes, the oldest first."""

    items: list[Note]


class Pin(Reply):
    """A candidate that somebody wants at hand."""

    run_id: str
    candidate_id: str
    author: str
    created_at: Moment


class PinList(Reply):
    """Pins of a run, the oldest first."""

    items: list[Pin]


class ViewCreate(Request):
    """A view to save."""

    name: Name
    settings: Annotated[Plain, AfterValidator(_small)] = Field(description="Filters, columns, axes: any JSON")
    run_id: Identifier | None = Field(default=None, description="Null: of no run in particular")


class View(Reply):
    """A saved view."""

    id: str
    run_id: str | None
    name: str
    settings: Object
    created_at: Moment


class ViewPage(Page):
    """Saved views, the oldest first."""

    items: list[View]


class ShareCreate(Request):
    """A token that lets its bearer read one run."""

    expires_at: Moment | None = Field(default=None, description="When it ends; null: when it is revoked")


class Share(Reply):
    """A share, without its token."""

    id: str
    run_id: str
    created_by: str
    created_at: Moment
    expires_at: Moment | None
    revoked_at: Moment | None


class NewShare(Share):
    """A share that was just made."""

    token: str | None = Field(
        description="Shown this once: `Authorization: Bearer evs_...`; null in an answer that is given again"
    )


class ShareList(Reply):
    """Shares of a run, the oldest first."""

    items: list[Share]
