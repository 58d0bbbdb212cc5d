"""JSON Lines: one object a line, carrying the number of its schema, never NaN or infinity, always valid UTF-8."""

import json
import math
from collections.abc import Mapping
from typing import Any

from evolve.version import SCHEMA


def as_line(value: Mapping[str, Any]) -> str:
    """One JSON object on one line, without its end; lone surrogates are escaped as JSON escapes them."""
    return json.dumps({"schema": SCHEMA, **finite(value)}, allow_nan=False)


def finite(value: Any) -> Any:
    """The value with null for every number that JSON has no word for."""
    if isinstance(value, Mapping):
        return {str(key): finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
