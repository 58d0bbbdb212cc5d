"""Written by Evolve: loads files of another project without the package of that project.

A stand-in has the few names of the package that evaluators need. Imports of the problem's own files by their names in
that package lead into the folder.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import types
from collections.abc import Sequence
from typing import Any

FOLDER = os.path.dirname(os.path.abspath(__file__))
SETTINGS = "evolve_evaluator.json"
OUTSIDE = "evolve_imports"
_PACKAGE = "evolve_problem_folder"


class Anything:
    """What a stand-in has in place of what an evaluator does not need: it can be called, and has every attribute."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """Whatever the arguments."""

    def __call__(self, *_: Any, **__: Any) -> "Anything":
        """Itself."""
        return self

    def __getattr__(self, name: str) -> "Anything":
        """Itself, but for names that Python gives a meaning."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self


class FolderFinder:
    """Finds modules below some packages in the problem's folder, by the longest end of their names that is a file.

    A module from outside of the folder comes next, by its whole name. Anything else is an empty package.
    """

    def __init__(self, packages: Sequence[str]) -> None:
        """For these packages."""
        self._packages = packages

    def find_spec(self, fullname: str, *_: Any) -> Any:
        """As the import system asks."""
        words = fullname.split(".")
        if words[0] not in self._packages:
            return None
        ends = [words[first:] for first in range(1, len(words))]
        for path in (*ends, [OUTSIDE, *words]):
            file = os.path.join(FOLDER, *path) + ".py"
            if os.path.isfile(file):
                return importlib.util.spec_from_file_location(fullname, file)
        return importlib.machinery.ModuleSpec(fullname, EmptyLoader(), is_package=True)


class EmptyLoader(importlib.abc.Loader):
    """Makes an empty package, that says what is not in the folder."""

    def exec_module(self, module: types.ModuleType) -> None:
        """It has the files of the folder as its modules, and nothing else."""

        def missing(name: str) -> Any:
            if name.startswith("__") or os.path.isfile(os.path.join(FOLDER, f"{name}.py")):
                raise AttributeError(name)
            raise ImportError(
                f"{name} of {module.__name__} lies outside of the problem's folder: copy its file into the folder"
            )

        vars(module)["__getattr__"] = missing


def settings() -> "dict[str, Any]":
    """What the folder says of the problem, as it was read when the problem was loaded."""
    with open(os.path.join(FOLDER, SETTINGS), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def stand_in(name: str, **attributes: Any) -> None:
    """Put a module of this name, with these attributes, in place of another project's."""
    module = types.ModuleType(name)
    module.__path__ = []
    vars(module).update(attributes)
    sys.modules[name] = module


def find_in_folder(*packages: str) -> None:
    """Have modules below these packages found in the problem's folder."""
    finder: Any = FolderFinder(packages)
    sys.meta_path.insert(0, finder)


def load(path: str) -> Any:
    """A Python file of the folder as a module; its imports from beside it work, relative ones too."""
    place = os.path.join(FOLDER, os.path.dirname(path))
    for entry in (FOLDER, place):
        if entry not in sys.path:
            sys.path.insert(0, entry)
    package = types.ModuleType(_PACKAGE)
    package.__path__ = [place]
    sys.modules[_PACKAGE] = package
    return importlib.import_module(f"{_PACKAGE}.{os.path.splitext(os.path.basename(path))[0]}")


def read(program_path: str) -> str:
    """The text of a program."""
    with open(program_path, encoding="utf-8") as file:
        return file.read()
