"""The files of a folder that a command needs beside its sources: those that its words name, and their modules."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from evolve.answers.syntax_trees import syntax_tree
from service.errors import UsageError
from service.problems.folder import LARGE_DATA, MAX_BYTES, left_out

MAX_FILES = 500


def relative(path: Path, folder: Path) -> str:
    """A path relative to the folder that a command is typed in.

    Raises:
        UsageError: it lies elsewhere, or is not a file.
    """
    whole = path if path.is_absolute() else folder / path
    if not whole.is_file():
        raise UsageError(f"{path} is not a file: name a file that the command runs on")
    try:
        return PurePosixPath(whole.resolve().relative_to(folder.resolve())).as_posix()
    except ValueError as error:
        raise UsageError(
            f"{path} lies outside of {folder}: change to a folder above it, and name both paths from there"
        ) from error


def local_files(tokens: Iterable[str], sources: Iterable[str], folder: Path) -> tuple[str, ...]:
    """Paths of files that stay as they are: words of a command that are files here, and the modules that they import.

    Raises:
        UsageError: they are too many or too large for a problem.
    """
    mutable = set(sources)
    found: dict[str, None] = {}
    waiting = [*mutable, *_named(tokens, folder)]
    size = 0
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        if path not in mutable:
            found[path] = None
            size += (folder / path).stat().st_size
        if size > MAX_BYTES or len(found) > MAX_FILES:
            raise UsageError(f"the files that the command names are too many or too large: {LARGE_DATA}")
        if path.endswith(".py"):
            waiting += [module for module in _modules(folder / path, folder) if module not in {*found, *mutable}]
    return tuple(sorted(found))


def _named(tokens: Iterable[str], folder: Path) -> Iterator[str]:
    for token in tokens:
        if token and not token.startswith(("-", "/", "~", "..")) and len(token) < 1000 and (folder / token).is_file():
            yield PurePosixPath(token).as_posix()


def _modules(file: Path, folder: Path) -> Iterator[str]:
    """Files of the modules beside a Python file that it imports."""
    try:
        tree = syntax_tree(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        level = 0
        if isinstance(node, ast.ImportFrom):
            level = node.level
            names = [".".join(filter(None, (node.module, alias.name))) for alias in node.names]
        top = file.parent if level < 2 else file.parents[min(level, len(file.parents)) - 1]
        for place in {top, folder} if not level else {top}:
            for name in names:
                yield from _module(place, name.split("."), folder)


def _module(place: Path, parts: list[str], folder: Path) -> Iterator[str]:
    """The file of a module and of the packages above it."""
    for count in range(1, len(parts) + 1):
        path = place.joinpath(*parts[:count])
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file() and file.resolve().is_relative_to(folder.resolve()) and not left_out(file.name):
                yield PurePosixPath(file.resolve().relative_to(folder.resolve())).as_posix()
