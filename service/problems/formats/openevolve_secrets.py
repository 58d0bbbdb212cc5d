"""Keys that stand in an OpenEvolve configuration: taken out before anything of the folder is stored."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import yaml

from service.errors import InvalidProblemError
from service.problems.documents import DocumentError, read_document
from service.problems.folder import Folder

KEY = "api_key"
TAKEN_OUT = "not-stored"
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
MIN_CHARACTERS = 8  # shorter ones are words such as ollama


def without_keys(folder: Folder, names: Sequence[str]) -> Folder:
    """The folder with other words in place of the keys that stand in its configurations.

    Args:
        folder: of a project.
        names: of its configurations.

    Raises:
        InvalidProblemError: a key stands there in a way that it cannot be taken out.
    """
    files = dict(folder.files)
    for name in names:
        keys = {key for _, key in _keys_in(name, files[name])}
        for key in sorted(keys, key=len, reverse=True):  # a longer one may hold a shorter one
            files[name] = files[name].replace(key.encode(), TAKEN_OUT.encode())
        if keys and (left := _places_left(name, files[name], folder.files[name])):
            complaint = "holds a key itself: remove it, and export it as a variable"
            raise InvalidProblemError([f"{name}: {place} {complaint}" for place in left])
    return replace(folder, files=files)


def _keys_in(name: str, content: bytes) -> list[tuple[str, str]]:
    try:
        return _written_keys(name, content)
    except DocumentError:
        return []  # whoever reads it says so


def _places_left(name: str, content: bytes, before: bytes) -> list[str]:
    """Where keys still stand; every place of before, where the content cannot be read any more."""
    try:
        return [place for place, _ in _written_keys(name, content)]
    except DocumentError:
        return [place for place, _ in _keys_in(name, before)]


def _written_keys(name: str, content: bytes) -> list[tuple[str, str]]:
    """Keys that are written out, with where they stand.

    Raises:
        DocumentError: the content is no YAML that is read.
    """
    read_document(name, content)  # which bounds its size, its depth and its aliases
    node = yaml.compose(content.decode("utf-8-sig"), Loader=yaml.SafeLoader)
    return list(_keys(node, "")) if node else []


def _keys(node: yaml.Node, place: str) -> Iterator[tuple[str, str]]:
    # Of nodes, since of two entries with the same name the document has the second alone.
    if isinstance(node, yaml.MappingNode):
        for named, inner in node.value:
            here = f"{place}.{named.value}" if place else str(named.value)
            text = inner.value.strip() if isinstance(inner, yaml.ScalarNode) else ""
            if (
                named.value == KEY
                and len(text) >= MIN_CHARACTERS
                and text != TAKEN_OUT
                and not VARIABLE.fullmatch(text)
            ):
                yield here, text
            else:
                yield from _keys(inner, here)
    elif isinstance(node, yaml.SequenceNode):
        for number, inner in enumerate(node.value, 1):
            yield from _keys(inner, f"{place}[{number}]")
