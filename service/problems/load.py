"""Problem folders of every known form, as one value."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from evolve.answers.regions import unread_markers
from evolve.extensions import ExtensionKind, Extensions, built_in_names, is_reference, known_names
from evolve.problem import EvaluatorSpec, Problem, lies_relative
from evolve.problem_formats import FILE, ConversionError, ConvertedProblem, ProblemFolder, open_format
from service.errors import InvalidProblemError
from service.ports import Bundle
from service.problems import native
from service.problems.bundle import open_bundle, pack
from service.problems.command.command_scorer.tree import FOLDER as BASE
from service.problems.folder import Folder
from service.problems.formats.openevolve import without_keys
from service.problems.outside_modules import FOLDER as OUTSIDE
from service.problems.population import FOLDER as SEEDS
from service.problems.project import CONFIG, FOLDER, FORMAT, PYTHON, Project, as_project, named_in, with_folder
from service.problems.project import FILE as PROJECT_FILE
from service.problems.reader_result import ReaderResult
from service.problems.recognition import NATIVE, OPENEVOLVE, RecognisedFormat, misplaced_config, peek, recognise
from service.problems.repository.base import with_base
from service.problems.toml_writer import toml_text

# Evolve itself has put these into a problem, in its own form: no format is asked about them.
_OWN_FOLDERS = (f"{OUTSIDE}/", f"{SEEDS}/", f"{BASE}/")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedProblem:
    """A problem's folder, read and packed.

    Attributes:
        search: the lowest layer of the run configuration, as the folder gives it.
        policy: a policy the folder names, with the keys of a policy file (never a key itself), or None.
        warnings: sentences about what the folder says and is not honoured.
        place: where it lay, for people.
        form: the form in which it lay, with the files by which it was recognised.
        foreign: whether that is not Evolve's own form.
        outside: modules from outside of its folder, and their data.
    """

    problem: Problem
    search: Mapping[str, Any]
    policies: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...]
    bundle: Bundle
    place: str
    form: str = ""
    foreign: bool = False
    outside: tuple[str, ...] = ()


def load_problem(place: Path | Project) -> LoadedProblem:
    """Read a folder with `problem.toml`, or a problem of another form as it is.

    Raises:
        InvalidProblemError: with every complaint at once, each a sentence that names the file, the key and the cure.
    """
    project = as_project(place)
    form, files, complaints = read_project(project)
    name, lay = project.name, str(project.folder.resolve())
    based = with_base(files, project.top)
    files = based.files
    loaded = load_files(files, name, lay, complaints, form=form)
    spec = loaded.problem.evaluator
    if any(map(lies_relative, (*spec.read, *spec.scorer_read, *spec.path))):
        loaded = load_files(with_folder(files, project.top), name, lay, complaints, form=form)
    return replace(loaded, warnings=(*based.warnings, *loaded.warnings))


def read_project(project: Project) -> tuple[str, Folder, list[str]]:
    """The format of a project, its files as far as the format takes them, and a sentence for each that cannot be read.

    Raises:
        InvalidProblemError: no format recognises it, or several do.
    """
    # Before all of it is read: it may be somebody's home.
    form = format_name(project)
    folders: Sequence[str] = ()
    beside: Sequence[str] = ()
    if form and project.evaluator is None:
        opened = open_format(form, Extensions())
        folders, beside = opened.folders, opened.beside
    return form, *project.read(folders, beside)


def format_name(project: Project) -> str:
    """The name of a project's format, by those of installed packages too; empty: its reader says what is wrong.

    Raises:
        InvalidProblemError: no format recognises it, or several do.
    """
    if project.evaluator is not None:
        return project.form or OPENEVOLVE
    lying, place = peek(project.folder), str(project.folder)
    if not lying.files and not project.form:
        return ""
    options = {**named_in(Folder(files=lying.files)), **({CONFIG: str(project.config)} if project.config else {})}
    wanted = project.form or options.get(FORMAT, "")
    known = [*known_names(ExtensionKind.PROBLEM_FORMAT), *filter(is_reference, [project.form])]
    words = f"evolve run {place} EVALUATOR"
    unknown = f"{place} is a file: name the folder of the problem, or its evaluator: {words}"
    lone = project.folder.is_file()
    if lone and project.folder.name == FILE:
        raise InvalidProblemError([unknown])
    return recognise(replace(lying, options=options), place, known, wanted, unknown if lone else "").name


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


def load_files(
    files: Folder, name: str, place: str, complaints: Sequence[str] = (), *, form: str = ""
) -> LoadedProblem:
    """Read a problem from files in memory; what is packed is Evolve's own form of it.

    Args:
        files: the folder.
        name: what a problem is called whose files do not say.
        place: where the folder lay, for people.
        complaints: what was wrong with the folder itself.
        form: name of its format; empty: the built-in one that recognises it, or that was named beside it.

    Raises:
        InvalidProblemError: with every complaint, those of the folder first.
    """
    named = named_in(files)
    added = {path: content for path, content in files.files.items() if path.startswith(_OWN_FOLDERS)}
    inside = {path: content for path, content in files.files.items() if path not in added}
    files = replace(files, files=inside)
    lying = ProblemFolder(files=inside, name=name, options=named)
    known = [*built_in_names(ExtensionKind.PROBLEM_FORMAT), *([form] if form else [])]
    try:
        recognised = recognise(lying, place, known, form or named.get(FORMAT, ""))
    except InvalidProblemError as error:
        raise InvalidProblemError(complaints or error.complaints) from error
    if complaints and not recognised.files:
        raise InvalidProblemError(complaints)
    if (config := named.get(CONFIG, "")) in inside and (wrong := misplaced_config(recognised, config, inside[config])):
        raise InvalidProblemError([*complaints, wrong])
    try:
        if recognised.name != NATIVE:
            lying = replace(lying, files=without_keys(files).files)
        converted = _converted(recognised, lying)
        files = replace(files, files=dict(sorted({**_in_own_form(converted), **added}.items())))
        reading = native.read_native(files)
    except InvalidProblemError as error:
        raise InvalidProblemError([*complaints, *error.complaints]) from error
    if complaints:
        raise InvalidProblemError(complaints)
    reading = replace(reading, warnings=(*converted.warnings, *reading.warnings))
    return _packed(files, reading, place, recognised)


def _packed(files: Folder, reading: ReaderResult, place: str, recognised: RecognisedFormat) -> LoadedProblem:
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
        form=str(recognised),
        foreign=recognised.name != NATIVE,
        outside=tuple(path.removeprefix(f"{OUTSIDE}/") for path in files.files if path.startswith(f"{OUTSIDE}/")),
    )


def _converted(recognised: RecognisedFormat, lying: ProblemFolder) -> ConvertedProblem:
    try:
        return recognised.format.convert(lying)
    except ConversionError as error:
        raise InvalidProblemError(error.complaints) from error


def _in_own_form(converted: ConvertedProblem) -> Mapping[str, bytes]:
    """The files of a converted problem, its document among them; what was named of it now stands there."""
    if not converted.document:
        return converted.files
    named = json.loads(converted.files.get(PROJECT_FILE, b"{}"))
    kept = {key: value for key, value in named.items() if key in (PYTHON, FOLDER)}
    files = {path: content for path, content in converted.files.items() if path != PROJECT_FILE}
    files |= {FILE: toml_text(converted.document).encode()}
    files |= {PROJECT_FILE: (json.dumps(kept, sort_keys=True) + "\n").encode()} if kept else {}
    return dict(sorted(files.items()))


def _from_folder(spec: EvaluatorSpec, folder: str) -> EvaluatorSpec:
    """An evaluator whose relative paths are written from the root on."""

    def full(paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(os.path.join(folder, path) if lies_relative(path) else path for path in paths)

    return replace(spec, read=full(spec.read), scorer_read=full(spec.scorer_read), path=full(spec.path))
