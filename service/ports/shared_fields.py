"""One read model for wire and store: what both call the same passes from one to the other by its name.

A schema says which fields go over the wire, and its models check them. A record says which of them are kept.
"""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # commands that read must start fast, and pydantic is slow to import
    from _typeshed import DataclassInstance
    from pydantic import BaseModel


def for_schema(record: "DataclassInstance", schema: "type[BaseModel]", **others: Any) -> dict[str, Any]:
    """The fields of a schema that a record has too; `others` come beside or in place of them."""
    return {name: getattr(record, name) for name in _shared(type(record), schema)} | others


def for_record(
    value: "BaseModel | Mapping[Any, Any]", record: "type[DataclassInstance]", **others: Any
) -> dict[str, Any]:
    """The fields of a record that a value of the wire, or a row, has too; `others` come beside or in place of them."""
    names = _names(record)
    if isinstance(value, Mapping):
        return {name: value[name] for name in names if name in value} | others
    return {name: getattr(value, name) for name in names if name in type(value).model_fields} | others


@cache
def _shared(record: "type[DataclassInstance]", schema: "type[BaseModel]") -> tuple[str, ...]:
    return tuple(name for name in schema.model_fields if name in _names(record) or hasattr(record, name))


@cache
def _names(record: "type[DataclassInstance]") -> tuple[str, ...]:
    return tuple(one.name for one in fields(record))
