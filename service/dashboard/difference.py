"""Differences of candidates as pages show them: lines side by side or below each other, with what is equal folded."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from service.schemas.candidates import FileChange

MAX_LINES = 3000
# A stretch longer than this is named and not shown.
MAX_FOLDED = 1000
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_END = "\\ No newline at end of file"
Kind = Literal["same", "added", "removed"]
_KINDS: dict[str, Kind] = {" ": "same", "+": "added", "-": "removed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """One line of a comparison. `old`, `new`: its number on either side, where it is there."""

    kind: Kind
    text: str
    old: int | None = None
    new: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffSection:
    """Lines that stand together.

    Attributes:
        folded: whether nothing changed in them.
        count: how many there are; a very long folded stretch has no lines to show.
    """

    folded: bool
    count: int
    lines: Sequence[DiffLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDifference:
    """What changed in one file.

    Attributes:
        stretches: changed and folded ones in turn; None where too much differs to be compared.
        omitted: lines of the comparison that the page does not bear.
    """

    path: str
    change: str
    added: int | None
    removed: int | None
    stretches: Sequence[DiffSection] | None
    omitted: int


def differences(
    changes: Sequence[FileChange], texts: Mapping[str, str], maximum: int = MAX_LINES
) -> list[FileDifference]:
    """Changes of several files, with as many lines as a page bears of all of them together: the first ones first.

    Args:
        changes: of the API.
        texts: of the files after the changes, by path; of those that are not here no folded stretch is filled.
        maximum: lines in all.
    """
    found = []
    for change in changes:
        found.append(difference(change, texts.get(change.path), maximum))
        maximum -= sum(stretch.count for stretch in found[-1].stretches or () if not stretch.folded)
    return found


def difference(change: FileChange, text: str | None = None, maximum: int = MAX_LINES) -> FileDifference:
    """A change of the API as stretches of lines.

    Args:
        change: with its unified diff.
        text: of the file after the change, from which folded stretches are filled; None: they are left out.
        maximum: lines beside the folded ones.
    """
    stretches, omitted = None, 0
    if change.diff is not None:
        hunks = list(_hunks(change.diff))
        stretches, omitted = _bounded(hunks, maximum)
        stretches = list(_filled(stretches, None if text is None or omitted else lines_of(text)))
    return FileDifference(
        path=change.path,
        change=change.change,
        added=change.added,
        removed=change.removed,
        stretches=stretches,
        omitted=omitted,
    )


def pairs(lines: Sequence[DiffLine]) -> Iterator[tuple[DiffLine | None, DiffLine | None]]:
    """Lines side by side: what was removed stands beside what was added in its place."""
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    for line in lines:
        if line.kind == "same":
            yield from zip_longest(removed, added)
            removed, added = [], []
            yield line, line
        else:
            (removed if line.kind == "removed" else added).append(line)
    yield from zip_longest(removed, added)


def lines_of(text: str) -> list[str]:
    """The lines of a text, as comparisons count them."""
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines


def _hunks(diff: str) -> Iterator[DiffSection]:
    # By the counts of each head: a line of a candidate may look like any line of a diff.
    rows = iter(diff.split("\n"))
    for row in rows:
        head = _HUNK.match(row)
        if head is None:
            continue
        old, old_left, new, new_left = (1 if part is None else int(part) for part in head.groups())
        lines: list[DiffLine] = []
        while old_left > 0 or new_left > 0:
            row = next(rows, "")
            if row == _NO_END:
                continue
            kind = _KINDS.get(row[:1], "same")
            here = DiffLine(
                kind=kind, text=row[1:], old=None if kind == "added" else old, new=None if kind == "removed" else new
            )
            lines.append(here)
            old, old_left = (old, old_left) if kind == "added" else (old + 1, old_left - 1)
            new, new_left = (new, new_left) if kind == "removed" else (new + 1, new_left - 1)
        yield DiffSection(folded=False, count=len(lines), lines=lines)


def _bounded(hunks: Sequence[DiffSection], maximum: int) -> tuple[list[DiffSection], int]:
    room, kept = maximum, []
    for hunk in hunks:
        lines = hunk.lines[:room]
        room -= len(lines)
        if lines:
            kept.append(DiffSection(folded=False, count=len(lines), lines=lines))
    return kept, sum(hunk.count for hunk in hunks) - (maximum - room)


def _filled(hunks: Sequence[DiffSection], text: Sequence[str] | None) -> Iterator[DiffSection]:
    """The hunks with what is equal between them; with no text, only the gaps whose length the hunks tell."""
    old = new = 1
    for hunk in hunks:
        first_old, first_new = _begin(hunk, old, new)
        if gap := min(first_old - old, first_new - new):
            yield _folded(old, new, gap, text)
        yield hunk
        old = first_old + sum(line.kind != "added" for line in hunk.lines)
        new = first_new + sum(line.kind != "removed" for line in hunk.lines)
    if text is not None and hunks and (rest := len(text) - new + 1) > 0:
        yield _folded(old, new, rest, text)


def _begin(hunk: DiffSection, old: int, new: int) -> tuple[int, int]:
    """The numbers on both sides at which a hunk begins."""
    first_old = next((line.old for line in hunk.lines if line.old is not None), None)
    first_new = next((line.new for line in hunk.lines if line.new is not None), None)
    if first_old is None:
        first_old = old if first_new is None else old + first_new - new
    if first_new is None:
        first_new = new + first_old - old
    return first_old, first_new


def _folded(old: int, new: int, count: int, text: Sequence[str] | None) -> DiffSection:
    shown = text is not None and count <= MAX_FOLDED
    lines = [
        DiffLine(kind="same", text=text[new + at - 1], old=old + at, new=new + at)
        for at in range(count)
        if shown and text is not None
    ]
    return DiffSection(folded=True, count=count, lines=lines)
