"""Repair of a failed program: it undoes a part of the program's changes, towards a working program."""

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from service.policy.syntax import tune
from service.policy.syntax.mutation import mutate
from service.policy.syntax.source import Draft, SourceText, TextChange

# Comparing lines takes time by the square of their number where they repeat.
_MAX_LINES = 2000


def repair(source: SourceText, others: Sequence[SourceText], rng: np.random.Generator) -> Draft | None:
    """Undo a part of the difference to the nearest working program, or mutate the program."""
    way = rng.random()
    near = _nearest(source, others)
    if near is None or way >= 0.8:
        return mutate(source, others, rng)
    if way < 0.5:
        return _undo(source, near, rng)
    return tune.blend(source, [near], rng)


def _nearest(source: SourceText, others: Sequence[SourceText]) -> SourceText | None:
    """The program that shares most lines. Of equals the first, because it is the origin."""
    lines = set(source.text.split("\n"))
    return max(others, key=lambda other: len(lines & set(other.text.split("\n"))), default=None)


def _undo(source: SourceText, near: SourceText, rng: np.random.Generator) -> Draft | None:
    """Take some stretches of lines in which they differ from the other: not all, for that would be the other."""
    mine, theirs = source.text.splitlines(keepends=True), near.text.splitlines(keepends=True)
    if max(len(mine), len(theirs)) > _MAX_LINES:
        return None
    starts = [0]
    for line in mine:
        starts.append(starts[-1] + len(line))
    changes = [
        TextChange(starts[low], starts[high], "".join(theirs[from_:to]))
        for kind, low, high, from_, to in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
        if kind != "equal" and source.editable(starts[low], starts[high])
    ]
    if len(changes) < 2:
        return None
    count = int(rng.integers(1, len(changes)))
    chosen = tuple(changes[index] for index in sorted(rng.choice(len(changes), count, replace=False)))
    return Draft(chosen, f"undid {count} of {len(changes)} changes: {source.tell(chosen[0])}")
