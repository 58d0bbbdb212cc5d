"""Pruning a database by the retention of this installation."""

from collections.abc import Sequence
from datetime import timedelta

from service.config import RetentionSettings
from service.errors import UsageError
from service.ports import RetentionPolicy


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
