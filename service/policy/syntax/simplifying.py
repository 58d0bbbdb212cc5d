"""Simplification: shorter programs that may well do the same."""

import ast
import operator
import re
import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from evolve.answers.syntax_trees import syntax_tree
from service.policy.syntax import structure, tune
from service.policy.syntax.draw import pick
from service.policy.syntax.source import Draft, SourceText, TextChange
from service.policy.syntax.tree import Statement, Tree, TreeNode

_TRIES = 6
_FOLDED = ("BinOp", "BoolOp", "IfExp", "Call")
_BINDS = re.compile(
    r"\s*(?:(?:async\s+)?def\s+(?P<function>\w+)|class\s+(?P<class>\w+)|import\s+(?P<module>\w+)\s*$"
    r"|(?P<variable>\w+)\s*=[^=])",
    re.MULTILINE,
)
_MAX_EXACT = 1e15
_REDUCED: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def simplify(source: SourceText, others: Sequence[SourceText], rng: np.random.Generator) -> Draft | None:
    """Remove unused code, remove or fold something else, or shorten a number."""
    del others
    draft = _shorter(source, rng)
    return draft if draft is not None and len(source.apply(draft)) < len(source.text) else None


def _shorter(source: SourceText, rng: np.random.Generator) -> Draft | None:
    tree = source.tree
    way = rng.random()
    if tree is None or way < 0.1:
        return tune.round_off(source, rng)
    if way < 0.45:
        return _unread(source, tree, rng)
    if way < 0.65:
        bodies = [body for body in tree.bodies if body]
        return structure.delete(source, pick(pick(bodies, rng), rng)) if bodies else None
    return _fold(source, tree, rng)


def _unread(source: SourceText, tree: Tree, rng: np.random.Generator) -> Draft | None:
    """Remove a statement that only binds a name without another use."""
    dead = [statement for body in tree.bodies for statement in body if not statement.only and _dead(source, statement)]
    if not dead:
        return None
    target = pick(dead, rng)
    return structure.one(source, TextChange(target.start, target.end, ""), "left out what nothing reads")


def _dead(source: SourceText, statement: Statement) -> bool:
    lines = source.text[statement.start : statement.end]
    bound = _BINDS.match(lines)
    name = bound and next((name for name in bound.groups() if name), None)
    return bool(name) and source.text.count(str(name)) == 1


def _fold(source: SourceText, tree: Tree, rng: np.random.Generator) -> Draft | None:
    """Put one of its operands, or its value, in the place of an expression."""
    kinds = [kind for kind in _FOLDED if tree.expressions.get(kind)]
    for _ in range(_TRIES if kinds else 0):
        place = pick(tree.expressions[pick(kinds, rng)], rng)
        parts = _parts(source.text[place.start : place.end])
        draft = structure.one(source, _put(place, pick(parts, rng)), "folded") if parts else None
        if draft is not None:
            return draft
    return None


def _put(place: TreeNode, part: tuple[str, str]) -> TextChange:
    text, kind = part
    return TextChange(place.start, place.end, f"({text})" if kind in structure.LOOSE or text.startswith("-") else text)


def _parts(text: str) -> list[tuple[str, str]]:
    """Replacements of an expression, as text and kind of node: its value if it is plain, else operands."""
    enclosed = f"({text})"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = syntax_tree(enclosed, "eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    value = _value(node)
    if value is not None:
        return [(repr(value), "Constant")]
    parts = [(ast.get_source_segment(enclosed, operand), operand) for operand in _operands(node)]
    return [(part, type(operand).__name__) for part, operand in parts if part]


def _operands(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.BinOp():
            return [node.left, node.right]
        case ast.BoolOp():
            return node.values
        case ast.IfExp():
            return [node.body, node.orelse]
        case ast.Call(args=[only], keywords=[]) if not isinstance(only, ast.Starred | ast.GeneratorExp):
            return [only]
        case _:
            return []


def _value(node: ast.expr) -> float | int | None:
    """The value of a sum, difference or product of two numbers."""
    if not isinstance(node, ast.BinOp) or type(node.op) not in _REDUCED:
        return None
    match node.left, node.right:
        case ast.Constant(value=int() | float() as left), ast.Constant(value=int() | float() as right):
            return _REDUCED[type(node.op)](left, right) if max(abs(left), abs(right)) <= _MAX_EXACT else None
    return None
