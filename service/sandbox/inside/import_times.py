"""In a child: how long its imports take, so that a check can name the modules that a warm process should hold."""

import builtins
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from time import perf_counter
from typing import Any

MAX_MODULES = 20
MIN_SECONDS = 0.001

Found = list[tuple[str, float]]


def taken(*folders: str) -> dict[str, float]:
    """Seconds by module, which fill as modules are imported from now on.

    Of a module below `folders` those count that it imports. A module that another one imports counts with that one.
    """
    seconds: dict[str, float] = {}
    builtins.__import__ = _Importer(seconds, folders).load
    return seconds


class _Importer:
    def __init__(self, seconds: dict[str, float], folders: Sequence[str]) -> None:
        self._seconds, self._folders = seconds, tuple(folder + os.sep for folder in folders)
        self._import = builtins.__import__
        self._outer: list[Found] = []

    def load(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002 - the words of `__import__`
        locals: Mapping[str, Any] | None = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """Import as before, and take the time."""
        before = len(sys.modules)
        self._outer.append([])
        began = perf_counter()
        try:
            return self._import(name, globals, locals, fromlist or (), level)
        finally:
            took, inner = perf_counter() - began, self._outer.pop()
            if took >= MIN_SECONDS:
                package = str((globals or {}).get("__package__") or "")
                new = set(islice(sys.modules, before, None))
                self._add(self._found(_names(name, package, fromlist or (), level, new), took, inner))

    def _found(self, names: Sequence[str], took: float, inner: Found) -> Found:
        own = any(str(getattr(sys.modules.get(name), "__file__", "")).startswith(self._folders) for name in names)
        return inner if own else [(name, took / len(names)) for name in names]

    def _add(self, found: Found) -> None:
        if self._outer:
            self._outer[-1].extend(found)
            return
        for name, seconds in found:
            if name in self._seconds or len(self._seconds) < MAX_MODULES:
                self._seconds[name] = self._seconds.get(name, 0.0) + seconds


def _names(name: str, package: str, fromlist: Sequence[str], level: int, new: set[str]) -> list[str]:
    """What an import statement names: a module, or the modules of a package that it loaded."""
    try:
        module = importlib.util.resolve_name("." * level + name, package) if level else name
    except ImportError:
        module = name
    return [full for part in fromlist if (full := f"{module}.{part}") in new] or [module]
