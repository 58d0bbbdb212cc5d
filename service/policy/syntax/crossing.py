"""Crossover of two programs: functions, values, statements and numbers of the second in the place of the first's."""

from collections.abc import Iterable, Sequence

import numpy as np

from service.policy.syntax import structure, tune
from service.policy.syntax.draw import pick
from service.policy.syntax.source import Draft, SourceText, TextChange
from service.policy.syntax.tree import Statement, Tree

_TRIES = 6
_MOVED = frozenset({"Assign", "AugAssign", "AnnAssign", "Expr", "For", "While", "If", "With", "Return"})


def cross(source: SourceText, others: Sequence[SourceText], rng: np.random.Generator) -> Draft | None:
    """Draw what the two exchange; None when this finds nothing here."""
    theirs = pick(others, rng) if others else None
    if theirs is None:
        return None
    if source.tree is None or theirs.tree is None:
        return tune.exchange(source, theirs, rng)
    way = rng.random()
    if way < 0.3:
        return _functions(source, source.tree, theirs, theirs.tree, rng)
    if way < 0.55:
        return _values(source, source.tree, theirs, theirs.tree, rng)
    if way < 0.75:
        return _statement(source, source.tree, theirs, theirs.tree, rng)
    if way < 0.85:
        return structure.exchange(source, source.tree, [theirs], rng)
    return tune.exchange(source, theirs, rng)


def _functions(
    source: SourceText, mine: Tree, theirs: SourceText, other: Tree, rng: np.random.Generator
) -> Draft | None:
    """Uniform crossover: each function that both have is taken from either."""
    pairs = [(mine.functions[name], other.functions[name]) for name in mine.functions if name in other.functions]
    changes = [
        TextChange(here.start, here.end, theirs.text[there.start : there.end])
        for here, there in pairs
        if here.kind == there.kind  # the same indentation
    ]
    return _some(source, changes, "functions", rng)


def _values(source: SourceText, mine: Tree, theirs: SourceText, other: Tree, rng: np.random.Generator) -> Draft | None:
    """Uniform crossover: the value of each variable that both assign is taken from either."""
    changes: list[TextChange] = []
    for name in mine.values:
        if name in other.values:
            draft = structure.put(source, mine.values[name], theirs, other.values[name])
            changes += draft.changes if draft is not None else ()
    return _some(source, changes, "values", rng)


def _statement(
    source: SourceText, mine: Tree, theirs: SourceText, other: Tree, rng: np.random.Generator
) -> Draft | None:
    """Replace a statement by one of its kind from the second parent, or add it beside it."""
    kinds = _by_kind(mine)
    found = _by_kind(other)
    shared = sorted(kinds.keys() & found.keys())
    for _ in range(_TRIES if shared else 0):
        kind = pick(shared, rng)
        here, there = pick(kinds[kind], rng), pick(found[kind], rng)
        text = _indented(theirs.text[there.start : there.end], _indent(source.text, here))
        beside = kind not in {"Return", "If"} and rng.random() < 0.4
        start = here.end if beside else here.start
        if structure.known(text, source) and source.editable(here.start, here.end):
            draft = _some(source, [TextChange(start, here.end, text)], "a statement", rng)
            if draft is not None:
                return draft
    return None


def _by_kind(tree: Tree) -> dict[str, list[Statement]]:
    found: dict[str, list[Statement]] = {}
    for body in tree.bodies:
        for statement in body:
            if statement.kind in _MOVED:
                found.setdefault(statement.kind, []).append(statement)
    return found


def _indent(text: str, statement: Statement) -> str:
    lines = text[statement.start : statement.end]
    return lines[: len(lines) - len(lines.lstrip(" \t"))]


def _indented(lines: str, indent: str) -> str:
    """Lines with another indentation of the first, the others moved with it."""
    own = lines[: len(lines) - len(lines.lstrip(" \t"))]
    moved = [
        indent + line[len(own) :] if line.strip() and line.startswith(own) else line
        for line in lines.rstrip("\n").split("\n")
    ]
    return "\n".join(moved) + "\n"


def _some(source: SourceText, changes: Iterable[TextChange], what: str, rng: np.random.Generator) -> Draft | None:
    """Each of the changes that mean something or not, at least one, and none inside another."""
    possible = [
        change
        for change in changes
        if source.editable(change.start, change.end) and source.text[change.start : change.end] != change.text
    ]
    if not possible:
        return None
    chosen = [change for change in possible if rng.random() < 0.5] or [pick(possible, rng)]
    apart: list[TextChange] = []
    for change in sorted(chosen, key=lambda change: (change.start, change.end)):
        if not apart or change.start >= apart[-1].end:
            apart.append(change)
    return Draft(tuple(apart), f"took {what} of the second parent: {source.tell(apart[0])}")
