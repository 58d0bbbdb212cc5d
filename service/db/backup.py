"""Backups: one consistent moment of a database in one file, and a database made of such a file."""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, RowMapping, Table, create_engine, delete, exc, func, insert, inspect, select, text
from sqlalchemy.pool import NullPool

from service.db import archive, partitions, schema
from service.db.archive import BackupFile, DamagedError, RowBatch
from service.db.driver_errors import translated
from service.db.engine import Database, take_time
from service.db.models import EventRow, Tenant
from service.db.packed import PackedJson, as_json
from service.db.tables import all_tables
from service.errors import ConflictError, NotFoundError, RefusedError, StorageError, UsageError
from service.ports import DEFAULT_TENANT, Clock

_SQLITE_MAGIC = b"SQLite format 3\x00"
_PRIVATE = 0o600  # it holds the hashes of keys, and the secrets of webhooks
_UNREADABLE = (exc.SQLAlchemyError, sqlite3.Error, ValueError, TypeError, OverflowError, RecursionError)
_UNFIT = (exc.IntegrityError, exc.DataError)


def backup(database: Database, target: Path, clock: Clock) -> str:
    """Write one moment of a database to a new file, while runs go on.

    A SQLite database becomes a SQLite file of the same revision, a PostgreSQL database the portable form.

    Returns:
        The revision.

    Raises:
        ConflictError: the file is there already.
        NotFoundError: its folder is not.
        StorageError: the database cannot give, or the file cannot be written; none is left.
    """
    with database.read() as connection:
        found = schema.revision(connection)
    if found.current is None:
        raise NotFoundError(f"{database.name} has no tables yet: there is nothing to back up")
    write = _copy_sqlite
    if database.engine.dialect.name != "sqlite":
        write = _write_archive
        if found.foreign or found.behind:
            raise RefusedError(
                f"{database.name} has revision {found.current} and this version knows {found.head}: back it up with"
                " the version that wrote it"
            )
    with _new_file(target) as partial:
        write(database, partial, found.current, clock)
    return found.current


def restore(database: Database, path: Path) -> dict[str, int]:
    """Fill an empty database from a backup of the same revision, wholly or not at all.

    Returns:
        How many rows each table has got.

    Raises:
        NotFoundError: there is no such file.
        ConflictError: the database is not empty, or of another revision.
        DamagedError: the file is no backup, or not a whole one; nothing was stored.
        StorageError: the database cannot take it; nothing was stored.
    """
    with _source(path) as source, database.write() as connection:
        take_time(connection)
        _check_revision(connection, database.name, path, source.revision)
        _shut(connection)
        _check_empty(connection, database.name)
        connection.execute(delete(Tenant))
        counts = dict.fromkeys((table.name for table in all_tables()), 0)
        laid_out = connection.dialect.name != "postgresql"
        for batch in source.batches:
            if batch.table is EventRow.__table__ and not laid_out:
                _lay_out(connection)
                laid_out = True
            try:
                connection.execute(insert(batch.table), list(batch.rows))
            except (exc.StatementError, ValueError) as error:
                if isinstance(error, exc.DBAPIError) and not isinstance(error, _UNFIT):
                    raise
                reason = f"a row of the table {batch.table.name} does not fit the others"
                raise DamagedError(f"{path} is damaged: {reason}") from error
            counts[batch.table.name] += len(batch.rows)
    return counts


def _lay_out(connection: Connection) -> None:
    """Make partitions of the weeks of the runs; who may not make any stores all events in one."""
    with suppress(exc.DBAPIError), connection.begin_nested():
        partitions.lay_out(connection)


def contents(path: Path) -> str:
    """The revision of a backup, for a question before it is restored.

    Raises:
        NotFoundError, DamagedError: as `restore`.
    """
    with _source(path) as source:
        return source.revision


@contextmanager
def _new_file(target: Path) -> Iterator[Path]:
    """A file that gets its name when it is whole."""
    if target.exists() or target.is_symlink():
        raise ConflictError(f"{target} is there already: name a new file")
    partial = target.with_name(f".{target.name[:200]}.{os.getpid()}.partial")
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE))
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        partial.rename(target)
        _keep_name(target.parent)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no folder {target.parent}: make it, or name another file") from error
    except PermissionError:
        raise
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise StorageError(f"the backup {target} cannot be written: {why}") from error
    finally:
        for left in (partial, *(Path(f"{partial}{suffix}") for suffix in ("-journal", "-wal", "-shm"))):
            with suppress(OSError):
                left.unlink()


