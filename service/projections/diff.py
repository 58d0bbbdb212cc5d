"""What changed from one program to another."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

NOWHERE = "/dev/null"
MAX_LINES = 20_000
Files = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """What changed in one file.

    Attributes:
        change: added, removed or changed.
        added, removed: lines; None where nobody compared them.
        text: unified diff; None when too many lines differ to compare them in reasonable time.
    """

    path: str
    change: str
    added: int | None
    removed: int | None
    text: str | None


def file_diffs(before: Files, after: Files, before_name: str, after_name: str) -> Iterator[FileDiff]:
    """The diff of every file that differs, in order of the paths."""
    for path, old, new in _files(before, after):
        change = "added" if old is None else "removed" if new is None else "changed"
        if len(old or []) + len(new or []) > MAX_LINES and change == "changed":
            yield FileDiff(path=path, change=change, added=None, removed=None, text=None)
            continue
        added, removed = _tally(old or [], new or [])
        text = "".join(_unified(path, old, new, before_name, after_name))
        yield FileDiff(path=path, change=change, added=added, removed=removed, text=text)


def unified(before: Files, after: Files, before_name: str, after_name: str) -> Iterator[str]:
    """The lines of a unified diff over all files, each with its line end."""
    for path, old, new in _files(before, after):
        yield from _unified(path, old, new, before_name, after_name)


def tally(before: Files, after: Files) -> tuple[int, int]:
    """Lines added and removed over all files."""
    counts = [_tally(old or [], new or []) for _, old, new in _files(before, after)]
    return sum(added for added, _ in counts), sum(removed for _, removed in counts)


def _unified(
    path: str, old: list[str] | None, new: list[str] | None, before_name: str, after_name: str
) -> Iterator[str]:
    return (
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(
            old or [],
            new or [],
            NOWHERE if old is None else f"{before_name}/{path}",
            NOWHERE if new is None else f"{after_name}/{path}",
        )
    )


def _tally(old: list[str], new: list[str]) -> tuple[int, int]:
    added = removed = 0
    for tag, old_from, old_to, new_from, new_to in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if tag != "equal":
            added += new_to - new_from
            removed += old_to - old_from
    return added, removed


def _files(before: Files, after: Files) -> Iterator[tuple[str, list[str] | None, list[str] | None]]:
    old, new = dict(before), dict(after)
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) != new.get(path):
            yield path, _lines(old.get(path)), _lines(new.get(path))


def _lines(text: str | None) -> list[str] | None:
    return None if text is None else [line for line in re.split("(?<=\n)", text) if line]
