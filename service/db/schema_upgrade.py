"""Upgrading a database to this version's schema, and waiting until somebody has done so."""

import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import structlog

from service.db import partitions, schema
from service.db.engine import check, connect, take_time
from service.db.partition_care import SqlPartitions

SCHEMA_SECONDS, SCHEMA_LOG_TRIES = 2.0, 15

log = structlog.get_logger(__name__)


def upgrade(url: str) -> None:
    """Bring a database's schema to this version's.

    Raises:
        UsageError: the URL is none that can be opened.
        StorageError: the database is away, locked, newer, or of a version before the first release.
    """
    database = connect(url)
    try:
        with database.write() as connection:
            take_time(connection)
            behind = schema.revision(connection).behind
            schema.upgrade(connection, database.name)
            if behind and connection.dialect.name == "postgresql":  # at once: so that no event comes before them
                for partition in partitions.missing(connection, database.clock.now()):
                    partitions.add(connection, partition)
        SqlPartitions(database).prepare()
    finally:
        database.close()


def wait_for_schema(
    url: str,
    meanwhile: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> None:
    """Wait, without end, until somebody has brought a PostgreSQL to this version's schema; a SQLite file needs nobody.

    SIGTERM ends the waiting as Ctrl-C does.

    Args:
        url: address of the database.
        meanwhile: what is open for as long as there is something to wait for.

    Raises:
        StorageError: the database is away.
    """
    if url.startswith("sqlite:"):
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if check(url).behind:
            with meanwhile():
                _await_schema(url)
    finally:
        signal.signal(signal.SIGTERM, before)


def _await_schema(url: str) -> None:
    tries = 0
    while (found := check(url)).behind:
        if tries % SCHEMA_LOG_TRIES == 0:
            log.warning("schema.awaited", current=found.current, needed=found.head, mend="run 'evolve db upgrade'")
        tries += 1
        time.sleep(SCHEMA_SECONDS)
