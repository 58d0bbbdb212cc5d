"""Maintenance: pruning, backing up and restoring a database."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """How long data is kept.

    Attributes:
        runs: how long a run is kept after its end.
        audit: how long the record of who did what is kept. None means for ever.
        keep_labels: `KEY` or `KEY=VALUE`. A run that bears one of them is kept.
    """

    runs: timedelta
    audit: timedelta | None = None
    keep_labels: Sequence[str] = ()


class Maintenance(Protocol):
    """Maintenance of one database."""

    def prune(self, retention: RetentionPolicy, *, dry_run: bool) -> dict[str, int]:
        """Remove data that is past its time, and return how many of each kind.

        Args:
            retention: how long data is kept.
            dry_run: whether to count alone.
        """

    def releasable(self, retention: RetentionPolicy) -> dict[str, int]:
        """The partitions of events that pruning would give back to the disk, with the bytes of each.

        Databases without partitions have none.
        """

    def back_up(self, target: Path) -> str:
        """Write a backup to a new file, and return the revision of the schema."""

    def restore(self, path: Path) -> dict[str, int]:
        """Fill the database, which is empty, from a backup. Return how many rows each table has now."""


class Partitions(Protocol):
    """Parts of a database's log by time, whose space is given back whole."""

    def prepare(self) -> None:
        """Make the parts of the time to come that are missing. Failures are logged."""
