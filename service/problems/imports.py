"""The names that stand in a Python source: what it imports, and the texts that may be files and folders."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from evolve.answers.syntax_trees import syntax_tree

_MAX_TEXT = 200
_MAX_TEXTS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedName:
    """One import of a source.

    Attributes:
        module: dotted name; empty: `from . import names`.
        names: that are imported from it, which may be modules of it.
        level: how many folders up a relative import starts; 0: it is absolute.
    """

    module: str
    names: Sequence[str] = ()
    level: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNames:
    """The names of a source.

    Attributes:
        imports: in the order in which they stand, those within functions too.
        folders: texts of it as relative paths without `..`, which may be folders.
        files: texts of it that may be names of files beside it.
    """

    imports: Sequence[ImportedName] = ()
    folders: Sequence[str] = ()
    files: Sequence[str] = ()


def read_names(content: bytes) -> SourceNames:
    """The names of a source; none where it is not Python."""
    try:
        tree = syntax_tree(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return SourceNames()
    imports: list[ImportedName] = []
    texts: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [ImportedName(module=alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names if alias.name != "*")
            imports.append(ImportedName(module=node.module or "", names=names, level=node.level))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(texts) < _MAX_TEXTS:
            texts |= dict.fromkeys(_path(node.value))
    paths = tuple(texts)
    files = tuple(path for path in paths if PurePosixPath(path).suffix not in ("", ".py"))
    return SourceNames(imports=tuple(dict.fromkeys(imports)), folders=paths, files=files)


def _path(text: str) -> Iterator[str]:
    """A text as a relative path without what leads upwards; nothing where it cannot be one."""
    if not 0 < len(text) <= _MAX_TEXT or not text.isprintable() or text.startswith(("/", "~")):
        return
    parts = [part for part in PurePosixPath(text).parts if part not in ("..", ".")]
    if parts and not any(part.startswith(".") for part in parts):
        yield "/".join(parts)
