"""The defaults of a run configuration as they are written, before those that are automatic are decided."""

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from evolve.configuration.run import RunConfig


def default_keys(group: type = RunConfig, prefix: str = "") -> dict[str, Any]:
    """What every key is where nobody sets it, by dotted keys."""
    keys: dict[str, Any] = {}
    for entry in fields(group):
        value = entry.default if entry.default_factory is MISSING else entry.default_factory()
        name = f"{prefix}{entry.name}"
        nested = is_dataclass(value) and not isinstance(value, type)
        keys |= default_keys(type(value), f"{name}.") if nested else {name: value}
    return keys
