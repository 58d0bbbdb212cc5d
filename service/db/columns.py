"""The base of the models and the column types that hold the same value on every database."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

from sqlalchemy import JSON, ColumnElement, DateTime, Double, Integer, LargeBinary, MetaData, String, Text, literal
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, InstrumentedAttribute, mapped_column
from sqlalchemy.types import TypeDecorator

from service.db.compact_ids import CompactId
from service.db.encoded_type import EncodedType

# A text that begins with this noncharacter is stored as JSON, since no database takes it as it is.
_ESCAPED = "\ufdd0"


class UtcDateTime(TypeDecorator[datetime]):
    """Aware times in UTC; SQLite keeps none of the zone, so it is put back on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 -- SQLAlchemy's signature
        """Refuse naive times."""
        if value is not None and value.tzinfo is None:
            raise ValueError("a time without a zone cannot be stored")
        return value if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 -- SQLAlchemy's signature
        """Return UTC, whatever zone the session has."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def stored_text(text: str) -> str:
    """A text as columns of `ExactText` hold it: with an escape in place of what the database cannot hold."""
    return text if _storable(text) else _ESCAPED + json.dumps(text)


def read_text(stored: str) -> str:
    """The text that a column of `ExactText` holds."""
    if not stored.startswith(_ESCAPED):
        return stored
    text: str = json.loads(stored[1:])
    return text


def _storable(text: str) -> bool:
    if "\x00" in text:
        return False
    if text.isascii():
        return True
    if text.startswith(_ESCAPED):
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class ExactText(EncodedType[str]):
    """Text that comes back as it went in, NUL and lone surrogates of models and programs included."""

    impl = Text
    cache_ok = True
    encode, decode = staticmethod(stored_text), staticmethod(read_text)


# Compared byte by byte everywhere, so that the beginning of an id is a range of the index.
_Identifier = String().with_variant(String(collation="C"), "postgresql")

Id = Annotated[str, mapped_column(_Identifier)]
Key = Annotated[str, mapped_column(_Identifier, primary_key=True)]
# The same in few bytes, for what grows with a run.
BinaryId = Annotated[str, mapped_column(CompactId)]
BinaryKey = Annotated[str, mapped_column(CompactId, primary_key=True)]


def is_id(column: InstrumentedAttribute[str], text: str) -> ColumnElement[bool]:
    """Whether an id is what somebody gave as one; a text that no database takes is no id."""
    return column == (text if isinstance(column.type, CompactId) else literal(text, ExactText()))


class Base(DeclarativeBase):
    """Base of all models."""

    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
        }
    )
    type_annotation_map: ClassVar = {
        str: ExactText,
        int: Integer,
        float: Double,
        bytes: LargeBinary,
        datetime: UtcDateTime,
        Mapping[str, Any]: JSON(none_as_null=True),
        Sequence[Any]: JSON(none_as_null=True),
    }
