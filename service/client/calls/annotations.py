"""Calls of the tag annotations. `scripts.openapi` writes them."""

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
    SavedFilter,
    SavedFilterCreate,
    SavedFilterPage,
    ShareCreate,
    ShareList,
)


def create_note(run_id: str, body: NoteCreate) -> Call[Note]:
    """Add a note to a run or to a candidate of it."""
    return Call(method="POST", path=place("/v1/runs/{}/notes", run_id), body=body, answer=Note)


def list_notes(run_id: str, *, candidate_id: str | None = None, limit: int | None = None) -> Call[NotePage]:
    """List the notes of a run and its candidates, oldest first."""
    return Call(
        method="GET",
        path=place("/v1/runs/{}/notes", run_id),
        params=chosen(candidate_id=candidate_id, limit=limit),
        answer=NotePage,
    )


def update_note(run_id: str, note_id: str, body: NotePatch) -> Call[Note]:
    """Change the text of a note."""
    return Call(method="PATCH", path=place("/v1/runs/{}/notes/{}", run_id, note_id), body=body, answer=Note)


def delete_note(run_id: str, note_id: str) -> Call[None]:
    """Delete a note."""
    return Call(method="DELETE", path=place("/v1/runs/{}/notes/{}", run_id, note_id), answer=NoneType)


def list_pins(run_id: str) -> Call[PinList]:
    """List the pinned candidates of a run, oldest pin first."""
    return Call(method="GET", path=place("/v1/runs/{}/pins", run_id), answer=PinList)


def pin_candidate(run_id: str, candidate_id: str) -> Call[Pin]:
    """Pin a candidate. Repeating has no effect."""
    return Call(method="PUT", path=place("/v1/runs/{}/pins/{}", run_id, candidate_id), answer=Pin)


def unpin_candidate(run_id: str, candidate_id: str) -> Call[None]:
    """Unpin a candidate. Repeating has no effect."""
    return Call(method="DELETE", path=place("/v1/runs/{}/pins/{}", run_id, candidate_id), answer=NoneType)


def create_saved_filter(body: SavedFilterCreate) -> Call[SavedFilter]:
    """Save a filter."""
    return Call(method="POST", path="/v1/saved-filters", body=body, answer=SavedFilter)


def list_saved_filters(*, run_id: str | None = None, limit: int | None = None) -> Call[SavedFilterPage]:
    """List the saved filters of a run, or those without a run, oldest first."""
    return Call(
        method="GET", path="/v1/saved-filters", params=chosen(run_id=run_id, limit=limit), answer=SavedFilterPage
    )


def delete_saved_filter(filter_id: str) -> Call[None]:
    """Delete a saved filter."""
    return Call(method="DELETE", path=place("/v1/saved-filters/{}", filter_id), answer=NoneType)


def create_share(run_id: str, body: ShareCreate) -> Call[NewShare]:
    """Create a token that lets its bearer read this run. Only this answer shows it."""
    return Call(method="POST", path=place("/v1/runs/{}/shares", run_id), body=body, answer=NewShare)


def list_shares(run_id: str) -> Call[ShareList]:
    """List the shares of a run, oldest first, without their tokens."""
    return Call(method="GET", path=place("/v1/runs/{}/shares", run_id), answer=ShareList)


def revoke_share(run_id: str, share_id: str) -> Call[None]:
    """Revoke a share permanently."""
    return Call(method="DELETE", path=place("/v1/runs/{}/shares/{}", run_id, share_id), answer=NoneType)
