"""Repositories: the commit that a problem begins from, and over which the changed files of a program lie."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from evolve.errors import ProblemError, ProgramError
from evolve.program import Program

# In every program of a repository: its commit, and the files of the commit that it removes.
MANIFEST = ".evolve/base"
MAX_PATTERNS, MAX_PATTERN = 100, 200
SHORT_COMMIT = 12
_COMMIT, _REMOVED = "commit ", "removed "
# Folders that hold no file of a program, in any case of letters: some file systems do not tell them apart.
_CLOSED = (".git", ".evolve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A commit and the rules of what may change in it.

    A program holds the files that it changes or adds, and a manifest. Every other file is as in the commit.

    Attributes:
        commit: its full id.
        mutable: patterns of paths that may change; `*` stays within a folder, `**` does not, and a folder stands for
            everything in it.
        immutable: patterns of paths that may not, though `mutable` names them.
        sizes: bytes of each file of the commit, by path.
        texts: text of the files that may change, and of those in `focus`, as far as they are text.
        focus: paths that prompts show first.
        contents: of every file of the commit, by path; empty where nobody needs more than its texts.
        executable: paths whose owner may run them.
    """

    commit: str
    mutable: tuple[str, ...]
    immutable: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict, repr=False)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    focus: tuple[str, ...] = ()
    contents: Mapping[str, bytes] = field(default_factory=dict, repr=False, compare=False)
    executable: frozenset[str] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        if not self.mutable:
            raise ProblemError('repository: mutable is empty: name what may change, such as mutable = ["src/**/*.py"]')
        for pattern in (*self.mutable, *self.immutable):
            check_pattern(pattern)

    @property
    def short_commit(self) -> str:
        """The beginning of the commit's id, for people."""
        return self.commit[:SHORT_COMMIT]

    def seed(self) -> Program:
        """The commit as it is, as a program."""
        return self.program({}, ())

    def program(self, changed: Mapping[str, str], removed: Iterable[str]) -> Program:
        """The program of some changes.

        Args:
            changed: text of files that differ from the commit or are new. Those that equal it count for nothing.
            removed: files of the commit that are gone. Others count for nothing.

        Raises:
            ProgramError: a path or a text is none of a program.
        """
        gone = sorted(path for path in set(removed) if path in self.sizes and path not in changed)
        kept = {path: text for path, text in changed.items() if self.texts.get(path) != text}
        lines = [f"{_COMMIT}{self.commit}", *(f"{_REMOVED}{path}" for path in gone)]
        return Program.of({**kept, MANIFEST: "\n".join(lines) + "\n"})

    def text(self, program: Program, path: str) -> str | None:
        """The text of a file as a program has it. None: it has no such file, or it is no text."""
        changed = changed_files(program)
        if path in changed:
            return changed[path]
        return None if path in removed_files(program) else self.texts.get(path)

    def paths(self, program: Program) -> list[str]:
        """The files of a program, those of the commit included."""
        gone = set(removed_files(program))
        return sorted({*(path for path in self.sizes if path not in gone), *changed_files(program)})

    def view(self, program: Program, characters: int) -> dict[str, str]:
        """The files of a program that may change, the ones that matter first, up to a number of characters."""
        changed, gone = changed_files(program), set(removed_files(program))
        names = dict.fromkeys((*changed, *self.focus, *sorted(self.texts)))
        found: dict[str, str] = {}
        for path in names:
            text = changed.get(path, self.texts.get(path))
            if text is None or path in gone or not self.may_change(path) or len(text) > characters:
                continue
            found[path] = text
            characters -= len(text)
        return found

    def sides(self, before: Program, after: Program) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """The files in which two programs may differ, as each of them has them, by path."""
        named = sorted({path for one in (before, after) for path in (*changed_files(one), *removed_files(one))})

        def side(program: Program) -> list[tuple[str, str]]:
            texts = ((path, self.text(program, path)) for path in named)
            return [(path, text) for path, text in texts if text is not None]

        return side(before), side(after)

    def may_change(self, path: str) -> bool:
        """Whether the rules let a path change."""
        return not self.complaint(path)

    def complaint(self, path: str) -> str:
        """Why a path may not change, as a sentence; empty: it may."""
        try:
            Program.of({path: ""})
        except ProgramError:
            plain = False
        else:
            plain = path.isprintable()  # a line break would write a line of the manifest
        if not plain:
            return f"{path[:MAX_PATTERN]!r} is not a plain path inside the repository"
        closed = next((part for part in path.split("/") if part.casefold() in _CLOSED), "")
        if closed:
            return f"{path} is inside of {closed}, which is closed"
        if not _matches(self.mutable, path):
            return f"{path} may not change: the mutable paths are {', '.join(self.mutable)}"
        if _matches(self.immutable, path):
            return f"{path} may not change: it is one of the immutable paths {', '.join(self.immutable)}"
        return ""

    def require_program(self, program: Program) -> None:
        """Check that a program changes nothing else than it may, and lies over this commit.

        Raises:
            ProgramError: it does not; the text is one sentence.
        """
        files, gone = dict(program.files), removed_files(program)
        if files.get(MANIFEST, "").partition("\n")[0] != f"{_COMMIT}{self.commit}":
            raise ProgramError(f"the program does not lie over the commit {self.short_commit}")
        changed = changed_files(program)
        for path in (*changed, *gone):
            if complaint := self.complaint(path):
                raise ProgramError(complaint)
        if clash := self._clash(changed, gone):
            raise ProgramError(f"{clash[0]} cannot exist beside {clash[1]}")

    def _clash(self, changed: Mapping[str, str], gone: Sequence[str]) -> tuple[str, str] | None:
        """A file that is added and a file that is in its way: one would be the folder of the other."""
        added = [path for path in changed if path not in self.sizes]
        if not added:
            return None
        files = (self.sizes.keys() - set(gone)) | changed.keys()
        folders = {folder: path for path in files for folder in _folders(path)}
        for path in added:
            if path in folders:
                return path, folders[path]
            if (upper := next((folder for folder in _folders(path) if folder in files), None)) is not None:
                return path, upper
        return None


