"""Reads Python files of other projects by their syntax trees: nothing of them is imported or run."""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evolve.answers.syntax_trees import syntax_tree

Function = ast.FunctionDef | ast.AsyncFunctionDef
_MAX_STEPS = 2_000


class _Unknown(Exception):
    """An expression whose value is not written out."""


@dataclass(frozen=True, slots=True)
class PythonSource:
    """A Python file.

    Attributes:
        text: its text.
        body: its statements; empty where the text is not Python.
        names: values of names that are written out at its top level.
    """

    text: str
    body: Sequence[ast.stmt] = ()
    names: Mapping[str, Any] = field(default_factory=dict)

    @property
    def classes(self) -> Sequence[ast.ClassDef]:
        """Its classes."""
        return [node for node in self.body if isinstance(node, ast.ClassDef)]

    @property
    def functions(self) -> Sequence[Function]:
        """Its functions."""
        return [node for node in self.body if isinstance(node, Function)]

    def segment(self, node: ast.stmt) -> str:
        """The lines of a statement, with its decorators."""
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(one.lineno for one in decorators)])
        return "\n".join(self.text.splitlines()[first - 1 : node.end_lineno])

    def imports(self, package: str) -> bool:
        """Whether it imports a package, or something of it."""
        return any(name.split(".")[0] == package for name in self.imported())

    def imported(self) -> Iterator[str]:
        """Modules that it imports, anywhere."""
        for top in self.body:
            for node in ast.walk(top):
                if isinstance(node, ast.Import):
                    yield from (one.name for one in node.names)
                elif isinstance(node, ast.ImportFrom):
                    yield "." * node.level + (node.module or "")

    def calls(self, name: str) -> Iterator[ast.Call]:
        """Calls of a function or a class of this name."""
        for top in self.body:
            for node in ast.walk(top):
                if isinstance(node, ast.Call) and last_name(node.func) == name:
                    yield node

    def assigned_calls(self, name: str, targets: Collection[str]) -> Iterator[ast.Call]:
        """Calls of a function of this name whose results are assigned to some variables."""
        for node in (node for top in self.body for node in ast.walk(top) if isinstance(node, ast.Assign)):
            found = {one.id for one in node.targets if isinstance(one, ast.Name)}
            if (
                isinstance(node.value, ast.Call)
                and last_name(node.value.func) == name
                and not found.isdisjoint(targets)
            ):
                yield node.value

    def value(self, node: ast.expr | None, default: Any = None) -> Any:
        """The value of an expression that is written out; else the default."""
        return default if node is None else written_value(node, self.names, default)


def parse(text: str) -> PythonSource:
    """A Python file; one without statements where the text is not Python."""
    try:
        body = syntax_tree(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return PythonSource(text)
    return PythonSource(text, body, _named_values(body))


def last_name(node: ast.expr) -> str:
    """The last word of a dotted name; empty for another expression."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def has_base(node: ast.ClassDef, name: str) -> bool:
    """Whether a class names another one as its base."""
    return any(last_name(base) == name for base in node.bases)


def has_method(node: ast.ClassDef, name: str) -> bool:
    """Whether a class defines a method."""
    return any(isinstance(one, Function) and one.name == name for one in node.body)


def class_of(source: "PythonSource", base: str, method: str) -> ast.ClassDef | None:
    """The first class of a base that defines a method; None: there is none."""
    return next((node for node in source.classes if has_base(node, base) and has_method(node, method)), None)


def arguments(call: ast.Call, source: PythonSource) -> dict[str, Any]:
    """Keyword arguments of a call whose values are written out."""
    missing = object()
    found = {one.arg: source.value(one.value, missing) for one in call.keywords if one.arg}
    return {key: value for key, value in found.items() if value is not missing}


def argument_names(node: ast.ClassDef) -> set[str]:
    """The arguments by name that a class takes."""
    for one in node.body:
        if isinstance(one, Function) and one.name == "__init__":
            return {arg.arg for arg in (*one.args.args, *one.args.kwonlyargs)} - {"self"}
    return set()


def default_argument(node: ast.ClassDef, name: str) -> Any:
    """The default of an argument of a class; None where there is none that is written out."""
    for one in node.body:
        if isinstance(one, Function) and one.name == "__init__":
            plain = [*one.args.posonlyargs, *one.args.args]
            defaults = dict(zip(reversed([arg.arg for arg in plain]), reversed(one.args.defaults), strict=False))
            keyed = zip((arg.arg for arg in one.args.kwonlyargs), one.args.kw_defaults, strict=True)
            return written_value(value, {}, None) if (value := {**defaults, **dict(keyed)}.get(name)) else None
    return None


def written_value(node: ast.expr, names: Mapping[str, Any], default: Any = None) -> Any:
    """The value of an expression of literals, named values, sums of texts and `.strip()`; else the default."""
    try:
        return _value(node, names, _MAX_STEPS)
    except (_Unknown, RecursionError, TypeError, ValueError):
        return default


def _named_values(body: Sequence[ast.stmt]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    missing = object()
    for node in body:
        if isinstance(node, ast.Assign):
            targets: list[ast.expr] = node.targets
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        else:
            continue
        value = written_value(node.value, found, missing) if node.value is not None else missing
        for target in targets:
            if isinstance(target, ast.Name):
                found.pop(target.id, None)
                found |= {target.id: value} if value is not missing else {}
    return found


def _value(node: ast.expr, names: Mapping[str, Any], depth: int) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        found = [_value(one, names, depth - 1) for one in node.elts]
        return tuple(found) if isinstance(node, ast.Tuple) else found
    if isinstance(node, ast.Dict):
        keys = [_value(key, names, depth - 1) if key else _unknown() for key in node.keys]
        return dict(zip(keys, (_value(one, names, depth - 1) for one in node.values), strict=True))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, names, depth - 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _value(node.left, names, depth - 1), _value(node.right, names, depth - 1)
        return left + right if isinstance(left, str) and isinstance(right, str) else _unknown()
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
        text = _value(node.func.value, names, depth - 1) if node.func.attr == "strip" else None
        return text.strip() if isinstance(text, str) else _unknown()
    return _unknown()


def _unknown() -> Any:
    raise _Unknown
