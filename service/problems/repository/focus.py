"""The files of a repository that matter most for a score: those that the command runs, and the modules they import."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+([\w, \t]+|\()|import[ \t]+([\w., \t]+))", re.MULTILINE
)
_MAX_FILES = 200
MAX_CHARACTERS = 256 * 1024


def focus_of(tokens: Iterable[str], files: Mapping[str, bytes]) -> list[str]:
    """Paths of files that the words of a command name, then of the Python modules that they reach, nearest first.

    Args:
        tokens: words of the command.
        files: content by path.
    """
    modules = _modules(files)
    waiting = list(_named(tokens, files))
    found: dict[str, None] = {}
    while waiting and len(found) < _MAX_FILES:
        path = waiting.pop(0)
        if path in found:
            continue
        found[path] = None
        if path.endswith(".py"):
            text = readable(files[path])
            waiting += [] if text is None else _imported(path, text, modules)
    return list(found)


def readable(content: bytes) -> str | None:
    """A file's content as text. None: it is none, or it is too long for a prompt."""
    if len(content) > MAX_CHARACTERS or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _named(tokens: Iterable[str], files: Mapping[str, bytes]) -> Iterator[str]:
    for token in tokens:
        path = token.removeprefix("./").rstrip("/")
        if path in files:
            yield path
        elif path and not path.startswith("-"):
            yield from sorted(name for name in files if name.startswith(f"{path}/") and name.endswith(".py"))


def _modules(files: Mapping[str, bytes]) -> dict[str, str]:
    """Paths of Python files by every dotted name that could mean them, the nearest to the top first."""
    found: dict[str, str] = {}
    for path in sorted(files, key=lambda path: (path.count("/"), path)):
        if path.endswith(".py"):
            parts = PurePosixPath(path.removesuffix("/__init__.py").removesuffix(".py")).parts
            for start in range(len(parts)):
                found.setdefault(".".join(parts[start:]), path)
    return found


def _imported(path: str, text: str, modules: Mapping[str, str]) -> Iterator[str]:
    for source, names, plain in _IMPORT.findall(text):
        if plain:
            yield from (modules[name] for name in map(_first, plain.split(",")) if name in modules)
            continue
        base = _absolute(path, source)
        yield from ([modules[base]] if base in modules else [])
        inner = (f"{base}.{_first(name)}" if base else _first(name) for name in names.strip("(").split(","))
        yield from (modules[name] for name in inner if name in modules)


def _absolute(path: str, source: str) -> str:
    dots = len(source) - len(source.lstrip("."))
    if not dots:
        return source
    parts = PurePosixPath(path).parent.parts
    kept = parts[: len(parts) - (dots - 1)]
    return ".".join([*kept, *filter(None, source.lstrip(".").split("."))])


def _first(words: str) -> str:
    return next(iter(words.split()), "")
