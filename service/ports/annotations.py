"""What people put beside a run: notes, pins, saved filters, and read-only shares."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A text about a run, or about one of its candidates. `candidate_id` empty: about the run."""

    id: str
    run_id: str
    candidate_id: str
    body: str
    author: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A candidate that somebody wants at hand."""

    run_id: str
    candidate_id: str
    author: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFilter:
    """A saved filter: filters, columns, axes. `run_id` empty: of no run in particular."""

    id: str
    tenant: str
    run_id: str
    name: str
    settings: Mapping[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A token that lets whoever bears it read one run; stored as a keyed hash, shown once."""

    id: str
    tenant: str
    run_id: str
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None = None


class Annotations(Protocol):
    """Notes, pins, saved filters and shares of one tenant's runs; NotFoundError for what it does not have.

    Ids of runs are whole ones. What is stored is the tenant's, whatever the record says.
    """

    def add_note(self, note: Note) -> None:
        """Store a note."""

    def edit_note(self, run_id: str, note_id: str, body: str, at: datetime) -> Note:
        """Change a note's text."""

    def notes(self, run_id: str, after: str = "", limit: int = 50, candidate_id: str = "") -> list[Note]:
        """Notes of a run in order of their ids, which is that of age; with a candidate's id those about it alone."""

    def remove_note(self, run_id: str, note_id: str) -> None:
        """Remove a note."""

    def pin(self, pin: Pin) -> None:
        """Pin a candidate; repeating changes nothing."""

    def unpin(self, run_id: str, candidate_id: str) -> None:
        """Take a pin away; repeating changes nothing."""

    def pins(self, run_id: str) -> list[Pin]:
        """Pins of a run, oldest first; at most 1,000."""

    def save_filter(self, saved: SavedFilter) -> None:
        """Store a filter."""

    def saved_filters(self, run_id: str = "", after: str = "", limit: int = 50) -> list[SavedFilter]:
        """Saved filters of a run, or those of no run, in order of their ids."""

    def remove_filter(self, filter_id: str) -> None:
        """Remove a filter."""

    def add_share(self, share: Share, token_hash: str) -> None:
        """Store a share."""

    def shares(self, run_id: str) -> list[Share]:
        """Shares of a run, oldest first; at most 1,000."""

    def revoke_share(self, run_id: str, share_id: str, at: datetime) -> None:
        """Close a share for good."""


class Shares(Protocol):
    """Shares of all tenants, for the door."""

    def find(self, token_hash: str) -> Share | None:
        """The share of a hash, revoked and expired ones too."""
