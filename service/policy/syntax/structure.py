"""Mutations of Python syntax: operators, comparisons, conditions, statements, loop bounds, subtrees of inspirations."""

import re
from collections.abc import Sequence

import numpy as np

from service.policy.syntax.draw import pick
from service.policy.syntax.source import Draft, SourceText, TextChange
from service.policy.syntax.tree import Statement, Tree, TreeNode

_COMMENT_OR = r"\#[^\n]*|"
_ARITHMETIC = re.compile(_COMMENT_OR + r"(?P<operator>(?:\*\*|//|<<|>>|[-+*/%&|^]))")
_COMPARISON = re.compile(_COMMENT_OR + r"(?P<operator><=|>=|==|!=|<|>|\bnot\s+in\b|\bin\b|\bis\s+not\b|\bis\b)")
_BOOLEAN = re.compile(_COMMENT_OR + r"(?P<operator>\band\b|\bor\b)")
_KIN = (
    ("+", "-", "*", "/"), ("//", "*", "%", "/"), ("**", "*"), ("%", "//"), ("&", "|", "^"), ("<<", ">>"),
    ("<", "<=", ">", ">="), ("==", "!="), ("in", "not in"), ("is", "is not"), ("and", "or"),
)  # fmt: skip
# Binding more loosely than what may stand around them, these need parentheses when they take another's place.
LOOSE = frozenset({"BinOp", "BoolOp", "Compare", "IfExp", "Lambda", "Tuple"})
_KEPT = frozenset(
    {"Import", "ImportFrom", "FunctionDef", "AsyncFunctionDef", "ClassDef", "Global", "Nonlocal", "Docstring", "Return"}
)
_REPEATED = frozenset({"Assign", "AugAssign", "Expr", "For", "While", "If"})
_SIMPLE = re.compile(r"[\w.]+")
_TRIES = 6


def operator(source: SourceText, tree: Tree, rng: np.random.Generator) -> Draft | None:
    """Replace an operator by a related operator: arithmetic and augmented assignment."""
    return _replace_operator(source, tree.operators, _ARITHMETIC, rng)


def comparison(source: SourceText, tree: Tree, rng: np.random.Generator) -> Draft | None:
    """Put a related comparison in the place of one."""
    return _replace_operator(source, tree.comparisons, _COMPARISON, rng)


def boolean(source: SourceText, tree: Tree, rng: np.random.Generator) -> Draft | None:
    """Turn `and` into `or` or back, or negate a condition."""
    if tree.booleans and rng.random() < 0.5:
        return _replace_operator(source, tree.booleans, _BOOLEAN, rng)
    place = _pick(source, tree.conditions, rng)
    if place is None:
        return None
    text = source.text[place.start : place.end]
    negated = text[5:-1] if text.startswith("not (") and text.endswith(")") else f"not ({text})"
    return one(source, TextChange(place.start, place.end, negated), "negated a condition")


