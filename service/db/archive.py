"""The portable form of a backup: gzipped JSON Lines that any of the databases can be restored from.

The first line says what it is: `{"format", "version", "revision", "made_at", "tables"}`. Then comes each table, in an
order in which no row refers to a later one: `{"table", "columns"}` and its rows, one array a line. The last line counts
the rows: `{"end": {table: rows}}`. Without it the file was cut.
"""

import base64
import binascii
import gzip
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, NoReturn

from sqlalchemy import JSON, BigInteger, Boolean, Double, Integer, LargeBinary, Table

from service.db.columns import UtcDateTime
from service.db.packed import PackedJson
from service.db.tables import all_tables
from service.errors import StorageError

FORMAT, VERSION = "evolve-backup", 1
MAGIC = b"\x1f\x8b"
BATCH = 500
BATCH_CHARACTERS = 8 * 1024 * 1024
# Beyond the largest row there can be, the folder of a problem; no hostile line fills the memory.
_MAX_CHARACTERS = 256 * 1024 * 1024
_LEVEL = 4
_NOTHING = (None, 0)


class DamagedError(StorageError):
    """A file is no backup, or not a whole one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBatch:
    """Some rows of one table."""

    table: Table
    rows: Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupFile:
    """An open backup: the revision of the database that it was made of, and its rows, read as they are asked for."""

    revision: str
    batches: Iterator[RowBatch]


def write(file: IO[bytes], revision: str, made_at: datetime, rows: Callable[[Table], Iterable[Sequence[Any]]]) -> None:
    """Write a backup, one row after another."""
    counts: dict[str, int] = {}
    with gzip.GzipFile(fileobj=file, mode="wb", filename="", compresslevel=_LEVEL, mtime=0) as packed:

        def line(value: object) -> None:
            packed.write(json.dumps(value, allow_nan=False, separators=(",", ":")).encode() + b"\n")

        names = [table.name for table in all_tables()]
        head = {"format": FORMAT, "version": VERSION, "revision": revision, "made_at": made_at.isoformat()}
        line(head | {"tables": names})
        for table in all_tables():
            line({"table": table.name, "columns": [column.name for column in table.columns]})
            counts[table.name] = 0
            for row in rows(table):
                line([_plain(value, column.type) for value, column in zip(row, table.columns, strict=True)])
                counts[table.name] += 1
        line({"end": counts})


@contextmanager
def opened(path: Path) -> Iterator[BackupFile]:
    """Open a backup in the portable form.

    Raises:
        DamagedError: it is none, or of a later form; reading on raises it too.
    """
    with gzip.open(path) as file:
        lines = _lines(path, file)
        head, _ = next(lines, _NOTHING)
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            _refuse(path, "it does not begin like one")
        if head.get("version") != VERSION:
            raise DamagedError(f"{path} was written in a later form: restore it with a newer version of evolve")
        yield BackupFile(revision=str(head.get("revision")), batches=_batches(path, lines))


def _batches(path: Path, lines: Iterator[tuple[Any, int]]) -> Iterator[RowBatch]:
    counts: dict[str, int] = {}
    line, _ = next(lines, _NOTHING)
    for table in all_tables():
        if line != {"table": table.name, "columns": [column.name for column in table.columns]}:
            _refuse(path, f"the table {table.name} is missing")
        counts[table.name], rows, held = 0, [], 0
        while isinstance((found := next(lines, _NOTHING))[0], list):
            rows.append(_row(path, table, found[0]))
            counts[table.name] += 1
            held += found[1]
            if len(rows) >= BATCH or held > BATCH_CHARACTERS:
                yield RowBatch(table=table, rows=rows)
                rows, held = [], 0
        if rows:
            yield RowBatch(table=table, rows=rows)
        line = found[0]
    if line != {"end": counts} or next(lines, None) is not None:
        _refuse(path, "it was cut")


def _lines(path: Path, file: gzip.GzipFile) -> Iterator[tuple[Any, int]]:
    """Each line's value, and its length."""
    while True:
        try:
            line = file.readline(_MAX_CHARACTERS)
            if not line:
                return
            value = json.loads(line, parse_constant=_no_number)
        except (OSError, EOFError, zlib.error) as error:
            raise DamagedError(f"{path} is damaged or was cut: {error}") from error
        except (ValueError, RecursionError) as error:
            raise DamagedError(f"{path} is not a backup of evolve: a line of it cannot be read") from error
        yield value, len(line)


def _row(path: Path, table: Table, line: list[Any]) -> dict[str, Any]:
    try:
        return {
            column.name: None if value is None else _parsed(value, column.type)
            for value, column in zip(line, table.columns, strict=True)
        }
    except (ValueError, TypeError, binascii.Error) as error:
        raise DamagedError(f"{path} is damaged: a row of the table {table.name} cannot be read") from error


def _plain(value: Any, kind: object) -> Any:
    """A value as JSON has it."""
    if value is None or isinstance(kind, JSON | PackedJson):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(kind, LargeBinary) else value


def _parsed(value: Any, kind: object) -> Any:
    """A value as the column has it."""
    if isinstance(kind, UtcDateTime):
        value = datetime.fromisoformat(value)
    elif isinstance(kind, LargeBinary):
        value = base64.b64decode(value, validate=True)
    return fitting(value, kind)


def fitting(value: Any, kind: object) -> Any:
    """A value that a column can have; SQLite would take any.

    Raises:
        ValueError: it is of another kind.
    """
    if isinstance(kind, JSON | PackedJson):
        fits = True
    elif isinstance(kind, Boolean):
        fits = isinstance(value, bool)
    elif isinstance(kind, Integer):
        bits = 63 if isinstance(kind, BigInteger) else 31
        fits = isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= bits
    elif isinstance(kind, Double):
        fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    elif isinstance(kind, UtcDateTime):
        fits = isinstance(value, datetime) and value.tzinfo is not None
    else:
        fits = isinstance(value, bytes if isinstance(kind, LargeBinary) else str)
    if not fits:
        raise ValueError(f"{type(value).__name__} in a column of {kind}")
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _refuse(path: Path, why: str) -> NoReturn:
    raise DamagedError(f"{path} is not a complete backup of evolve: {why}")
