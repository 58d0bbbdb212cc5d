"""Fingerprints: equal for programs that differ in nothing but formatting, comments and docstrings."""

import ast
import hashlib
import re
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from evolve.answers.python_source import is_python, parse_python
from evolve.program import Program

# Quoted strings stay as they are; runs of operators stay together, so that `a++b` and `a + +b` differ.
# The bound on strings keeps a line of unclosed ones linear.
_TOKEN = re.compile(r"\"(?:\\.|[^\"\\]){0,200}\"|'(?:\\.|[^'\\]){0,200}'|\w+|[^\w\s\"']+|[\"']")
# Where the indentation of a line does not matter. Elsewhere it is part of the program, and so it is in text.
_FREE_FORM = {
    "c", "c++", "c#", "cpp", "csharp", "css", "cuda", "dart", "glsl", "go", "java", "javascript", "js", "julia",
    "kotlin", "lua", "opencl", "perl", "php", "r", "ruby", "rust", "scala", "sql", "swift", "ts", "typescript",
    "verilog", "zig",
}  # fmt: skip
_CONTEXT = frozenset({"ctx", "type_comment", "type_ignores", "kind"})
# Fields that Python 3.12 and 3.13 added to nodes of before: left out where they say nothing, as earlier versions do.
_LATER_FIELDS = frozenset({"type_params", "default_value"})
_DOCUMENTED = {ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef}
# The name of a kind of node, and what reads its fields: several at once, or the only one.
_Form = tuple[str, Callable[[Any], Iterable[Any]] | None, Callable[[Any], Any] | None]


def fingerprint(program: Program, language: str) -> str:
    """32 hex digits, equal for programs that are the same but for what does not matter to their running.

    The same under Python 3.11 to 3.14, so that a run may go on under another one.

    Python is compared by syntax tree: comments, formatting and docstrings are ignored, names are kept. Other languages,
    Python that does not parse, and programs longer than `MAX_PARSED`, are compared by tokens line by line, with
    blank lines and white space folded (indentation is kept where it may carry meaning; comments are kept, their syntax
    being unknown).
    """
    sha = hashlib.sha256()
    for path, text in program.files:
        form = _syntax(text) if is_python(path, program, language) else None
        normal = form if form is not None else _tokens(text, language.lower() in _FREE_FORM)
        sha.update(f"{len(path)} {path} {len(normal)} ".encode())
        sha.update(normal.encode("utf-8", "surrogatepass"))
    return sha.hexdigest()[:32]


def _tokens(text: str, free_form: bool) -> str:
    lines = []
    for line in text.splitlines():
        words = _TOKEN.findall(line)
        if words:
            indentation = "" if free_form else line[: len(line) - len(line.lstrip())]
            lines.append(indentation + "\x1f".join(words))
    return "\n".join(lines)


def _syntax(text: str) -> str | None:
    words = syntax_words(text)
    return None if words is None else "\x1f".join(words)


def syntax_words(text: str) -> list[str] | None:
    """A Python text's syntax tree in prefix order, without what does not matter to its running; None: it has none.

    It is written without recursion, however deep a tree was parsed.
    """
    try:
        stack: list[Any] = [parse_python(text)]
    except SyntaxError:
        return None
    out: list[str] = ["python"]
    write, push, put, pop = out.append, stack.extend, stack.append, stack.pop
    while stack:
        node = pop()
        kind = type(node)
        form = _FORMS[kind]
        if form is not None:
            name, several, one = form
            write(name)
            if several is not None:
                push(several(node))
            elif one is not None:
                put(one(node))
        elif kind is list:
            write(f"[{len(node)}")
            push(node)
        else:
            # Decimal digits of a huge integer are refused by the interpreter; hexadecimal ones are not. What `repr`
            # escapes depends on the version's Unicode tables; what `ascii` escapes does not.
            write(hex(node) if kind is int else ascii(node))
    return out


class _Forms(dict[type, _Form | None]):
    """For each kind of node how it is written; None for what is no node."""

    def __missing__(self, kind: type) -> _Form | None:
        self[kind] = form = _form(kind) if issubclass(kind, ast.AST) else None
        return form


def _form(kind: type[ast.AST]) -> _Form:
    fields = [field for field in kind._fields if field not in _CONTEXT]
    plain = [field for field in fields if field not in _LATER_FIELDS]
    if kind is ast.JoinedStr:
        return kind.__name__, None, _pieces
    if kind in _DOCUMENTED or len(plain) < len(fields):
        return kind.__name__, lambda node: [_value(node, name) for name in plain] + _later(node), None
    if len(fields) > 1:
        return kind.__name__, attrgetter(*fields), None
    return kind.__name__, None, attrgetter(*fields) if fields else None


def _value(node: Any, field: str) -> Any:
    return _body(node) if field == "body" and type(node) in _DOCUMENTED else getattr(node, field)


def _later(node: Any) -> list[Any]:
    """The fields of later versions that say something; the parser of an earlier one refuses such a program."""
    return [value for name in sorted(_LATER_FIELDS) if (value := getattr(node, name, None))]


def _pieces(node: ast.JoinedStr) -> list[ast.expr]:
    """The pieces of an f-string without the empty constants that Python 3.12 alone writes."""
    return [piece for piece in node.values if not (isinstance(piece, ast.Constant) and piece.value == "")]


def _body(node: Any) -> list[ast.stmt]:
    """The statements of a module, class or function without its docstring."""
    body: list[ast.stmt] = node.body
    first = body[0] if body else None
    documented = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return body[1:] if documented else body


_FORMS = _Forms()
