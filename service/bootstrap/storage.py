"""Storage, opened by the URL that the settings or a flag name."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from service.config import database_url
from service.errors import NotFoundError
from service.ports import RunReader

if TYPE_CHECKING:
    from service.config import Settings
    from service.db.maintenance import SqlMaintenance
    from service.db.storage import SqlStorage
    from service.usecases.keys import KeyService


@contextmanager
def open_storage(
    settings: "Settings", override: str | None = None, *, connections: int | None = None
) -> Iterator["SqlStorage"]:
    """Open the database for writing, with so many connections at most; a SQLite file is made."""
    from service.db.engine import CONNECTIONS, open_database
    from service.db.storage import SqlStorage

    url = database_url(settings, override)
    with closing(open_database(url, connections=connections or CONNECTIONS)) as database:
        yield SqlStorage(database, url)


@contextmanager
def open_existing_storage(settings: "Settings", override: str | None) -> Iterator["SqlStorage"]:
    """Open a database that holds runs.

    Raises:
        NotFoundError: it is a SQLite file that is not there.
    """
    refuse_missing(database_url(settings, override))
    with open_storage(settings, override) as storage:
        yield storage


@contextmanager
def open_keys(settings: "Settings", override: str | None) -> Iterator["KeyService"]:
    """The keys of the installation that settings or a flag name.

    Raises:
        UsageError: there is no secret.
    """
    from service.db.secret import open_seal
    from service.usecases.keys import KeyService

    signer = open_seal(settings, override)
    with open_storage(settings, override) as storage:
        yield KeyService(store=storage.keys, audit=storage.audit, signer=signer, clock=storage.clock)


@contextmanager
def open_maintenance(
    settings: "Settings", override: str | None, *, make: bool = False, upgrade: bool = True
) -> Iterator["SqlMaintenance"]:
    """Open a database for its maintenance.

    Args:
        settings: of this installation.
        override: database to use instead of the one of the settings.
        make: whether a SQLite file that is not there is made.
        upgrade: whether an older SQLite file is brought to this version's schema.

    Raises:
        NotFoundError: it is a SQLite file that is not there.
    """
    from service.db.engine import connect, open_database
    from service.db.maintenance import SqlMaintenance

    url = database_url(settings, override)
    if not make and _is_missing(url):
        raise NotFoundError(f"there is no database {url.partition(':///')[2]}: name another with --db")
    with closing(open_database(url) if upgrade else connect(url)) as database:
        yield SqlMaintenance(database)


@contextmanager
def open_reader(settings: "Settings", override: str | None = None) -> Iterator[RunReader]:
    """Open the database for reading.

    Raises:
        NotFoundError: it is a SQLite file that is not there.
    """
    refuse_missing(database_url(settings, override))
    from service.db.engine import open_database
    from service.db.reader import SqlRunReader

    with closing(open_database(database_url(settings, override))) as database:
        yield SqlRunReader(database)


def refuse_missing(url: str) -> None:
    """Refuse a SQLite file that is not there: who reads or steers must not make one.

    Raises:
        NotFoundError: it is not there.
    """
    if _is_missing(url):
        path = url.partition(":///")[2]
        raise NotFoundError(
            f"there is no database {path} yet: make it with evolve run PROBLEM, or name another with --db"
        )


def _is_missing(url: str) -> bool:
    scheme, _, path = url.partition(":///")
    return scheme == "sqlite" and not Path(path).expanduser().exists()
