"""The base of a problem's programs among its files: written down from a commit, and read back."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evolve.errors import ProblemError, ProgramError
from evolve.problem import BUILT_IN_MEASURES
from evolve.problem_formats import FILE
from evolve.program import MAX_PROGRAM_CHARACTERS, Program
from evolve.repository import MANIFEST, Repository, matches_any
from service.errors import InvalidProblemError
from service.problems.command import command_scorer
from service.problems.command.command_scorer.tree import FOLDER, SETTINGS, TREE
from service.problems.documents import DocumentError, read_document
from service.problems.folder import Folder
from service.problems.repository.focus import MAX_CHARACTERS, focus_of, readable
from service.problems.repository.snapshot import Snapshot, take_snapshot
from service.problems.repository.table import RepositoryTable, words_of
from service.problems.sources import language_of

EVALUATOR = f"{FOLDER}/evaluator.py"
# Larger files that nobody edits or runs are links to the read-only base instead of copies.
LINKED_BYTES = 64 * 1024
# Files of a problem that is the top of its repository.
_KEPT = (FILE, "requirements.txt", "evolve-project.json")
_EVALUATOR_TEXT = '''\
"""Lays a program over its commit, runs the command of settings.json there, and reads the scores."""

from pathlib import Path

from command_scorer import tree


def evaluate(program_path):
    return tree.evaluate(program_path, Path(__file__).resolve().parent)


def setup():
    return tree.setup(Path(__file__).resolve().parent)
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBase:
    """The files of a problem with those of its commit, and sentences about files that are not as in the repository."""

    files: Folder
    warnings: tuple[str, ...] = ()


def table_of(files: Folder) -> RepositoryTable | None:
    """The table `[repository]` of a problem. None: it has none, or one that cannot be read, which others tell."""
    try:
        raw = read_document(FILE, files.files.get(FILE, b"")).get("repository")
        return None if raw is None else RepositoryTable.model_validate(raw)
    except (DocumentError, ValidationError):
        return None


def with_base(files: Folder, top: Path) -> WrittenBase:
    """A problem's folder with the files of its commit; one without a repository, or with its base, as it is.

    Args:
        files: the folder.
        top: where it lies, from which the path of the repository is meant.

    Raises:
        InvalidProblemError: there is no such commit, or it is too large.
    """
    table = table_of(files)
    if table is None or f"{FOLDER}/{SETTINGS}" in files.files or table.complaints():
        return WrittenBase(files=files)
    place = Path(os.path.expanduser(table.path))
    snapshot = take_snapshot(place if place.is_absolute() else top / place, table.commit, table.exclude)
    own = _own_files(files, top.resolve(), snapshot.folder.resolve())
    settings = _settings(table, snapshot, _metrics(files))
    package = Path(command_scorer.__file__).parent
    added = {
        f"{FOLDER}/{SETTINGS}": (json.dumps(settings, indent=1, ensure_ascii=False) + "\n").encode(),
        EVALUATOR: _EVALUATOR_TEXT.encode(),
        **{f"{FOLDER}/command_scorer/{file.name}": file.read_bytes() for file in sorted(package.glob("*.py"))},
        **{f"{FOLDER}/{TREE}/{path}": content for path, content in snapshot.files.items()},
    }
    executable = {f"{FOLDER}/{TREE}/{path}" for path in snapshot.executable}
    written = Folder(
        files=dict(sorted({**own, **added}.items())), executable=files.executable.intersection(own) | executable
    )
    return WrittenBase(files=written, warnings=snapshot.warnings)


def read_repository(files: Folder, table: RepositoryTable, complaints: list[str]) -> Repository | None:
    """The repository of a problem whose folder holds its base. None, with complaints: it cannot be used."""
    found = table.complaints()
    complaints += found
    settings = read_settings(files)
    if settings is None or found:
        if not found:
            complaints.append(
                f"{FILE}: the commit of [repository] is not among the files of the problem: submit it with evolve run"
                " or evolve submit on the machine that has the repository"
            )
        return None
    tree = files.below(f"{FOLDER}/{TREE}")
    evaluate = words_of(table.evaluate)
    shown = sorted(path for path in tree if matches_any(table.show, path))
    focus = list(dict.fromkeys([*shown, *focus_of(evaluate.tokens if evaluate else (), tree)]))
    try:
        bare = Repository(
            commit=str(settings["commit"]),
            mutable=tuple(table.mutable),
            immutable=tuple(table.immutable),
            sizes={path: len(content) for path, content in tree.items()},
            contents=tree,
            executable=_executable(files),
        )
    except ProblemError as error:
        complaints.append(f"{FILE}: {error}")
        return None
    texts = {path: text for path in tree if bare.may_change(path) and (text := _text(tree[path])) is not None}
    if not texts:
        complaints.append(f"{FILE}: repository.mutable matches no text of the commit {bare.short_commit}")
        return None
    texts |= {path: text for path in focus if (text := readable(tree[path])) is not None}
    return replace(bare, texts=texts, focus=tuple(path for path in focus if path in texts))


def _executable(files: Folder) -> frozenset[str]:
    start = f"{FOLDER}/{TREE}/"
    return frozenset(path.removeprefix(start) for path in files.executable if path.startswith(start))


def read_settings(files: Folder) -> Mapping[str, Any] | None:
    """The settings beside a base. None: the problem has none."""
    content = files.files.get(f"{FOLDER}/{SETTINGS}")
    if content is None:
        return None
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("commit"), str):
        raise InvalidProblemError([f"{FOLDER}/{SETTINGS} was changed: remove the folder {FOLDER} of the problem"])
    return found


def seeds_of(repository: Repository, named: Sequence[Program], complaints: list[str]) -> tuple[Program, ...]:
    """The seeds of a problem: the commit as it is, or those that are named, whose files lie over it."""
    found = []
    for seed in named:
        files = dict(seed.files)
        program = seed if MANIFEST in files else repository.program(files, ())
        try:
            repository.require_program(program)
        except ProgramError as error:
            complaints.append(f"{FILE}: seeds: {error}")
        found.append(program)
    return tuple(dict.fromkeys(found)) or (repository.seed(),)


def language_in(repository: Repository) -> str:
    """The language of most files that may change."""
    mutable = [path for path in repository.texts if repository.may_change(path)]
    return language_of(Program.of(dict.fromkeys(mutable or repository.texts, "")))


def _text(content: bytes) -> str | None:
    if len(content) <= MAX_CHARACTERS:
        return readable(content)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text or len(text) > MAX_PROGRAM_CHARACTERS else text


def _own_files(files: Folder, top: Path, repository: Path) -> dict[str, bytes]:
    """The files of a problem without those of the repository, which may lie in its folder or be it."""
    if not repository.is_relative_to(top):
        return dict(files.files)
    inside = repository.relative_to(top).as_posix()
    return {
        path: content
        for path, content in files.files.items()
        if (path in _KEPT or path.startswith("evolve_seeds/") if inside == "." else not path.startswith(f"{inside}/"))
    }


def _settings(table: RepositoryTable, snapshot: Snapshot, metrics: Sequence[str]) -> dict[str, Any]:
    files = snapshot.files
    rules = Repository(commit=snapshot.commit, mutable=tuple(table.mutable), immutable=tuple(table.immutable), sizes={})
    locked = sorted(path for path in files if not rules.may_change(path))
    evaluate, setup = words_of(table.evaluate), words_of(table.setup)
    return {
        "commit": snapshot.commit,
        "folder": str(snapshot.folder.resolve()),
        "prefix": snapshot.prefix,
        "evaluate": list(evaluate.argv) if evaluate else [],
        "setup": list(setup.argv) if setup else [],
        "metrics": list(metrics),
        "locked": locked,
        "links": [path for path in locked if _is_linked(path, files[path]) and path not in snapshot.executable],
    }


def _metrics(files: Folder) -> list[str]:
    """The names of the objectives and of the measures that the command prints."""
    document = read_document(FILE, files.files[FILE])
    tables = [table for key in ("objectives", "measures") for table in document.get(key, []) or []]
    names = [str(table.get("name", "")) for table in tables if isinstance(table, Mapping)]
    return [name for name in dict.fromkeys(names) if name and name not in BUILT_IN_MEASURES]


def _is_linked(path: str, content: bytes) -> bool:
    """Whether a locked file is data: a link to a script would make the script find its neighbours at the base."""
    return len(content) >= LINKED_BYTES and language_of(Program.of({path: ""})) == "text"
