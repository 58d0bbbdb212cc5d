"""Storage, opened by the URL that the settings or a flag name."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from service.config import database_url
from service.errors import NotFoundError
from service.ports import Readers, RunLog, RunReader

if TYPE_CHECKING:
    from service.config import Settings
    from service.db.engine import Database
    from service.db.schema import Revision

SCHEMA_SECONDS, SCHEMA_LOG_TRIES = 2.0, 15

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """An open database and its doors.

    Attributes:
        database: for the doors of those that wire more of them.
        reader: of all tenants.
        readers: by tenant.
    """

    url: str
    database: "Database"
    log: RunLog
    reader: RunReader
    readers: Readers


@contextmanager
def open_storage(settings: "Settings", override: str | None = None) -> Iterator[Storage]:
    """Open the database for writing; a SQLite file is made."""
    from service.db.engine import open_database
    from service.db.log import SqlRunLog
    from service.db.reader import SqlRunReader
    from service.db.readers import SqlReaders

    url = database_url(settings, override)
    database = open_database(url)
    try:
        yield Storage(
            url=url,
            database=database,
            log=SqlRunLog(database, database.clock),
            reader=SqlRunReader(database),
            readers=SqlReaders(database),
        )
    finally:
        database.close()


@contextmanager
def open_reader(settings: "Settings", override: str | None = None) -> Iterator[RunReader]:
    """Open the database for reading.

    Raises:
        NotFoundError: it is a SQLite file that is not there.
    """
    refuse_missing(database_url(settings, override))
    from service.db.engine import open_database
    from service.db.reader import SqlRunReader

    database = open_database(database_url(settings, override))
    try:
        yield SqlRunReader(database)
    finally:
        database.close()


def refuse_missing(url: str) -> None:
    """Refuse a SQLite file that is not there: who reads or steers must not make one.

    Raises:
        NotFoundError: it is not there.
    """
    scheme, _, path = url.partition(":///")
    if scheme == "sqlite" and not Path(path).expanduser().exists():
        raise NotFoundError(
            f"there is no database {path} yet: make it with evolve run PROBLEM, or name another with --db"
        )


def check_database(url: str) -> "Revision":
    """How a database's schema stands to this version's."""
    from service.db.engine import check

    return check(url)


def wait_for_schema(
    settings: "Settings",
    override: str | None,
    meanwhile: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> None:
    """Wait, without end, until somebody has brought a PostgreSQL to this version's schema; a SQLite file needs nobody.

    SIGTERM ends the waiting as Ctrl-C does.

    Args:
        settings: of this installation.
        override: database to use instead of the one of the settings.
        meanwhile: what is open for as long as there is something to wait for.

    Raises:
        StorageError: the database is away.
    """
    url = database_url(settings, override)
    if url.startswith("sqlite:"):
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if check_database(url).behind:
            with meanwhile():
                _await_schema(url)
    finally:
        signal.signal(signal.SIGTERM, before)


def _await_schema(url: str) -> None:
    tries = 0
    while (found := check_database(url)).behind:
        if tries % SCHEMA_LOG_TRIES == 0:
            log.warning("schema.awaited", current=found.current, needed=found.head, mend="run 'evolve db upgrade'")
        tries += 1
        time.sleep(SCHEMA_SECONDS)


def upgrade_database(url: str) -> None:
    """Bring a database to this version's schema."""
    from service.db.engine import upgrade

    upgrade(url)
