"""Documents written as TOML, for problems that nobody wrote by hand."""

import json
from collections.abc import Mapping
from typing import Any


def toml_text(document: Mapping[str, Any]) -> str:
    """A problem's document as TOML, with a line for each key at the top."""
    return "".join(f"{_toml(key)} = {_toml(value)}\n" for key, value in document.items())


def _toml(value: Any) -> str:
    """A value of a problem's document as TOML on a single line."""
    if isinstance(value, str):
        # A JSON text is a basic string of TOML, but for DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return repr(value)
