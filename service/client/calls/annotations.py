"""Calls about what people put beside runs: notes, pins, views, shares."""

from types import NoneType

from service.client.call import Call, chosen, place
from service.schemas.annotations import (
    NewShare,
    Note,
    NoteCreate,
    NotePage,
    NotePatch,
    Pin,
    PinList,
    ShareCreate,
    ShareList,
    View,
    ViewCreate,
    ViewPage,
)

NOTES, PINS, SHARES = "/v1/runs/{}/notes", "/v1/runs/{}/pins", "/v1/runs/{}/shares"
VIEWS = "/v1/views"


def create_note(run_id: str, note: NoteCreate) -> Call[Note]:
    """Write a note about a run or one of its candidates."""
    return Call(method="POST", path=place(NOTES, run_id), body=note, answer=Note)


def list_notes(run_id: str, *, candidate_id: str | None = None, limit: int | None = None) -> Call[NotePage]:
    """List the notes of a run, or those about one of its candidates, the oldest first."""
    params = chosen(candidate_id=candidate_id, limit=limit)
    return Call(method="GET", path=place(NOTES, run_id), params=params, answer=NotePage)


def update_note(run_id: str, note_id: str, patch: NotePatch) -> Call[Note]:
    """Change a note's text."""
    return Call(method="PATCH", path=place(f"{NOTES}/{{}}", run_id, note_id), body=patch, answer=Note)


def delete_note(run_id: str, note_id: str) -> Call[None]:
    """Remove a note."""
    return Call(method="DELETE", path=place(f"{NOTES}/{{}}", run_id, note_id), answer=NoneType)


def list_pins(run_id: str) -> Call[PinList]:
    """List the pins of a run."""
    return Call(method="GET", path=place(PINS, run_id), answer=PinList)


def pin_candidate(run_id: str, candidate_id: str) -> Call[Pin]:
    """Pin a candidate."""
    return Call(method="PUT", path=place(f"{PINS}/{{}}", run_id, candidate_id), answer=Pin)


def unpin_candidate(run_id: str, candidate_id: str) -> Call[None]:
    """Take a pin away."""
    return Call(method="DELETE", path=place(f"{PINS}/{{}}", run_id, candidate_id), answer=NoneType)


def create_view(view: ViewCreate) -> Call[View]:
    """Save a view."""
    return Call(method="POST", path=VIEWS, body=view, answer=View)


def list_views(*, run_id: str = "", limit: int | None = None) -> Call[ViewPage]:
    """List the views of a run, or those of no run."""
    return Call(method="GET", path=VIEWS, params=chosen(run_id=run_id, limit=limit), answer=ViewPage)


def delete_view(view_id: str) -> Call[None]:
    """Remove a view."""
    return Call(method="DELETE", path=place(f"{VIEWS}/{{}}", view_id), answer=NoneType)


def create_share(run_id: str, share: ShareCreate) -> Call[NewShare]:
    """Make a token that lets its bearer read a run."""
    return Call(method="POST", path=place(SHARES, run_id), body=share, answer=NewShare)


def list_shares(run_id: str) -> Call[ShareList]:
    """List the shares of a run."""
    return Call(method="GET", path=place(SHARES, run_id), answer=ShareList)


def revoke_share(run_id: str, share_id: str) -> Call[None]:
    """Close a share for good."""
    return Call(method="DELETE", path=place(f"{SHARES}/{{}}", run_id, share_id), answer=NoneType)
