"""A Python text's syntax tree as places in the text, so that a change leaves every other byte as it is."""

import ast
import re
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from evolve.answers.python_source import MAX_PARSED
from evolve.answers.syntax_trees import syntax_tree
from service.policy.syntax.numeral import Numeral, read

_LINE_END = re.compile(r"\r\n|\r|\n")
_EXCHANGED = {
    ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Dict, ast.IfExp, ast.Lambda, ast.List, ast.ListComp,
    ast.Subscript, ast.Tuple,
}  # fmt: skip
_BRACKETS = {ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Call}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_WITH_BODIES = {
    ast.Module, *_SCOPES, ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar,
    ast.ExceptHandler, ast.match_case,
}  # fmt: skip
# Nothing to change is in these, nor, before Python 3.12, a right position in a formatted string.
_LEAVES = {
    ast.Name, ast.Load, ast.Store, ast.Del, ast.alias, ast.JoinedStr, ast.Pass, ast.Break, ast.Continue,
    *ast.operator.__subclasses__(), *ast.unaryop.__subclasses__(), *ast.cmpop.__subclasses__(),
    *ast.boolop.__subclasses__(),
}  # fmt: skip
# Of these only some parts may change: annotations and decorators stay.
_PARTS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.FunctionDef: ("args", "body"),
    ast.AsyncFunctionDef: ("args", "body"),
    ast.arguments: ("defaults", "kw_defaults"),
    ast.ClassDef: ("body",),
    ast.AnnAssign: ("value",),
}
_OPPOSITES = (
    ("min", "max"), ("argmin", "argmax"), ("nanmin", "nanmax"), ("nanargmin", "nanargmax"), ("minimum", "maximum"),
    ("floor", "ceil"), ("any", "all"), ("nsmallest", "nlargest"),
)  # fmt: skip
# The opposite of each function that picks something.
OPPOSITES = {one: other for pair in _OPPOSITES for one, other in (pair, pair[::-1])}
_Visit = Callable[["Tree", "_NodeContext"], None]


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A stretch of the text and its kind: the class of the node, or a name of the user's."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that has its lines to itself: `start` is the start of its first line, `end` the end of its last."""

    start: int
    end: int
    kind: str
    first: bool
    only: bool


@dataclass(frozen=True, slots=True)
class _NodeContext:
    node: ast.AST
    groups: tuple[int, ...]
    scope: str


@dataclass(slots=True)
class Tree:
    """Places of a Python text that a mutation can change.

    Attributes:
        operators, comparisons, booleans: the gaps between operands, each with an operator.
        conditions: tests of `if`, `while` and conditional expressions.
        bounds: arguments of `range`.
        bodies: runs of statements.
        expressions: expressions by kind. `values`: assigned expressions by qualified target.
        functions: whole definitions by qualified name.
        picks: names of called functions that have an opposite, such as `min`.
        flags: `True` and `False`.
        returns: returned values, each with its scope as its kind; `parameters`: names of arguments by scope.
    """

    text: str
    numerals: list[Numeral] = field(default_factory=list)
    operators: list[TreeNode] = field(default_factory=list)
    comparisons: list[TreeNode] = field(default_factory=list)
    booleans: list[TreeNode] = field(default_factory=list)
    conditions: list[TreeNode] = field(default_factory=list)
    bounds: list[TreeNode] = field(default_factory=list)
    bodies: list[list[Statement]] = field(default_factory=list)
    expressions: dict[str, list[TreeNode]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, TreeNode] = field(default_factory=dict)
    functions: dict[str, TreeNode] = field(default_factory=dict)
    picks: list[TreeNode] = field(default_factory=list)
    flags: list[TreeNode] = field(default_factory=list)
    returns: list[TreeNode] = field(default_factory=list)
    parameters: dict[str, list[str]] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)

    def place(self, first: ast.AST, last: ast.AST | None = None, kind: str = "") -> TreeNode:
        """Where a node stands, or two and all between them."""
        last = last or first
        start = self._offset(first.lineno, first.col_offset)  # type: ignore[attr-defined] # expressions and statements
        end = self._offset(last.end_lineno, last.end_col_offset)  # type: ignore[attr-defined] # have their places
        return TreeNode(start, end, kind or type(first).__name__)

    def gap(self, left: ast.AST, right: ast.AST, kind: str) -> TreeNode:
        """The text between two nodes."""
        return TreeNode(self.place(left).end, self.place(right).start, kind)

    def lines(self, node: ast.stmt) -> tuple[int, int] | None:
        """Start and end of the lines of a statement. None if it shares them with another."""
        whole = self.place(node)
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        line = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        start = self._starts[line - 1]
        after = (node.end_lineno or node.lineno) + 1
        end = self._starts[after - 1] if after <= len(self._starts) else len(self.text)
        lead = "" if decorators else self.text[start : whole.start]
        tail = self.text[whole.end : end].strip()
        return (start, end) if not lead.strip() and (not tail or tail.startswith("#")) else None

    def _offset(self, line: int, column: int) -> int:
        start = self._starts[line - 1]
        if self.text.isascii():
            return start + column
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        return start + len(self.text[start:end].encode()[:column].decode(errors="ignore"))


