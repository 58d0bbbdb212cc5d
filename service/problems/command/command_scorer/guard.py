"""What the changed part of a script may not do where the script scores itself: reach the clock, print, keep state."""

import ast
import builtins
import re
from collections.abc import Iterator, Sequence

_MARKER = re.compile(r"^\W*EVOLVE-BLOCK-(START|END)\b")
_NAMES = frozenset(
    [
        "__import__",
        "breakpoint",
        "cache",
        "cached_property",
        "compile",
        "delattr",
        "eval",
        "exec",
        "exit",
        "getattr",
        "globals",
        "input",
        "locals",
        "lru_cache",
        "open",
        "print",
        "quit",
        "setattr",
        "vars",
    ]
)
_MODULES = frozenset(
    [
        "asyncio",
        "atexit",
        "builtins",
        "cProfile",
        "code",
        "codeop",
        "concurrent",
        "contextvars",
        "ctypes",
        "datetime",
        "faulthandler",
        "gc",
        "importlib",
        "inspect",
        "io",
        "multiprocessing",
        "os",
        "pathlib",
        "pdb",
        "pickle",
        "pyperf",
        "resource",
        "runpy",
        "shelve",
        "shutil",
        "signal",
        "socket",
        "subprocess",
        "sys",
        "tempfile",
        "threading",
        "time",
        "timeit",
        "tracemalloc",
        "weakref",
    ]
)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LITERALS = (
    ast.Constant, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.Load, ast.operator, ast.unaryop, ast.Name, ast.Attribute,
)  # fmt: skip


def complaint(text: str, seed: str, functions: Sequence[str]) -> str:
    """Why a program does not count, in one sentence; empty: it does.

    Args:
        text: the script with its changes.
        seed: the script as it was; what its own changeable part does is allowed.
        functions: names of the definitions that may change.
    """
    if _outside(text) != _outside(seed):
        return "the part that measures has changed: change only the text between the EVOLVE-BLOCK markers"
    try:
        changed, before = ast.parse(text), ast.parse(seed)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"the program does not parse: {error}"
    inside, outside = _parts(changed, text)
    reserved = {word for node in outside for word in _words(node)} | set(dir(builtins))
    allowed = {word for node in _parts(before, seed)[0] for word in _words(node)}
    for statement in inside:
        found = _unfit_statement(statement, reserved - set(functions)) or _unfit_words(statement, allowed)
        if found:
            return f"{found} (line {statement.lineno}): the script measures itself, so its changed part may not do that"
    return ""


def _lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """Each line with its number and whether it may change."""
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        marker = _MARKER.match(line)
        if marker:
            inside = marker[1] == "START"
        yield number, line, inside and not marker


def _outside(text: str) -> list[str]:
    return [line.rstrip() for _, line, inside in _lines(text) if not inside]


def _parts(module: ast.Module, text: str) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The statements at the top that may change, and the others."""
    free = {number for number, _, inside in _lines(text) if inside}
    inside = [statement for statement in module.body if statement.lineno in free]
    return inside, [statement for statement in module.body if statement.lineno not in free]


def _words(node: ast.AST) -> set[str]:
    """Names that a part uses or binds."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Attribute):
            found.add(part.attr)
        elif isinstance(part, _DEFINITIONS):
            found.add(part.name)
        elif isinstance(part, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in part.names}
            found |= _imported(part)
    return found


def _imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return {name.partition(".")[0] for name in names}


def _unfit_statement(statement: ast.stmt, reserved: set[str]) -> str:
    if isinstance(statement, _DEFINITIONS):
        return f"it redefines {statement.name}" if statement.name in reserved else ""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        bound = {alias.asname or alias.name.partition(".")[0] for alias in statement.names} & reserved
        return f"it rebinds {min(bound)}" if bound else ""
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if not isinstance(target, ast.Name) or target.id in reserved:
                return "it rebinds a name of the part that measures"
        return "" if _constant(statement.value) else "it computes or keeps values outside of its functions"
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return ""
    return "it runs statements outside of its functions"


def _constant(value: ast.expr | None) -> bool:
    """Whether a value is a number, a text or a tuple of them, so that nothing is kept in it."""
    return value is None or all(isinstance(part, _LITERALS) for part in ast.walk(value))


def _unfit_words(statement: ast.stmt, allowed: set[str]) -> str:
    for node in ast.walk(statement):
        if isinstance(node, ast.Import | ast.ImportFrom):
            if found := (_imported(node) & _MODULES) - allowed:
                return f"it imports {min(found)}"
            if found := {alias.name for alias in node.names} & _NAMES - allowed:
                return f"it imports {min(found)}"
        if isinstance(node, ast.Global):
            return f"it keeps state in the global {node.names[0]}"
        word = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        named = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and word in _MODULES
        hidden = word.startswith("__") and word not in ("__init__", "__name__")
        if word not in allowed and (word in _NAMES or named or hidden):
            return f"it uses {word}"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (found_state := _kept(node)):
            return found_state
        if isinstance(node, ast.ClassDef) and any(
            isinstance(part, ast.Assign | ast.AnnAssign) and not _constant(part.value) for part in node.body
        ):
            return f"it keeps state in the class {node.name}"
    return ""


def _kept(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """State of a function that outlives its call: defaults that change, and attributes or items of other objects."""
    arguments = function.args
    defaults = [*arguments.defaults, *(value for value in arguments.kw_defaults if value is not None)]
    if not all(_constant(value) for value in defaults):
        return f"it keeps state in a default of {function.name}"
    own = {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
    own |= {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            root: ast.expr = node
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if isinstance(root, ast.Name) and root.id not in own:
                return f"it keeps state in {root.id}"
    return ""
