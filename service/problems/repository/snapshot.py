"""A commit of a git repository as files in memory, without its history."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from evolve.problem_formats import FILE
from evolve.repository import matches_any
from service.errors import ConflictError, InvalidProblemError, UsageError
from service.problems.folder import MAX_BYTES, MAX_FILES
from service.process.git import UNTRUSTED, git, git_top, read_blobs

_FILE, _PROGRAM, _LINK, _SUBMODULE = "100644", "100755", "120000", "160000"
_MAX_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The files of a commit, or of a folder of it.

    Attributes:
        commit: its full id.
        folder: where they lie in the working tree.
        prefix: the path of that folder in the repository, with a slash at its end; empty: it is the top.
        files: content by path relative to the folder.
        executable: paths whose owner may run them.
        warnings: a sentence for each thing that is not as in the repository.
    """

    commit: str
    folder: Path
    prefix: str
    files: dict[str, bytes] = field(repr=False)
    executable: frozenset[str]
    warnings: tuple[str, ...] = ()


class _Entry(NamedTuple):
    mode: str
    blob: str
    size: int
    path: str


def take_snapshot(folder: Path, commit: str, exclude: Sequence[str]) -> Snapshot:
    """Read the files of a folder in a commit.

    Links to files of the commit become files. Other links and submodules are left out, with a warning.

    Args:
        folder: in the repository, or its top.
        commit: a name that git knows.
        exclude: patterns of paths that are left out.

    Raises:
        InvalidProblemError: there is no such repository or commit, or it is too large.
    """
    try:
        if not folder.is_dir() or git_top(folder) is None:
            raise InvalidProblemError([f"{FILE}: repository.path: {folder} is not in a git repository"])
        prefix = git(folder, ["rev-parse", "--show-prefix"]).removesuffix("\n")
        full = git(folder, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}"]).strip()
    except UsageError as error:
        raise InvalidProblemError([f"{FILE}: repository: {error}"]) from error
    except ConflictError as error:
        raise InvalidProblemError([_no_commit(folder, commit)]) from error
    entries = [entry for entry in _entries(folder, full, prefix) if not matches_any(exclude, entry.path)]
    if odd := next((entry.path for entry in entries if not _is_name(entry.path)), None):
        raise InvalidProblemError(
            [f"{FILE}: repository: a problem cannot hold the name {odd!r}: rename it, or exclude it"]
        )
    _require_size(entries)
    reader = _SnapshotReader(folder, entries)
    files = reader.files()
    if (total := sum(map(len, files.values()))) > MAX_BYTES:
        size = f"{total / 1e6:.0f} MB, its links included, and a problem holds at most {MAX_BYTES >> 20} MB"
        raise InvalidProblemError([f"{FILE}: repository: the commit has {size}: leave out links with exclude"])
    return Snapshot(
        commit=full,
        folder=folder,
        prefix=prefix,
        files=files,
        executable=frozenset(entry.path for entry in entries if entry.mode == _PROGRAM),
        warnings=(*reader.warnings(), *_uncommitted(folder, reader.plain() if commit == "HEAD" else {})),
    )


def _no_commit(folder: Path, commit: str) -> str:
    words = f"{FILE}: repository.commit: {folder} has no commit"
    try:
        git(folder, ["rev-parse", "--verify", "--quiet", "HEAD"])
    except ConflictError:
        return f"{words} yet: commit your files with git add and git commit"
    return f"{words} {commit[:100]!r}: name a branch, a tag or an id that git log shows there"


def _is_name(path: str) -> bool:
    """Whether a problem can hold a path. Git's own text for a name that is not UTF-8 is none."""
    return "\\" not in path and path.isprintable() and "\N{REPLACEMENT CHARACTER}" not in path


