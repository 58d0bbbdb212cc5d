"""TOML, YAML and JSON documents, read from hostile bytes into plain values."""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

MAX_BYTES = 256 * 1024
_MAX_DEPTH = 32
_MAX_VALUES = 50_000
_MAX_DIGITS = 1000
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]++|\\.)*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_\\-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_MAX_DEPTH}}}")


class DocumentError(Exception):
    """A document that cannot be read. Its text is a sentence that starts with the document's name."""


def read_document(name: str, content: bytes) -> dict[str, Any]:
    """Read a document by its name's suffix (.toml, .yaml, .yml or .json) into a dict with text keys.

    Raises:
        DocumentError: too large or too deep, no UTF-8, broken syntax (with its line), or no table at the top.
    """
    reader = _READERS.get(PurePosixPath(name).suffix)
    if reader is None:
        raise DocumentError(f"{name} has an unknown suffix: use one of {', '.join(_READERS)}")
    if len(content) > MAX_BYTES:
        raise DocumentError(f"{name} is larger than {MAX_BYTES // 1024} KB: it cannot be a configuration")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DocumentError(f"{name} is not UTF-8 text (line {line}): save it as UTF-8") from error
    value = _parse(name, reader, text)
    if value is None:
        return {}
    check_size(name, value)
    if not isinstance(value, Mapping):
        raise DocumentError(f"{name} holds a {type(value).__name__} where keys and values are expected")
    return {str(key): _text_keys(item) for key, item in value.items()}


def read_file(path: Path) -> dict[str, Any]:
    """Read a document from a file.

    Raises:
        DocumentError: as `read_document`, or the file is missing, unreadable or no plain file.
    """
    try:
        if not path.is_file():
            raise DocumentError(f"{path} is not a file: name a .toml, .yaml or .json file")
        with path.open("rb") as file:
            return read_document(str(path), file.read(MAX_BYTES + 1))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DocumentError(f"{path} cannot be read: {reason}") from error


def _parse(name: str, reader: Callable[[str], Any], text: str) -> Any:
    try:
        return reader(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise DocumentError(f"{name} is broken{where}: {error.problem or error.context}") from error
    except RecursionError as error:
        raise DocumentError(f"{name} is nested too deeply: no more than {_MAX_DEPTH} levels") from error
    # PyYAML lets its constructors' own errors through: `!!timestamp x` is an AttributeError, `!!int ""` an IndexError.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, OverflowError) as error:
        raise DocumentError(f"{name} is broken: {_first_line(error)}") from error


def storable(text: str) -> bool:
    """Whether a text can be kept as UTF-8 by every database."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _read_json(text: str) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not a JSON number")

    return json.loads(text, parse_constant=refuse)


def _read_toml(text: str) -> Any:
    # Memory that grows with the square of a key's parts is what reading a long one takes.
    if _LONG_KEY.search(text):
        raise ValueError(f"a key of more than {_MAX_DEPTH} parts is nested too deeply")
    return tomllib.loads(text)


def _read_yaml(text: str) -> Any:
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check_aliases(node)
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _check_aliases(top: yaml.Node) -> None:
    """Walk the tree with expanded aliases, so that a small text cannot become a large value."""
    seen = 0
    waiting = [(top, 0)]
    while waiting:
        node, depth = waiting.pop()
        seen += 1
        if seen > _MAX_VALUES:
            raise ValueError(f"its aliases expand to more than {_MAX_VALUES} values")
        if depth > _MAX_DEPTH:
            raise ValueError(f"it is nested more than {_MAX_DEPTH} levels deep, or an alias holds itself")
        if isinstance(node, yaml.SequenceNode):
            waiting += [(item, depth + 1) for item in node.value]
        elif isinstance(node, yaml.MappingNode):
            waiting += [(item, depth + 1) for pair in node.value for item in pair]
        elif len(node.value) > _MAX_DIGITS:
            _check_number(node)


def _check_number(node: yaml.Node) -> None:
    # `1:1:1` is a number to the base of 60, and reading it takes time that grows with the square of its length.
    if node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float"):
        raise ValueError(f"a number of it has more than {_MAX_DIGITS} digits")


def check_size(name: str, top: Any) -> None:
    """Refuse a value that is too deep or too large for a configuration, or holds text that cannot be stored.

    Raises:
        DocumentError: the value is refused. The text starts with the name.
    """
    seen = 0
    waiting = [(top, 0)]
    while waiting:
        value, depth = waiting.pop()
        seen += 1
        if depth > _MAX_DEPTH or seen > _MAX_VALUES:
            raise DocumentError(f"{name} is nested too deeply or too large for a configuration: make it smaller")
        if isinstance(value, str) and not storable(value):
            raise DocumentError(f"{name} holds a character that cannot be stored: take out NUL and lone surrogates")
        waiting += [(item, depth + 1) for item in _items(value)]


def _items(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [*value, *value.values()]
    return list(value) if isinstance(value, list | set | tuple) else []


def _text_keys(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _text_keys(item) for key, item in value.items()}
    return [_text_keys(item) for item in value] if isinstance(value, list) else value


_READERS: dict[str, Callable[[str], Any]] = {
    ".toml": _read_toml,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
    ".json": _read_json,
}