def _keep_name(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy_sqlite(database: Database, partial: Path, revision: str, clock: Clock) -> None:  # noqa: ARG001 - one of two
    """Copy by SQLite's own means, in one step: a reader of one moment, beside whom writers go on."""
    with translated(database.name), closing(database.engine.raw_connection()) as held:
        source = held.driver_connection
        assert isinstance(source, sqlite3.Connection)
        with closing(sqlite3.connect(partial)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, with nothing beside it


def _write_archive(database: Database, partial: Path, revision: str, clock: Clock) -> None:
    with translated(database.name), database.engine.connect() as connection:
        connection = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        take_time(connection)
        # Before the moment that is read is taken: no partition whose runs it has is emptied from here on.
        connection.execute(text(f"LOCK TABLE {partitions.TABLE} IN ACCESS SHARE MODE"))
        with partial.open("wb") as file:
            archive.write(file, revision, clock.now(), _reading(connection))


def _reading(connection: Connection) -> Callable[[Table], Iterable[Sequence[Any]]]:
    return lambda table: connection.execution_options(yield_per=archive.BATCH).execute(select(table))


@contextmanager
def _source(path: Path) -> Iterator[BackupFile]:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a file: name the file that 'evolve db backup' wrote")
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_SQLITE_MAGIC))
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file {path}") from error
    except PermissionError:
        raise
    except OSError as error:
        raise StorageError(f"the backup {path} cannot be read: {error.strerror}") from error
    if beginning == _SQLITE_MAGIC:
        with _sqlite_source(path) as source:
            yield source
    elif beginning.startswith(archive.MAGIC):
        with archive.opened(path) as source:
            yield source
    else:
        raise DamagedError(f"{path} is not a backup of evolve: it is neither a SQLite file nor gzipped")


@contextmanager
def _sqlite_source(path: Path) -> Iterator[BackupFile]:
    """A SQLite file, trusted with nothing: no code of its schema runs, and every value is read as its column's kind."""

    def connect() -> sqlite3.Connection:
        raw = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        raw.execute("PRAGMA trusted_schema=OFF")
        raw.execute("PRAGMA cell_size_check=ON")
        return raw

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
    try:
        with _readable(path), engine.connect() as connection:
            problem = connection.execute(text("PRAGMA integrity_check(1)")).scalar()
            if problem != "ok":
                raise DamagedError(f"{path} is damaged: {problem}")
            found = schema.revision(connection)
            missing = {table.name for table in all_tables()} - set(inspect(connection).get_table_names())
        if found.current is None or (missing and not (found.behind or found.unreleased)):
            raise DamagedError(f"{path} is not a backup of evolve: it lacks its tables")
        with engine.connect() as connection:
            yield BackupFile(revision=found.current, batches=_sqlite_batches(path, connection))
    finally:
        engine.dispose()


def _sqlite_batches(path: Path, connection: Connection) -> Iterator[RowBatch]:
    """Rows in batches that end early with long ones: a packed text may be a thousand times as long as in the file."""
    for table in all_tables():
        with _readable(path):
            result = connection.execution_options(yield_per=archive.BATCH).execute(select(table)).mappings()
        rows, held = list[dict[str, Any]](), 0
        packed = [column.name for column in table.columns if isinstance(column.type, PackedJson)]
        while True:
            with _readable(path):
                row = next(result, None)
                if row is None:
                    break
                rows.append(_fitting(table, row))
                held += sum(len(value) for value in row.values() if isinstance(value, str | bytes))
                held += sum(len(as_json(row[name])) for name in packed)
            if len(rows) >= archive.BATCH or held > archive.BATCH_CHARACTERS:
                yield RowBatch(table=table, rows=rows)
                rows, held = [], 0
        if rows:
            yield RowBatch(table=table, rows=rows)


def _fitting(table: Table, row: RowMapping) -> dict[str, Any]:
    columns = table.columns
    return {name: value if value is None else archive.fitting(value, columns[name].type) for name, value in row.items()}


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        raise DamagedError(f"{path} is damaged: what it holds cannot be read") from error


def _check_revision(connection: Connection, name: str, path: Path, revision: str) -> None:
    found = schema.revision(connection)
    if found.current is None or found.behind or found.foreign:
        raise ConflictError(f"{name} is not of this version: run 'evolve db upgrade', then restore")
    if schema.Revision(current=revision).unreleased:
        made_by = f"revision {revision} of a development version before the first release"
        raise ConflictError(f"{path} is of {made_by}, and cannot be restored")
    if revision != found.current:
        raise ConflictError(
            f"{path} is of revision {revision} and {name} of {found.current}: restore it with the version that made it,"
            " then run 'evolve db upgrade'"
        )


def _shut(connection: Connection) -> None:
    """Let nobody begin a run in the meantime: that takes the row of a tenant. On SQLite nobody else writes."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE tenants IN EXCLUSIVE MODE"))


def _check_empty(connection: Connection, name: str) -> None:
    for table in all_tables():
        query = select(func.count()).select_from(table)
        if table is Tenant.__table__:
            query = query.where(Tenant.id != DEFAULT_TENANT)
        if connection.execute(query).scalar_one():
            raise ConflictError(f"{name} is not empty, its table {table.name} has rows: restore into a new database")
