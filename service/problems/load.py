"""Problem folders, native or OpenEvolve's, as one value."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evolve.problem import Problem
from service.errors import InvalidProblemError
from service.ports import Bundle
from service.problems import native, openevolve
from service.problems.bundle import pack
from service.problems.folder import Folder, read_folder
from service.problems.reading import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedProblem:
    """A problem's folder, read and packed.

    Attributes:
        search: the lowest layer of the run configuration, as the folder gives it.
        policy: a policy the folder names, with the keys of a policy file (never a key itself), or None.
        warnings: sentences about what the folder says and is not honoured.
        folder: where it lay, absolute.
    """

    problem: Problem
    search: Mapping[str, Any]
    policy: Mapping[str, Any] | None
    warnings: tuple[str, ...]
    bundle: Bundle
    folder: Path


def load_problem(folder: Path) -> LoadedProblem:
    """Read a folder with `problem.toml`, or an OpenEvolve project as it is.

    Raises:
        InvalidProblemError: with every complaint at once, each a sentence that names the file, the key and the cure.
    """
    _check_kind(folder)
    files, complaints = read_folder(folder)
    if complaints and not (native.FILE in files.files or openevolve.recognises(files.files)):
        raise InvalidProblemError(complaints)
    try:
        reading = native.read_native(files) if native.FILE in files.files else _read_project(files, folder)
    except InvalidProblemError as error:
        raise InvalidProblemError([*complaints, *error.complaints]) from error
    if complaints:
        raise InvalidProblemError(complaints)
    bundle = pack(files)
    return LoadedProblem(
        problem=replace(reading.problem, bundle=bundle.hash),
        search=reading.search,
        policy=reading.policy,
        warnings=reading.warnings,
        bundle=bundle,
        folder=folder.resolve(),
    )


def _check_kind(folder: Path) -> None:
    """Refuse a folder that is no problem before all of it is read: it may be somebody's home."""
    try:
        names = os.listdir(folder)
    except (OSError, ValueError):
        return  # the reader says why
    if native.FILE in names or openevolve.recognises(names):
        return
    if openevolve.EVALUATOR in names:
        raise InvalidProblemError(
            [
                f"{folder} holds an {openevolve.EVALUATOR} without what goes with it: a problem needs {native.FILE} too"
                " (`evolve problem init DIR` makes one to start from), an OpenEvolve project an initial_program.*"
            ]
        )
    raise InvalidProblemError(
        [
            f"{folder} holds neither {native.FILE} nor an OpenEvolve project (initial_program.* and evaluator.py):"
            " `evolve problem init DIR` begins a problem"
        ]
    )


def _read_project(files: Folder, folder: Path) -> Reading:
    return openevolve.read_openevolve(files, folder.resolve().name)
