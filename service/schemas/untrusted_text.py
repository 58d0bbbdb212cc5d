"""Texts of programs and policies in answers. The answer is always valid UTF-8."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, model_validator
from pydantic_core import PydanticSerializationError, to_json

from service.schemas.types import Reply


class Foreign(Reply):
    """Base of answers with texts that others wrote: where these hold lone surrogates, their escapes are shown."""

    @model_validator(mode="before")
    @classmethod
    def _readable(cls, value: Any) -> Any:
        try:
            to_json(value)  # in a fraction of the time that looking at every text takes
        except PydanticSerializationError:
            return readable(value)
        return value


def readable(value: Any) -> Any:
    """A JSON value that UTF-8 can carry."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if kind is float or kind is int or kind is bool or value is None:
        return value
    if isinstance(value, BaseModel):
        return value
    if isinstance(value, Mapping):
        return {readable(key): readable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [readable(entry) for entry in value]
    return readable(str(value)) if isinstance(value, str) else value