def parse(text: str) -> ast.Module | None:
    """The syntax tree of a text. None if it is not Python, or too long."""
    if len(text) > MAX_PARSED:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a program's doubtful escape sequences are its own business
        try:
            return syntax_tree(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested too deeply for the parser
            return None


def read_tree(text: str) -> Tree | None:
    """Find the places of a Python text. None if it does not parse."""
    module = parse(text)
    if module is None:
        return None
    tree = Tree(text)
    tree._starts.extend([0, *(match.end() for match in _LINE_END.finditer(text))])  # noqa: SLF001 # its own maker
    waiting = [_NodeContext(module, (), "")]
    while waiting:  # not recursive: a long sum is a deep tree
        seen = waiting.pop()
        kind = type(seen.node)
        visit = _VISITS.get(kind)
        if visit is not None:
            visit(tree, seen)
        if kind in _EXCHANGED and not isinstance(getattr(seen.node, "ctx", None), ast.Store | ast.Del):
            tree.expressions[kind.__name__].append(tree.place(seen.node))
        if kind in _WITH_BODIES:
            _note_bodies(tree, seen.node)
        waiting += _children(tree, seen)
    tree.numerals.sort(key=lambda numeral: numeral.start)
    return tree


def _children(tree: Tree, seen: _NodeContext) -> list[_NodeContext]:
    node, groups, scope = seen.node, seen.groups, seen.scope
    kind = type(node)
    if kind is ast.UnaryOp and _signed(node) is not None:
        return []
    if kind in _BRACKETS:
        groups = (*groups, tree.place(node).start)
    if isinstance(node, _SCOPES):
        scope = f"{scope}{node.name}."
    parts: list[object] = []
    for name in _PARTS.get(kind) or node._fields:
        value = getattr(node, name, None)
        parts += value if isinstance(value, list) else [value]
    return [
        _NodeContext(part, groups, scope) for part in parts if isinstance(part, ast.AST) and type(part) not in _LEAVES
    ]


def _signed(node: ast.AST) -> ast.Constant | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and _is_number(node.operand):
        return node.operand if isinstance(node.operand, ast.Constant) else None
    return None


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in {int, float}


def _note_number(tree: Tree, seen: _NodeContext) -> None:
    if isinstance(seen.node, ast.Constant) and isinstance(seen.node.value, bool):
        tree.flags.append(tree.place(seen.node))
    if _is_number(seen.node) or _signed(seen.node) is not None:
        place = tree.place(seen.node)
        numeral = read(tree.text[place.start : place.end], place.start, seen.groups)
        if numeral is not None:
            tree.numerals.append(numeral)


def _note_binary(tree: Tree, seen: _NodeContext) -> None:
    if isinstance(seen.node, ast.BinOp):
        tree.operators.append(tree.gap(seen.node.left, seen.node.right, "arithmetic"))


def _note_comparison(tree: Tree, seen: _NodeContext) -> None:
    if isinstance(seen.node, ast.Compare):
        operands = [seen.node.left, *seen.node.comparators]
        tree.comparisons += [tree.gap(left, right, "comparison") for left, right in pairwise(operands)]


def _note_boolean(tree: Tree, seen: _NodeContext) -> None:
    if isinstance(seen.node, ast.BoolOp):
        operands = seen.node.values
        tree.booleans += [tree.gap(left, right, "boolean") for left, right in pairwise(operands)]


def _note_condition(tree: Tree, seen: _NodeContext) -> None:
    if isinstance(seen.node, ast.If | ast.While | ast.IfExp):
        tree.conditions.append(tree.place(seen.node.test))


def _note_call(tree: Tree, seen: _NodeContext) -> None:
    if isinstance(seen.node, ast.Call) and isinstance(seen.node.func, ast.Name) and seen.node.func.id == "range":
        tree.bounds += [tree.place(argument) for argument in seen.node.args]
    if isinstance(seen.node, ast.Call) and isinstance(seen.node.func, ast.Name | ast.Attribute):
        function = seen.node.func
        name = function.id if isinstance(function, ast.Name) else function.attr
        end = tree.place(function).end
        if name in OPPOSITES and tree.text[end - len(name) : end] == name:
            tree.picks.append(TreeNode(end - len(name), end, name))


def _note_return(tree: Tree, seen: _NodeContext) -> None:
    if isinstance(seen.node, ast.Return) and seen.node.value is not None:
        tree.returns.append(tree.place(seen.node.value, kind=seen.scope))


def _note_assignment(tree: Tree, seen: _NodeContext) -> None:
    node = seen.node
    if isinstance(node, ast.AugAssign):
        tree.operators.append(tree.gap(node.target, node.value, "assignment"))
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        tree.values[seen.scope + node.targets[0].id] = tree.place(node.value)


def _note_function(tree: Tree, seen: _NodeContext) -> None:
    if isinstance(seen.node, ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = seen.node.args
        listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        tree.parameters[f"{seen.scope}{seen.node.name}."] = [argument.arg for argument in listed]
        lines = tree.lines(seen.node)
        if lines is not None:
            name = seen.scope + seen.node.name
            tree.functions[name] = TreeNode(*lines, kind=f"{name} at column {seen.node.col_offset}")


def _note_bodies(tree: Tree, node: ast.AST) -> None:
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if isinstance(body, list):
            own = [(place, tree.lines(place)) for place in body if isinstance(place, ast.stmt)]
            statements = [
                Statement(*lines, kind=_kind(place), first=place is body[0], only=len(body) == 1)
                for place, lines in own
                if lines is not None
            ]
            tree.bodies.append(statements)


def _kind(node: ast.stmt) -> str:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return "Docstring" if text else type(node).__name__


_VISITS: dict[type[ast.AST], _Visit] = {
    ast.Constant: _note_number,
    ast.UnaryOp: _note_number,
    ast.BinOp: _note_binary,
    ast.Compare: _note_comparison,
    ast.BoolOp: _note_boolean,
    ast.If: _note_condition,
    ast.While: _note_condition,
    ast.IfExp: _note_condition,
    ast.Call: _note_call,
    ast.Return: _note_return,
    ast.Assign: _note_assignment,
    ast.AugAssign: _note_assignment,
    ast.FunctionDef: _note_function,
    ast.AsyncFunctionDef: _note_function,
}
