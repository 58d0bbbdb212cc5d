"""A program of a repository in a prompt: what it changes, the files that matter, and the names of the rest."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from evolve.program import Program
from evolve.prompt.templates import fill
from evolve.prompt.text import fenced, fenced_source, inert, one_line
from evolve.repository import Repository, changed_files, removed_files

MAX_LISTED, MAX_LEFT_OUT = 120, 12
# Shares of the room of a prompt: for the files of the parent, and for the listing of the repository.
FILES_SHARE, LISTING_SHARE = 0.6, 0.1


@dataclass(slots=True)
class _Room:
    """Tokens that the files of a repository may still take."""

    left: float
    count: Callable[[str], int]
    shown: list[str] = field(default_factory=list)

    def take(self, text: str) -> bool:
        tokens = self.count(text)
        if tokens > self.left:
            return False
        self.left -= tokens
        self.shown.append(text)
        return True


def parent_text(repository: Repository, program: Program, language: str, room: int, count: Callable[[str], int]) -> str:
    """The parent as the prompt shows it: its listing, then files, within a number of tokens.

    Changed files come first, then those that the problem names and those that its command runs, then the other files
    that may change. A last line says which of these are left out.

    Args:
        repository: of the problem.
        program: the parent.
        language: of the problem.
        room: tokens that are left for everything of the prompt that varies.
        count: counts the tokens of a text.
    """
    listing = _Room(room * LISTING_SHARE, count)
    head = _head(repository, program)
    lines = _listing(repository, program)
    while not listing.take("\n".join(lines)) and len(lines) > 1:
        lines = [*lines[: len(lines) // 2], "..."]
    files = _Room(room * FILES_SHARE, count)
    left_out = [path for path in _ordered(repository, program) if not _take(files, repository, program, path, language)]
    rest = _left_out(left_out)
    return "\n".join([head, fenced("\n".join(lines)), "", *files.shown, *([rest] if rest else [])])


def changes_text(repository: Repository, program: Program) -> str:
    """Another program of a prompt: the difference between the commit and it."""
    before, after = repository.sides(repository.seed(), program)
    old, new = dict(before), dict(after)
    found: list[str] = []
    for path in sorted(old.keys() | new.keys()):
        lines = difflib.unified_diff(
            inert(old.get(path, "")).splitlines(),
            inert(new.get(path, "")).splitlines(),
            f"a/{one_line(path)}" if path in old else "/dev/null",
            f"b/{one_line(path)}" if path in new else "/dev/null",
            lineterm="",
        )
        found += lines
    return fenced("\n".join(found), "diff") if found else "It is the commit as it is."


def rules_text(repository: Repository, templates: Mapping[str, str]) -> str:
    """What the prompt says about the paths of answers."""
    immutable = f", but for {_quoted(repository.immutable)}" if repository.immutable else ""
    return fill(templates, "repository", mutable=_quoted(repository.mutable) + immutable)


def _quoted(patterns: Iterable[str]) -> str:
    return ", ".join(f"`{one_line(pattern)}`" for pattern in patterns)


def _head(repository: Repository, program: Program) -> str:
    changed, removed = changed_files(program), removed_files(program)
    parts = [f"It is the commit {repository.short_commit} of a repository"]
    if changed:
        parts.append(f"with changes of {_quoted(list(changed)[:MAX_LEFT_OUT])}")
    if removed:
        parts.append(f"without {_quoted(removed[:MAX_LEFT_OUT])}")
    return " ".join(parts) + ". Its files:"


def _listing(repository: Repository, program: Program) -> list[str]:
    """Paths of all files, those that may change marked; folders where nothing may change as one line."""
    lines: dict[str, int] = {}
    for path in repository.paths(program):
        if repository.may_change(path):
            lines[f"{one_line(path)} (may change)"] = 0
        elif path in repository.focus or "/" not in path:
            lines[one_line(path)] = 0
        else:
            folder = f"{one_line(path.split('/')[0])}/"
            lines[folder] = lines.get(folder, 0) + 1
    shown = [f"{line} ({count} files)" if count else line for line, count in lines.items()]
    more = [f"... and {len(shown) - MAX_LISTED} more"] if len(shown) > MAX_LISTED else []
    return shown[:MAX_LISTED] + more


def _ordered(repository: Repository, program: Program) -> list[str]:
    gone = set(removed_files(program))
    mutable = sorted(path for path in repository.texts if repository.may_change(path))
    return [path for path in dict.fromkeys((*changed_files(program), *repository.focus, *mutable)) if path not in gone]


def _take(room: _Room, repository: Repository, program: Program, path: str, language: str) -> bool:
    text = repository.text(program, path)
    fixed = "" if repository.may_change(path) else " (may not change)"
    spoken = language if path.endswith((".py", ".pyi")) or language != "python" else ""
    return text is not None and room.take(f"FILE: {one_line(path)}{fixed}\n{fenced_source(text, spoken)}")


def _left_out(paths: list[str]) -> str:
    if not paths:
        return ""
    more = f" and {len(paths) - MAX_LEFT_OUT} more" if len(paths) > MAX_LEFT_OUT else ""
    return f"Left out, because they do not fit: {_quoted(paths[:MAX_LEFT_OUT])}{more}."
