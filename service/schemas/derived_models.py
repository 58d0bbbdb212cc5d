"""Types for the document of values that other rooms validate: dataclasses and references as models."""

import re
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from types import MappingProxyType
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, create_model
from pydantic_core import CoreSchema, core_schema

from evolve.money import Money
from service.schemas.types import MoneyLimit

Keywords = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DescribedAs:
    """Documents a value as another model than the type that validates it, by reference.

    Attributes:
        model: the model that the document names.
    """

    model: type[BaseModel]

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The schema of the model, which replaces that of the value."""
        return handler(_referred(self.model.__pydantic_core_schema__, self.model))


def _referred(schema: CoreSchema, model: type[BaseModel]) -> CoreSchema:
    """A core schema of a model that the document lists among its components.

    The generator refers to a schema inside of another schema if it has a name.
    """
    inner, definitions = (schema["schema"], schema["definitions"]) if schema["type"] == "definitions" else (schema, [])
    named = {"ref": f"{model.__module__}.{model.__qualname__}:{id(model)}", **inner}
    return core_schema.definitions_schema(cast(CoreSchema, named), definitions)


def without_defaults(schema: dict[str, Any]) -> None:
    """Remove the defaults from a schema. Generated clients would send them, and override other settings."""
    for entry in schema.get("properties", {}).values():
        entry.pop("default", None)


def model_of(
    kind: type,
    name: str,
    sentences: Mapping[str, str],
    *,
    prefix: str = "",
    keywords: Mapping[str, Keywords] = MappingProxyType({}),
    groups: Mapping[type, type[BaseModel]] = MappingProxyType({}),
) -> type[BaseModel]:
    """A model with the keys of a dataclass, each optional, typed and described.

    Args:
        kind: the dataclass.
        name: of the model.
        sentences: descriptions by dotted key.
        prefix: of the dotted keys, with its dot.
        keywords: further keywords of JSON Schema by dotted key, such as bounds.
        groups: models of dataclasses that are types of its fields.
    """
    hints = typing.get_type_hints(kind)
    found: dict[str, Any] = {}
    for entry in fields(kind):
        key = f"{prefix}{entry.name}"
        wire = _wire(hints[entry.name], groups)
        sentence = sentences.get(key) or _summary(wire)
        plain = entry.default is not MISSING and entry.default not in (None, ())
        described = f"{sentence} (default: {_written(entry.default)})" if plain else sentence
        found[entry.name] = (
            wire,
            Field(default=None, description=described, json_schema_extra=dict(keywords.get(key, {}))),
        )
    config = ConfigDict(json_schema_extra=without_defaults)
    model: type[BaseModel] = create_model(name, __config__=config, __doc__=_summary(kind), **found)
    return model


def _wire(hint: Any, groups: Mapping[type, type[BaseModel]]) -> Any:
    """The type that JSON has for the type of a dataclass's field."""
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin in {types.UnionType, typing.Union}:
        (inner,) = (option for option in options if option is not types.NoneType)
        return _wire(inner, groups) | None
    if origin is tuple:
        return list[_wire(options[0], groups)]  # type: ignore[misc] # built at run time
    if origin is not None:
        return dict[str, float]
    if hint is Money:
        return MoneyLimit
    if issubclass(hint, Enum):
        return typing.Literal[tuple(str(member.value) for member in hint)]
    return groups.get(hint, hint)


def _summary(kind: Any) -> str:
    """The first sentences of a docstring, on one line."""
    return " ".join(re.split(r"\n\s*\n", str(kind.__doc__), maxsplit=1)[0].split())


def _written(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value.value if isinstance(value, Enum) else value)
    return f"`{text}`" if text else "empty"
