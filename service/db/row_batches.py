"""Batches of rows of one table, encoded column by column and given to the driver at once.

SQLAlchemy encodes each value of each row by itself, which takes more processor time than the database does.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import JSON, Column, Connection, Dialect

from service.db.columns import Base
from service.db.encoded_type import EncodedType
from service.db.packed import as_json
from service.db.projection import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """How rows of a table are given to a driver.

    Attributes:
        names: of the table and its columns, as statements have them.
        columns: names of the columns, each with what encodes its values; None: they stay as they are.
    """

    names: tuple[str, str]
    columns: tuple[tuple[str, Callable[[Any], Any] | None], ...]

    def encoded(self, rows: Sequence[Row]) -> list[tuple[Any, ...]]:
        columns: list[Iterable[Any]] = []
        for name, encode in self.columns:
            values = [row[name] for row in rows]
            columns.append(values if encode is None else map(encode, values))
        return list(zip(*columns, strict=True))


def insert_rows(connection: Connection, model: type[Base], rows: Sequence[Row]) -> int:
    """Add rows that are not there yet; how many were added.

    Args:
        connection: in a transaction.
        model: of the table.
        rows: at least one, all with the same columns.
    """
    table = _table(model, tuple(rows[0]), connection.dialect)
    place = "?" if connection.dialect.name == "sqlite" else "%s"
    places = ", ".join([place] * len(table.columns))
    statement = "INSERT INTO {} ({}) VALUES ({}) ON CONFLICT DO NOTHING".format(*table.names, places)  # noqa: S608 - names of models
    options = {"preserve_rowcount": True}
    return connection.exec_driver_sql(statement, table.encoded(rows), execution_options=options).rowcount


def copy_rows(connection: Connection, model: type[Base], rows: Sequence[Row]) -> None:
    """Add rows to a table of PostgreSQL in one go.

    Raises:
        IntegrityError: one of them is there.
    """
    table = _table(model, tuple(rows[0]), connection.dialect)
    connection.exec_driver_sql("COPY {} ({}) FROM STDIN".format(*table.names), table.encoded(rows))


@lru_cache(maxsize=256)
def _table(model: type[Base], columns: tuple[str, ...], dialect: Dialect) -> _Table:
    table, quote = model.metadata.tables[model.__tablename__], dialect.identifier_preparer.quote
    encoders = ((name, _encoder(table.c[name], dialect)) for name in columns)
    return _Table(names=(quote(model.__tablename__), ", ".join(map(quote, columns))), columns=tuple(encoders))


def _encoder(column: Column[Any], dialect: Dialect) -> Callable[[Any], Any] | None:
    kind = column.type
    if isinstance(kind, JSON):
        return _json
    if isinstance(kind, EncodedType):
        return partial(_unless_none, kind.encode) if column.nullable else kind.encode
    return kind.dialect_impl(dialect).bind_processor(dialect)


def _json(value: object) -> str | None:
    if value is None:
        return None
    if not value:
        return "{}" if isinstance(value, dict) else "[]" if isinstance(value, list) else as_json(value)
    return as_json(value)


def _unless_none(encode: Callable[[Any], Any], value: object) -> Any:
    return None if value is None else encode(value)
