"""The base of column types whose values stand in the database in another form."""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

_Value = TypeVar("_Value")


class EncodedType(TypeDecorator[_Value]):
    """A column type that stores NULL for None, and any other value as `encode` makes it.

    Attributes:
        encode: what is stored for a value.
        decode: the value of what is stored.
    """

    encode: ClassVar["staticmethod[..., Any]"]
    decode: ClassVar["staticmethod[..., Any]"]

    def process_bind_param(self, value: _Value | None, dialect: Dialect) -> Any:  # noqa: ARG002 -- SQLAlchemy's signature
        """Encode a value."""
        return None if value is None else self.encode(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> _Value | None:  # noqa: ARG002 -- SQLAlchemy's signature
        """Decode a value."""
        return None if value is None else self.decode(value)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        """`process_result_value` without the two calls that SQLAlchemy puts around it, for each value of each row."""
        decode, read = self.decode, self.impl_instance.result_processor(dialect, coltype)
        if read is None:
            return lambda value: None if value is None else decode(value)
        return lambda value: None if value is None else decode(read(value))
