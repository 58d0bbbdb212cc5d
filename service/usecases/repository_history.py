"""The lineage of a run over a repository as a git history on top of its commit."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from evolve.program import Program
from evolve.repository import changed_files, removed_files
from service.errors import ConflictError
from service.problems.repository.origin import RepositoryOrigin
from service.process.git import fast_import, git
from service.usecases.git_history import History, commit_lines, data, finish_history, make_history, quoted

BASE = "refs/evolve/base"
_DATE = "0 +0000"


def write_repository_history(
    folder: Path, candidates: Iterable[Mapping[str, Any]], best: str | None, origin: RepositoryOrigin, *, local: bool
) -> int:
    """Write a new repository with the real commit and its history, where it is at hand, and the candidates on top.

    Args:
        folder: missing or empty.
        candidates: as an export gives them, parents before their children.
        best: id of the best candidate; None: there is none.
        origin: of the base.
        local: whether the run is this user's own, so that the folder that it names may be read.

    Returns:
        The number of commits of candidates.

    Raises:
        ConflictError: the folder holds something, or git refuses.
        UsageError: there is no git.
    """
    history = make_history(folder)
    commit, prefix = _fetched(folder, origin) if local else None, origin.prefix
    if commit is None:
        fast_import(folder, _base(origin))
        commit, prefix = BASE, ""
    base = git(folder, ["rev-parse", f"{commit}^{{commit}}"]).strip()
    git(folder, ["update-ref", BASE, base])
    tree = git(folder, ["rev-parse", f"{base}^{{tree}}"]).strip()

    def files(candidate: Mapping[str, Any]) -> Iterator[bytes]:
        yield f'M 040000 {tree} ""\n'.encode()
        yield from _changes(Program.of(candidate["files"]), prefix, origin.executable)

    fast_import(folder, _stream(candidates, history, base, files))
    return finish_history(folder, history, best)


def _fetched(folder: Path, origin: RepositoryOrigin) -> str | None:
    """The commit, fetched from the repository that it was read from. None: it is not there any more."""
    source = Path(origin.folder)
    if not source.is_absolute() or not source.is_dir():
        return None
    with suppress(ConflictError):
        top = git(source, ["rev-parse", "--path-format=absolute", "--git-common-dir"]).removesuffix("\n")
        git(folder, ["fetch", "--quiet", "--no-tags", f"file://{top}", origin.commit])
        return origin.commit
    return None


def _base(origin: RepositoryOrigin) -> Iterator[bytes]:
    """The files of the base as a commit without its history."""
    yield f"commit {BASE}\ncommitter evolve <evolve@localhost> {_DATE}\n".encode()
    yield data(f"Files of the commit {origin.commit}\n".encode())
    for path, content in origin.files.items():
        mode = "100755" if path in origin.executable else "100644"
        yield f"M {mode} inline {quoted(path)}\n".encode()
        yield data(content)


def _stream(
    candidates: Iterable[Mapping[str, Any]],
    history: History,
    base: str,
    files: Callable[[Mapping[str, Any]], Iterator[bytes]],
) -> Iterator[bytes]:
    for candidate in candidates:
        if lines := commit_lines(candidate, history, root=base):
            yield from lines
            yield from files(candidate)


def _changes(program: Program, prefix: str, executable: frozenset[str]) -> Iterator[bytes]:
    for path in removed_files(program):
        yield f"D {quoted(prefix + path)}\n".encode()
    for path, text in changed_files(program).items():
        mode = "100755" if path in executable else "100644"
        yield f"M {mode} inline {quoted(prefix + path)}\n".encode()
        yield data(text.encode())
