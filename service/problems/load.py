"""Problem folders, native or OpenEvolve's, as one value."""

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
    files, complaints = read_folder(folder)
    if complaints and not files.files:
        raise InvalidProblemError(complaints)
    try:
        reading = _read(files, folder)
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


def _read(files: Folder, folder: Path) -> Reading:
    if native.FILE in files.files:
        return native.read_native(files)
    if openevolve.recognises(files):
        return openevolve.read_openevolve(files, folder.resolve().name)
    raise InvalidProblemError(
        [
            f"{folder} holds neither problem.toml nor an OpenEvolve project (initial_program.* beside evaluator.py):"
            f" start a problem with `evolve problem init {folder}`"
        ]
    )
