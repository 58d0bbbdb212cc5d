"""Problem folders, native or OpenEvolve's, as one value."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from evolve.answers.regions import unread_markers
from evolve.problem import EvaluatorSpec, Problem, lies_relative
from service.errors import InvalidProblemError
from service.ports import Bundle
from service.problems import native, openevolve, shinka
from service.problems.bundle import open_bundle, pack
from service.problems.domains.expand import written_out
from service.problems.folder import Folder
from service.problems.project import FOLDER, PYTHON, Project, as_project, named_in, with_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedProblem:
    """A problem's folder, read and packed.

    Attributes:
        search: the lowest layer of the run configuration, as the folder gives it.
        policy: a policy the folder names, with the keys of a policy file (never a key itself), or None.
        warnings: sentences about what the folder says and is not honoured.
        place: where it lay, for people.
    """

    problem: Problem
    search: Mapping[str, Any]
    policies: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...]
    bundle: Bundle
    place: str


def load_problem(place: Path | Project) -> LoadedProblem:
    """Read a folder with `problem.toml`, or an OpenEvolve project as it is.

    Raises:
        InvalidProblemError: with every complaint at once, each a sentence that names the file, the key and the cure.
    """
    project = as_project(place)
    if project.evaluator is None and project.folder.is_file():
        words = f"evolve run {project.folder} EVALUATOR"
        raise InvalidProblemError(
            [f"{project.folder} is a file: name the folder of the problem, or its evaluator: {words}"]
        )
    if project.evaluator is None:
        _check_kind(project.folder)
    files, complaints = project.read()
    name, lay = project.name, str(project.folder.resolve())
    loaded = load_files(files, name, lay, complaints)
    spec = loaded.problem.evaluator
    if not any(map(lies_relative, (*spec.read, *spec.scorer_read, *spec.path))):
        return loaded
    return load_files(with_folder(files, project.top), name, lay, complaints)


def load_bundle(bundle: Bundle, name: str) -> LoadedProblem:
    """Read a problem from what is stored of its folder; nothing touches the disk.

    Args:
        bundle: the folder.
        name: what a problem is called whose files do not say.

    Raises:
        StorageError: the bundle is damaged.
        InvalidProblemError: this version cannot read the problem.
    """
    return load_files(open_bundle(bundle), name, "the stored problem")


def load_files(files: Folder, name: str, place: str, complaints: Sequence[str] = ()) -> LoadedProblem:
    """Read a problem from files in memory.

    Args:
        files: the folder.
        name: what a problem is called whose files do not say.
        place: where the folder lay, for people.
        complaints: what was wrong with the folder itself.

    Raises:
        InvalidProblemError: with every complaint, those of the folder first.
    """
    native_problem = native.FILE in files.files
    if not (native_problem or openevolve.recognises(files.files)):
        raise InvalidProblemError(complaints or [_no_problem(files.files, place)])
    try:
        files = written_out(files) if native_problem else openevolve.without_keys(shinka.written_out(files))
        reading = native.read_native(files) if native_problem else openevolve.read_openevolve(files, name)
    except InvalidProblemError as error:
        raise InvalidProblemError([*complaints, *error.complaints]) from error
    if complaints:
        raise InvalidProblemError(complaints)
    bundle, problem = pack(files), reading.problem
    named = named_in(files)
    if python := named.get(PYTHON):
        problem = replace(problem, evaluator=replace(problem.evaluator, python=python))
    if folder := named.get(FOLDER):
        problem = replace(problem, evaluator=_from_folder(problem.evaluator, folder))
    return LoadedProblem(
        problem=replace(problem, bundle=bundle.hash),
        search=reading.search,
        policies=reading.policies,
        warnings=(*reading.warnings, *chain.from_iterable(map(unread_markers, problem.seeds))),
        bundle=bundle,
        place=place,
    )


def _from_folder(spec: EvaluatorSpec, folder: str) -> EvaluatorSpec:
    """An evaluator whose relative paths are written from the root on."""

    def full(paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(os.path.join(folder, path) if lies_relative(path) else path for path in paths)

    return replace(spec, read=full(spec.read), scorer_read=full(spec.scorer_read), path=full(spec.path))


def _check_kind(folder: Path) -> None:
    """Refuse a folder that is no problem before all of it is read: it may be somebody's home."""
    try:
        names = os.listdir(folder)
    except (OSError, ValueError):
        return  # the reader says why
    if not (native.FILE in names or openevolve.recognises(names)):
        raise InvalidProblemError([_no_problem(names, str(folder))])


def _no_problem(names: Iterable[str], place: str) -> str:
    if openevolve.EVALUATOR in names:
        return (
            f"{place} holds an {openevolve.EVALUATOR} but no problem: add {native.FILE} (make one with"
            " `evolve problem init DIR`), or initial_program.* for an OpenEvolve project"
        )
    return (
        f"{place} holds neither {native.FILE} nor an OpenEvolve project (initial_program.* and evaluator.py):"
        " make a problem with `evolve problem init DIR`"
    )
