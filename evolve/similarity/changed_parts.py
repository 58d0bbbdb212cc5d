"""What a child changed of its parent: its constants, its structure, or both."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from evolve.program import Program
from evolve.repository import Repository

CONSTANTS, STRUCTURE, BOTH = "constants", "structure", "both"
_NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
# Beyond it lines are not aligned, which takes time by the square of their number: the structure is what changed.
_MAX_LINES = 400


def changed_parts(parent: Program, child: Program, repository: Repository | None = None) -> str:
    """`constants` where nothing but numbers differs, `structure` where none does in a line that stayed, else `both`.

    Lines are compared with a mark in the place of each number, and blank ones not at all. Empty: nothing else differs.
    Programs over the commit of a repository are compared as they lie over it.
    """
    sides = repository.sides(parent, child) if repository else (parent.files, child.files)
    before, after = map(dict, sides)
    found = {part for path in before | after for part in _parts(before.get(path), after.get(path))}
    return BOTH if len(found) == 2 else next(iter(found), "")


def _parts(before: str | None, after: str | None) -> Iterator[str]:
    if before == after:
        return
    if before is None or after is None:
        yield STRUCTURE
        return
    old, new = _differing(_lines(before), _lines(after))
    shapes = [_shape(line) for line in old], [_shape(line) for line in new]
    if shapes[0] == shapes[1]:
        if old != new:
            yield CONSTANTS
        return
    yield STRUCTURE
    if max(len(old), len(new)) <= _MAX_LINES:
        blocks = SequenceMatcher(None, *shapes, autojunk=False).get_matching_blocks()
        if any(old[block.a : block.a + block.size] != new[block.b : block.b + block.size] for block in blocks):
            yield CONSTANTS


def _lines(text: str) -> list[str]:
    """Without blank lines and spaces at the end, which answers often leave out."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _differing(old: Sequence[str], new: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The lines between the first and the last that differ."""
    shorter = min(len(old), len(new))
    head = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    rest = shorter - head
    tail = next((place for place in range(rest) if old[-1 - place] != new[-1 - place]), rest)
    return old[head : len(old) - tail], new[head : len(new) - tail]


def _shape(line: str) -> str:
    return _NUMBER.sub("#", line)
