"""Syntax trees of Python texts, made by one thread of the process at a time.

Before Python 3.11.9, the depth of a tree is checked by a counter that all threads share. Two threads that parse at once
may meet `SystemError: AST constructor recursion depth mismatch` (CPython issue 106905).
"""

import ast
import threading
from typing import Literal, overload

_PARSING = threading.RLock()


@overload
def syntax_tree(source: str | bytes, mode: Literal["exec"] = "exec", *, flags: int = 0) -> ast.Module: ...


@overload
def syntax_tree(source: str | bytes, mode: Literal["eval"], *, flags: int = 0) -> ast.Expression: ...


def syntax_tree(source: str | bytes, mode: str = "exec", *, flags: int = 0) -> ast.AST:
    """The tree that `ast.parse` gives.

    Args:
        source: Python source.
        mode: `exec`: a module. `eval`: an expression.
        flags: further flags of the compiler.

    Raises:
        SyntaxError: it is not Python.
        ValueError: it holds a null character, or its bytes are no text.
        RecursionError: it is nested too deeply.
        MemoryError: the same, as the parser says it.
    """
    with _PARSING:
        tree: ast.AST = compile(source, "<unknown>", mode, flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    return tree