def bound(source: SourceText, tree: Tree, rng: np.random.Generator) -> Draft | None:
    """Move a bound of a loop over `range`."""
    place = _pick(source, tree.bounds, rng)
    if place is None:
        return None
    text = source.text[place.start : place.end]
    if text.isdecimal():
        value = int(text)
        choices = [str(new) for new in (value + 1, max(0, value - 1), value * 2, value // 2)]
    else:
        whole = text if _SIMPLE.fullmatch(text) else f"({text})"
        choices = [f"{whole} + 1", f"{whole} - 1", f"2 * {whole}", f"{whole} // 2"]
        choices += [text[:-4]] * 2 * text.endswith((" + 1", " - 1"))
    return one(source, TextChange(place.start, place.end, pick(choices, rng)), "moved a loop bound")


def statement(source: SourceText, tree: Tree, rng: np.random.Generator) -> Draft | None:
    """Delete a statement, repeat one, or swap two neighbours."""
    bodies = [body for body in tree.bodies if body]
    if not bodies:
        return None
    for _ in range(_TRIES):
        body = pick(bodies, rng)
        index = int(rng.integers(len(body)))
        way = rng.random()
        draft = (
            delete(source, body[index])
            if way < 0.4
            else _repeat(source, body[index])
            if way < 0.55
            else _swap(source, body, index)
        )
        if draft is not None:
            return draft
    return None


def exchange(source: SourceText, tree: Tree, others: Sequence[SourceText], rng: np.random.Generator) -> Draft | None:
    """Replace an expression by an inspiration's of the same kind, or of the same variable's value."""
    theirs = _other(others, rng)
    if theirs is None or theirs.tree is None:
        return None
    names = sorted(tree.values.keys() & theirs.tree.values.keys())
    if names and rng.random() < 0.5:
        name = pick(names, rng)
        return put(source, tree.values[name], theirs, theirs.tree.values[name])
    kinds = sorted(tree.expressions.keys() & theirs.tree.expressions.keys())
    for _ in range(_TRIES if kinds else 0):
        kind = pick(kinds, rng)
        place = _pick(source, tree.expressions[kind], rng)
        found = theirs.tree.expressions[kind]
        draft = place and put(source, place, theirs, pick(found, rng))
        if draft:
            return draft
    return None


def function(source: SourceText, tree: Tree, others: Sequence[SourceText], rng: np.random.Generator) -> Draft | None:
    """Replace a function by an inspiration's function of the same name."""
    theirs = _other(others, rng)
    if theirs is None or theirs.tree is None:
        return None
    pairs = [
        (mine, theirs.tree.functions[name]) for name, mine in tree.functions.items() if name in theirs.tree.functions
    ]
    pairs = [
        (mine, other) for mine, other in pairs if mine.kind == other.kind and source.editable(mine.start, mine.end)
    ]
    if not pairs:
        return None
    mine, other = pick(pairs, rng)
    text = theirs.text[other.start : other.end]
    return one(source, TextChange(mine.start, mine.end, text), "took over an inspiration's function")


def _replace_operator(
    source: SourceText, gaps: Sequence[TreeNode], pattern: re.Pattern[str], rng: np.random.Generator
) -> Draft | None:
    place = _pick(source, gaps, rng)
    if place is None:
        return None
    for match in pattern.finditer(source.text, place.start, place.end):
        old = match["operator"]
        if old is None:
            continue
        plain = " ".join(old.split())
        choices = [new for row in _KIN if plain in row for new in row if new != plain]
        if choices:
            start, end = match.span("operator")
            return one(source, TextChange(start, end, pick(choices, rng)), f"changed {place.kind}")
    return None


def delete(source: SourceText, target: Statement) -> Draft | None:
    """Remove a statement. None for a kind that programs rarely do without."""
    if target.kind in _KEPT:
        return None
    lines = source.text[target.start : target.end]
    indent = lines[: len(lines) - len(lines.lstrip(" \t"))]
    end = "\n" if lines.endswith("\n") else ""
    text = f"{indent}pass{end}" if target.only else ""
    return one(source, TextChange(target.start, target.end, text), "deleted a statement")


def _repeat(source: SourceText, target: Statement) -> Draft | None:
    lines = source.text[target.start : target.end]
    if target.kind not in _REPEATED or not lines.endswith("\n"):
        return None
    return one(source, TextChange(target.end, target.end, lines), "repeated a statement")


def _swap(source: SourceText, body: list[Statement], index: int) -> Draft | None:
    if index + 1 >= len(body):
        return None
    first, second = body[index], body[index + 1]
    if {first.kind, second.kind} & {"Docstring", "Import", "ImportFrom", "Return"}:
        return None
    above, below = source.text[first.start : first.end], source.text[second.start : second.end]
    if not below.endswith("\n") or not source.editable(first.start, second.end):
        return None
    changes = (TextChange(first.start, first.end, below), TextChange(second.start, second.end, above))
    return Draft(changes, f"swapped two statements: {source.tell(changes[0])}")


def put(source: SourceText, place: TreeNode, theirs: SourceText, found: TreeNode) -> Draft | None:
    """Replace an expression by another source's, if all of its names are known here."""
    old, new = source.text[place.start : place.end], theirs.text[found.start : found.end]
    if old == new or not known(new, source):
        return None
    enclosed = source.text[place.start - 1 : place.start] == "(" and source.text[place.end : place.end + 1] == ")"
    whole = f"({new})" if found.kind in LOOSE and not enclosed and not new.startswith("(") else new
    return one(source, TextChange(place.start, place.end, whole), "took over an inspiration's expression")


def known(text: str, source: SourceText) -> bool:
    """Whether the names of a text are known in the source. An unknown name would fail when it runs."""
    return all(word in source.words for word in re.findall(r"[^\W\d]\w*", text))


def _pick(source: SourceText, places: Sequence[TreeNode], rng: np.random.Generator) -> TreeNode | None:
    for _ in range(_TRIES if places else 0):
        place = pick(places, rng)
        if source.editable(place.start, place.end):
            return place
    return None


def _other(others: Sequence[SourceText], rng: np.random.Generator) -> SourceText | None:
    return pick(others, rng) if others else None


def one(source: SourceText, change: TextChange, verb: str) -> Draft | None:
    """A draft of one change; None where nothing may change or nothing would."""
    if not source.editable(change.start, change.end) or source.text[change.start : change.end] == change.text:
        return None
    return Draft((change,), f"{verb}: {source.tell(change)}")
