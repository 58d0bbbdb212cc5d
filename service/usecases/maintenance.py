"""Maintenance of a database: how long data is kept, and removing what was deleted."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import structlog

from service.config import RetentionSettings
from service.errors import StorageError, UsageError
from service.ports import Deletions, Partitions, RetentionPolicy

DELETION_SECONDS = 2.0
PARTITION_SECONDS = 3600.0

log = structlog.get_logger(__name__)


def read_retention(settings: RetentionSettings, older_than: int | None, keep_labels: Sequence[str]) -> RetentionPolicy:
    """How long data is kept, by a flag, else by the settings.

    Args:
        settings: the retention of this installation.
        older_than: days, instead of those of the settings.
        keep_labels: runs that bear one of these are kept.

    Raises:
        UsageError: neither says how long a run is kept.
    """
    days = settings.days if older_than is None else older_than
    if days is None:
        raise UsageError("no retention time is set: add --older-than DAYS, or set retention.days")
    audit = settings.audit_days
    return RetentionPolicy(
        runs=timedelta(days=days),
        audit=None if audit is None else timedelta(days=audit),
        keep_labels=tuple(keep_labels),
    )


async def remove_deleted(deletions: Deletions, pause_seconds: float = DELETION_SECONDS) -> None:
    """Remove what is left of deleted runs, a short transaction at a time, as long as the process is there."""
    while True:
        try:
            while await asyncio.to_thread(deletions.advance):
                pass
        except StorageError as error:  # it is begun anew where it was broken off
            log.warning("deletion.broke_off", error=str(error))
        await asyncio.sleep(pause_seconds)


async def keep_partitions(partitions: Partitions, pause_seconds: float = PARTITION_SECONDS) -> None:
    """Make partitions before their time begins, as long as the process is there."""
    while True:
        await asyncio.to_thread(partitions.prepare)
        await asyncio.sleep(pause_seconds)