def changed_files(program: Program) -> dict[str, str]:
    """The files that a program of a repository changes or adds."""
    return {path: text for path, text in program.files if path != MANIFEST}


def removed_files(program: Program) -> tuple[str, ...]:
    """The files of the commit that a program of a repository removes."""
    lines = dict(program.files).get(MANIFEST, "").splitlines()
    return tuple(line.removeprefix(_REMOVED) for line in lines if line.startswith(_REMOVED))


def base_commit(files: Mapping[str, str]) -> str:
    """The commit under the files of a program; empty: it is of no repository."""
    first = files.get(MANIFEST, "").partition("\n")[0]
    return first.removeprefix(_COMMIT) if first.startswith(_COMMIT) else ""


def check_pattern(pattern: str) -> None:
    """Check a pattern of paths.

    Raises:
        ProblemError: it is empty, too long, or leaves the repository.
    """
    parts = pattern.rstrip("/").split("/")
    if not pattern or len(pattern) > MAX_PATTERN or pattern.startswith("/") or {"", ".", ".."} & set(parts):
        raise ProblemError(
            f"repository: {pattern[:80]!r} is not a pattern of paths: write it relative to the repository, such as"
            " src/**/*.py"
        )


def matches_any(patterns: Sequence[str], path: str) -> bool:
    """Whether a path matches one of some patterns."""
    return _matches(tuple(patterns), path)


def _folders(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


@lru_cache(maxsize=64)
def _expression(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{_translated(pattern.rstrip('/'))})(?:/.*)?" for pattern in patterns), re.DOTALL)


def _matches(patterns: tuple[str, ...], path: str) -> bool:
    return bool(patterns) and _expression(patterns).fullmatch(path) is not None


def _translated(pattern: str) -> str:
    words = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    signs = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(signs.get(word, re.escape(word)) for word in words)
