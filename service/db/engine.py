"""Opening a database: SQLite by default, PostgreSQL by its URL; every commit durable."""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from threading import get_ident
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, exc
from sqlalchemy.engine import URL, ExceptionContext, make_url
from sqlalchemy.pool import ConnectionPoolEntry

from service import tracing
from service.db import schema
from service.db.clock import DatabaseClock, server_time
from service.db.driver_errors import read_only, translated
from service.db.packed import as_json, from_text
from service.db.stalled_runs import IDLE_SECONDS
from service.errors import StorageAwayError, StorageError, UsageError
from service.user_folders import make_folder

LOCK_SECONDS = 10.0
# Of one process; four of them fit into the 100 that PostgreSQL admits unless it is told otherwise.
CONNECTIONS = 20
_KEPT_OPEN = 10
_IDLE_LIMIT = "idle_in_transaction_session_timeout"
_CACHE_KIB = 64 * 1024
_WRITES = "evolve_writes"
_POSTGRES_NAMES = ("postgresql", "postgres", "postgresql+psycopg")
# The units under way, by engine and thread: a context is copied into other threads, a connection is of one.
_UNITS: ContextVar[dict[tuple[Engine, int], Connection] | None] = ContextVar("units", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """An open database.

    Attributes:
        name: the database as messages call it, without user and password.
        reads: the same, for what only reads; None: the engine itself. In a PostgreSQL each statement sees what is
            committed when it begins, within a transaction as well. So reads go without one, which spares two calls.
        clock: goes by the time of a PostgreSQL; with a SQLite file it is that of this machine.
    """

    engine: Engine
    name: str
    reads: Engine | None = None
    clock: DatabaseClock = field(default_factory=DatabaseClock)

    @contextmanager
    def unit(self) -> Iterator[None]:
        """One transaction for all that this thread reads and writes until the end of the block.

        It has the writer's lock from its beginning and is durable when the outermost unit ends; an error that leaves it
        takes everything back. A write that fails in it takes back what is its own. Hold no unit across an `await`.

        Raises:
            StorageError: the database cannot take it; nothing was committed.
        """
        if self._joined() is not None:
            yield
            return
        with translated(self.name), self._begun() as connection:
            token = _UNITS.set({**(_UNITS.get() or {}), (self.engine, get_ident()): connection})
            try:
                yield
            finally:
                _UNITS.reset(token)
            if not connection.in_transaction():
                raise StorageAwayError(f"{self.name} gave the transaction up: try again")

    @property
    def in_unit(self) -> bool:
        """Whether this thread is inside a unit."""
        return self._joined() is not None

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that writes: it has the writer's lock from its beginning, and is durable when it ends.

        In a unit it is a part of the unit's transaction.

        Raises:
            StorageError: the database cannot take it; nothing was committed.
        """
        joined = self._joined()
        with translated(self.name):
            if joined is None:
                with self._begun() as connection:
                    yield connection
            else:
                with joined.begin_nested():
                    yield joined

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that reads; in a unit it sees what the unit wrote.

        Raises:
            StorageError: the database cannot give.
        """
        joined = self._joined()
        with translated(self.name):
            if joined is None:
                with (self.reads or self.engine).connect() as connection:
                    self._follow_time(connection)
                    yield connection
            else:
                with _ending(joined):
                    yield joined

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def _begun(self) -> Iterator[Connection]:
        with self.engine.connect() as connection:
            connection = connection.execution_options(**{_WRITES: True})
            with connection.begin():
                self._follow_time(connection)
                yield connection

    def _follow_time(self, connection: Connection) -> None:
        if connection.dialect.name == "postgresql":
            self.clock.follow(lambda: server_time(connection))

    def _joined(self) -> Connection | None:
        connection = (_UNITS.get() or {}).get((self.engine, get_ident()))
        # A task that was started in a unit and outlives it has the unit in its context still.
        return None if connection is None or connection.closed else connection


@contextmanager
def _ending(connection: Connection) -> Iterator[None]:
    """End a unit in which a read failed: PostgreSQL would answer its COMMIT with a silent ROLLBACK."""
    try:
        yield
    except exc.DBAPIError:
        transaction = connection.get_transaction()
        if transaction is not None:
            transaction.rollback()
        raise


def open_database(
    url: str,
    lock_seconds: float = LOCK_SECONDS,
    *,
    call_seconds: float | None = None,
    connections: int = CONNECTIONS,
) -> Database:
    """Open a database whose schema is this version's.

    A SQLite file is made and brought up to date by opening it; a PostgreSQL only by `upgrade`.

    Args:
        url: `sqlite:///FILE`, `postgresql://USER@HOST/NAME`, or the path of a SQLite file.
        lock_seconds: how long a statement waits for another process's lock.
        call_seconds: how long a PostgreSQL may take to answer a call; then it counts as away.
        connections: most at once; who wants one more waits for another's.

    Raises:
        UsageError: the URL is none that can be opened.
        StorageError: the database is away, locked, full, damaged, or its schema is not this version's.
    """
    database = connect(url, lock_seconds, call_seconds=call_seconds, connections=connections)
    try:
        _prepare(database)
    except BaseException:
        database.close()
        raise
    return database


def refuse_outdated(database: Database) -> None:
    """Refuse an open database whose schema is not this version's any more.

    Raises:
        StorageError: it is not, or the database does not answer.
    """
    with database.read() as connection:
        found = schema.revision(connection)
    if found.foreign or found.behind:
        raise StorageError(f"the database is at revision {found.current}, and {found.head} is needed")


def check(url: str) -> schema.Revision:
    """How a database's schema stands to this version's; a SQLite file is not made by asking.

    Raises:
        UsageError: the URL is none that can be opened.
        StorageError: the database is away or locked.
    """
    address = _address(url)
    if address.get_backend_name() == "sqlite" and not Path(address.database or "").exists():
        return schema.Revision(current=None)
    database = connect(url)
    try:
        with database.read() as connection:
            return schema.revision(connection)
    finally:
        database.close()


def connect(
    url: str,
    lock_seconds: float = LOCK_SECONDS,
    *,
    call_seconds: float | None = None,
    connections: int = CONNECTIONS,
) -> Database:
    """A database whatever its schema; nothing is connected to yet."""
    address, kept = _address(url), min(_KEPT_OPEN, connections)
    pool = {"pool_size": kept, "max_overflow": connections - kept}
    if address.get_backend_name() == "sqlite":
        database = _sqlite(address, lock_seconds, pool)
    else:
        database = _postgres(address, lock_seconds, call_seconds, pool)
    if tracing.enabled():
        from service.db.statement_spans import trace_statements

        trace_statements(database.reads or database.engine)
    return database


def take_time(connection: Connection) -> None:
    """Let a transaction, and the pauses for files and people between its statements, last for as long as they need."""
    if connection.dialect.name == "postgresql":
        from service.db import deadline

        deadline.extend(connection)
        connection.exec_driver_sql(f"SET LOCAL {_IDLE_LIMIT} = 0")


def _prepare(database: Database) -> None:
    with database.read() as connection:
        found = schema.revision(connection)
    schema.refuse_foreign(found, database.name)
    if not found.behind:
        return
    if database.engine.dialect.name != "sqlite":
        found_so = "has no tables yet" if found.current is None else "is older than this version"
        raise StorageError(f"{database.name} {found_so}: run 'evolve db upgrade'")
    with database.write() as connection:
        schema.upgrade(connection, database.name)


def _address(url: str) -> URL:
    if "://" not in url:
        url = f"sqlite:///{url}"
    scheme, _, rest = url.partition("://")
    if scheme not in ("sqlite", *_POSTGRES_NAMES):
        raise UsageError(f"a database of the kind {scheme!r} cannot be used: give sqlite:///FILE or postgresql://...")
    try:
        address = make_url(f"{'sqlite' if scheme == 'sqlite' else 'postgresql+psycopg'}://{rest}")
    except (exc.ArgumentError, ValueError):
        raise UsageError("the database's URL cannot be read: give sqlite:///FILE or postgresql://...") from None
    if "@" in (address.host or ""):
        raise UsageError("the password in the database's URL holds an @: write it as %40")
    if scheme == "sqlite" and (not address.database or address.database == ":memory:" or address.query):
        raise UsageError("a SQLite database needs a file and nothing else: give sqlite:///FILE")
    if scheme == "sqlite":
        return address.set(database=str(Path(address.database or "").expanduser()))
    return address


def _sqlite(address: URL, lock_seconds: float, pool: Mapping[str, int]) -> Database:
    path = Path(address.database or "")
    name = f"the database {path}"
    try:
        make_folder(path)
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise StorageError(f"{name} cannot be made, its folder neither ({why}): name another with --db") from error
    engine = create_engine(
        address,
        connect_args={"timeout": lock_seconds, "cached_statements": 256},
        json_serializer=as_json,
        json_deserializer=from_text,
        **pool,
    )

    @event.listens_for(engine, "do_connect")
    def create(*_: Any) -> None:
        # SQLite would make it, and the files beside it, readable for all: it holds hashes of keys, and secrets.
        with suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
        _configure(connection, lock_seconds)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A reader that becomes a writer later may find that another was faster; a writer says so at once.
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return Database(engine=engine, name=name)


def _configure(connection: sqlite3.Connection, lock_seconds: float) -> None:
    connection.isolation_level = None  # transactions are begun by the engine, not by the driver's guess
    _enter_wal(connection, lock_seconds)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")


def _enter_wal(connection: sqlite3.Connection, lock_seconds: float) -> None:
    # The change of mode does not wait for locks by itself, and two processes may open a new file at once.
    deadline = time.monotonic() + lock_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _postgres(address: URL, lock_seconds: float, call_seconds: float | None, pool: Mapping[str, int]) -> Database:
    from service.db import deadline  # and with it the driver, which a command with SQLite does without

    place = address.host or address.query.get("host") or "the local server"
    port = f":{address.port}" if address.port else ""
    arguments: dict[str, Any] = {"connect_timeout": 10, "application_name": "evolve", **deadline.TCP}
    if "options" not in address.query:
        limits = {"lock_timeout": lock_seconds, _IDLE_LIMIT: IDLE_SECONDS}
        arguments["options"] = " ".join(f"-c {name}={int(seconds * 1000)}" for name, seconds in limits.items())
    engine = create_engine(
        address,
        connect_args={key: value for key, value in arguments.items() if key not in address.query},
        json_serializer=as_json,
        json_deserializer=from_text,
        # Connections rest in the mode of reads, which are more: to change it takes half as long as a read.
        isolation_level="AUTOCOMMIT",
        skip_autocommit_rollback=True,
        **pool,
    )
    deadline.guard(engine, call_seconds)
    _leave_standbys(engine)
    name = f"the database {address.database or ''} at {place}{port}"
    return Database(engine=engine.execution_options(isolation_level="READ COMMITTED"), name=name, reads=engine)


def _leave_standbys(engine: Engine) -> None:
    """Connect anew where a server may only be read: its name may mean another one by now, the primary."""

    @event.listens_for(engine, "handle_error")
    def leave(context: ExceptionContext) -> None:
        if read_only(context.original_exception):
            context.is_disconnect = True
