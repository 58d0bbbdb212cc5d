"""Looking after the database that the settings or a flag name: pruning, backups, restoring."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from service.config import database_url
from service.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from service.config import Settings
    from service.db.engine import Database
    from service.db.maintenance import RetentionPolicy


def retention(settings: "Settings", older_than: int | None, keep_labels: Sequence[str]) -> "RetentionPolicy":
    """What is kept, by a flag, else by the settings.

    Raises:
        UsageError: neither says how long a run is kept.
    """
    from service.db.maintenance import RetentionPolicy

    days = settings.retention.days if older_than is None else older_than
    if days is None:
        raise UsageError("no retention time is set: add --older-than DAYS, or set retention.days")
    audit = settings.retention.audit_days
    return RetentionPolicy(
        runs=timedelta(days=days),
        audit=None if audit is None else timedelta(days=audit),
        keep_labels=tuple(keep_labels),
    )


def prune_database(settings: "Settings", db: str | None, kept: "RetentionPolicy", *, dry_run: bool) -> dict[str, int]:
    """Remove what is not kept; how many of each kind."""
    from service.db.engine import open_database
    from service.db.maintenance import prune

    with _opened(settings, db, open_database) as database:
        return prune(database, database.clock, kept, dry_run=dry_run)


def back_up_database(settings: "Settings", db: str | None, target: Path) -> str:
    """Write a backup to a new file, and return the revision. An older SQLite database is not upgraded by it."""
    from service.db.backup import backup
    from service.db.engine import connect

    with _opened(settings, db, connect) as database:
        return backup(database, target, database.clock)


def read_backup(path: Path) -> str:
    """The revision of a backup."""
    from service.db.backup import contents

    return contents(path)


def restore_database(settings: "Settings", db: str | None, path: Path) -> dict[str, int]:
    """Fill an empty database from a backup; how many rows each table has got. A SQLite file is made."""
    from service.db.backup import restore
    from service.db.engine import open_database

    database = open_database(database_url(settings, db))
    try:
        return restore(database, path)
    finally:
        database.close()


@contextmanager
def _opened(settings: "Settings", db: str | None, opener: Callable[[str], "Database"]) -> Iterator["Database"]:
    url = database_url(settings, db)
    scheme, _, path = url.partition(":///")
    if scheme == "sqlite" and not Path(path).expanduser().exists():
        raise NotFoundError(f"there is no database {path}: name another with --db")
    database = opener(url)
    try:
        yield database
    finally:
        database.close()
