"""Notes, pins, views and shares on the wire."""

import json
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from service.schemas.types import CandidateName, Identifier, Moment, Name, Object, Page, Plain, Reply, Request, Text

MAX_NOTE = 20_000
MAX_SETTINGS = 20_000


def _small(value: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(value)) > MAX_SETTINGS:
        raise ValueError(f"must be at most {MAX_SETTINGS} characters of JSON")
    return value


Body = Annotated[
    Text,
    Field(min_length=1, max_length=MAX_NOTE, description="Text of the note, at most 20,000 characters"),
]


class NoteCreate(Request):
    """A text about a run, or about a candidate of it."""

    body: Body
    candidate_id: CandidateName | None = Field(
        default=None, description="Id or name of a candidate of the run. Null: about the run", examples=["28.0"]
    )


class NotePatch(Request):
    """Another text for a note."""

    body: Body


class Note(Reply):
    """A text about a run or a candidate."""

    id: str = Field(description="Id of the note")
    run_id: str = Field(description="Id of the run")
    candidate_id: str | None = Field(description="Id of its candidate. Null: it is about the run")
    body: str = Field(description="Text of the note")
    author: str = Field(description="Name of the key with which it was written")
    created_at: Moment = Field(description="When it was created")
    updated_at: Moment = Field(description="When it was last changed")


class NotePage(Page):
    """Notes, oldest first."""

    items: list[Note] = Field(description="Notes, oldest first")


class Pin(Reply):
    """A pinned candidate."""

    run_id: str = Field(description="Id of the run")
    candidate_id: str = Field(description="Id of the candidate")
    author: str = Field(description="Name of the key with which it was pinned")
    created_at: Moment = Field(description="When it was pinned")


class PinList(Reply):
    """Pins of a run, oldest first."""

    items: list[Pin] = Field(description="Pins, oldest first")


class SavedFilterCreate(Request):
    """A filter to save."""

    name: Name = Field(description="Name of the filter")
    settings: Annotated[Plain, AfterValidator(_small)] = Field(description="Filters, columns, axes: any JSON")
    run_id: Identifier | None = Field(default=None, description="Null: of no run in particular")


class SavedFilter(Reply):
    """A saved filter."""

    id: str = Field(description="Id of the filter")
    run_id: str | None = Field(description="Id of its run. Null: no run in particular")
    name: str = Field(description="Name of the filter")
    settings: Object = Field(description="Filters, columns and axes, as they were saved: any JSON")
    created_at: Moment = Field(description="When it was created")


class SavedFilterPage(Page):
    """Saved filters, oldest first."""

    items: list[SavedFilter] = Field(description="Saved filters, oldest first")


class ShareCreate(Request):
    """A token that lets its bearer read a run."""

    expires_at: Moment | None = Field(default=None, description="When it expires. Null: never, unless it is revoked")


class Share(Reply):
    """A share, without its token."""

    id: str = Field(description="Id of the share")
    run_id: str = Field(description="Id of the run")
    created_by: str = Field(description="Name of the key with which it was created")
    created_at: Moment = Field(description="When it was created")
    expires_at: Moment | None = Field(description="When it expires. Null: never, unless it is revoked")
    revoked_at: Moment | None = Field(description="When it was revoked. Null: never")


class NewShare(Share):
    """A share that was just made."""

    token: str | None = Field(
        description="Token for `Authorization: Bearer evs_...`, shown only once. Null in a repeated answer"
    )


class ShareList(Reply):
    """Shares of a run, oldest first."""

    items: list[Share] = Field(description="Shares, oldest first")
