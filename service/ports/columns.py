"""Runs in columns, saved between the processes that read them."""

from typing import Protocol


class ColumnStore(Protocol):
    """What processes keep for each other of the runs that they have read. Nothing is lost with it but time."""

    def load(self, run_id: str, form: str) -> bytes | None:
        """What was saved of a run, by whole id, in a format; None: nothing."""

    def save(self, run_id: str, form: str, sequence: int, content: bytes) -> None:
        """Save a run up to an event, unless more of it is saved, or it is being deleted."""