def _entries(folder: Path, commit: str, prefix: str) -> Iterator[_Entry]:
    try:
        git(folder, ["rev-parse", "--verify", "--quiet", f"{commit}:{prefix}"])
    except ConflictError as error:
        raise InvalidProblemError([f"{FILE}: repository.path: the commit has no folder {prefix}"]) from error
    try:
        words = ["ls-tree", "-r", "-z", "-l", "--full-tree", f"{commit}:{prefix}"]
        listed = git(folder, words, environment=UNTRUSTED)
    except ConflictError as error:
        raise InvalidProblemError([_lacking(commit)]) from error
    for line in filter(None, listed.split("\0")):
        about, _, path = line.partition("\t")
        mode, _, blob, size = about.split()
        if size == "BAD":
            raise InvalidProblemError([_lacking(commit)])
        yield _Entry(mode, blob, 0 if size == "-" else int(size), path)


def _lacking(commit: str) -> str:
    return f"{FILE}: repository: this clone lacks files of {commit}: fetch it with git fetch --refetch, or check it out"


def _require_size(entries: Sequence[_Entry]) -> None:
    total = sum(entry.size for entry in entries)
    if total <= MAX_BYTES and len(entries) < MAX_FILES:
        return
    largest = sorted(entries, key=lambda entry: -entry.size)[:_MAX_NAMED]
    names = ", ".join(f"{entry.path} ({entry.size / 1e6:.1f} MB)" for entry in largest)
    raise InvalidProblemError(
        [
            f"{FILE}: repository: the commit has {len(entries)} files and {total / 1e6:.0f} MB, and a problem holds at"
            f" most {MAX_FILES} files and {MAX_BYTES >> 20} MB: leave out what the evaluation does not need with"
            f" exclude. The largest files are {names}"
        ]
    )


class _SnapshotReader:
    """The contents of a commit's entries."""

    def __init__(self, folder: Path, entries: Sequence[_Entry]) -> None:
        blobs = [entry for entry in entries if entry.mode != _SUBMODULE]
        contents = zip(blobs, read_blobs(folder, [entry.blob for entry in blobs]), strict=True)
        self._read = {entry.path: (entry.mode, content) for entry, content in contents}
        self._submodules = [entry.path for entry in entries if entry.mode == _SUBMODULE]
        self._lost: list[str] = []

    def files(self) -> dict[str, bytes]:
        found = {}
        for path, (mode, content) in self._read.items():
            target = self._target(path) if mode == _LINK else content
            if target is None:
                self._lost.append(path)
            else:
                found[path] = target
        return found

    def plain(self) -> dict[str, bytes]:
        """The contents of what is no link."""
        return {path: content for path, (mode, content) in self._read.items() if mode != _LINK}

    def warnings(self) -> Iterator[str]:
        for kind, paths in (("submodules", self._submodules), ("links that lead to no file of it", self._lost)):
            if paths:
                more = f" and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else ""
                yield f"the commit's {kind} are left out: {', '.join(paths[:_MAX_NAMED])}{more}"

    def _target(self, path: str) -> bytes | None:
        """The content that a link leads to."""
        for _ in range(8):
            mode, content = self._read.get(path, ("", b""))
            if mode != _LINK:
                return content if mode else None
            path = _joined(PurePosixPath(path).parent, content.decode(errors="replace"))
        return None


def _joined(folder: PurePosixPath, target: str) -> str:
    parts: list[str] = []
    for part in (folder / target).parts:
        if part == "..":
            if not parts:
                return ""
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _uncommitted(folder: Path, files: Mapping[str, bytes]) -> Iterator[str]:
    """Files that differ in the working tree. Git is not asked: `git status` starts programs that a repository names."""
    changed = [path for path, content in files.items() if _differs(folder / path, content)]
    if changed:
        more = f" and {len(changed) - _MAX_NAMED} more" if len(changed) > _MAX_NAMED else ""
        yield f"changes that are not committed are left out: {', '.join(changed[:_MAX_NAMED])}{more}"


def _differs(place: Path, content: bytes) -> bool:
    try:
        # What a stranger packed may be a pipe, which never ends, or a link to one.
        if place.is_symlink() or not place.is_file() or place.stat().st_size > MAX_BYTES:
            return True
        return place.read_bytes().replace(b"\r\n", b"\n") != content.replace(b"\r\n", b"\n")
    except OSError:
        return True
