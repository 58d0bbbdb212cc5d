"""Documents written as TOML, for problems that nobody wrote by hand."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def toml_text(document: Mapping[str, Any]) -> str:
    """A problem's document as TOML: single keys first, then each table under its own heading."""
    return "".join(_lines(document, ""))


def _lines(table: Mapping[str, Any], place: str) -> Iterator[str]:
    """The keys of a table, then the tables below it."""
    yield from (_line(key, value) for key, value in table.items() if not _headed(value))
    for key, value in table.items():
        if _headed(value):
            below = f"{place}{_key(key)}"
            heading = f"\n[{below}]\n" if isinstance(value, Mapping) else f"\n[[{below}]]\n"
            for inner in [value] if isinstance(value, Mapping) else value:
                yield heading
                yield from _lines(inner, f"{below}.")


def _headed(value: Any) -> bool:
    """Whether a value is a table, or a list of nothing but tables."""
    several = isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) and item for item in value)
    return isinstance(value, Mapping) or several


def _line(key: str, value: Any) -> str:
    return f"{_key(key)} = {_several_lines(value) if isinstance(value, str) and chr(10) in value else _toml(value)}\n"


def _several_lines(text: str) -> str:
    """A text that people read and edit, as it stands."""
    return '"""\n' + "\n".join(_toml(line)[1:-1] for line in text.split("\n")) + '"""'


def _key(text: str) -> str:
    return text if _BARE.fullmatch(text) else _toml(text)


def _toml(value: Any) -> str:
    """A value of a problem's document as TOML on a single line."""
    if isinstance(value, str):
        # A JSON text is a basic string of TOML, but for DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return repr(value)
