"""Syntax trees are those of `ast.parse`, and one thread at a time makes them."""

import ast
import builtins
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evolve.answers.syntax_trees import syntax_tree

TEXTS = [f"def f(a):\n    return a + {number}\n" for number in range(8)]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many threads were in the compiler, each time that one came in."""
    inside: list[int] = []
    counts: list[int] = []
    real = builtins.compile
    turn = threading.Event()

    def watched(*given: Any, **more: Any) -> Any:
        inside.append(1)
        counts.append(len(inside))
        turn.wait(0.01)  # whoever could come in now, comes
        try:
            return real(*given, **more)
        finally:
            inside.pop()

    monkeypatch.setattr(builtins, "compile", watched)
    yield counts
    monkeypatch.undo()


def test_one_thread_at_a_time_is_in_the_compiler(at_once: list[int]) -> None:
    with ThreadPoolExecutor(4) as threads:
        trees = list(threads.map(syntax_tree, TEXTS))
    assert at_once == [1] * len(TEXTS)
    assert [ast.unparse(tree).count("return") for tree in trees] == [1] * len(TEXTS)


@pytest.mark.parametrize("source", ["x = 1\n", b"# coding: latin-1\nx = '\xe9'\n", ""])
def test_a_tree_is_that_of_the_library(source: str | bytes) -> None:
    assert ast.dump(syntax_tree(source)) == ast.dump(ast.parse(source))


def test_an_expression_is_one() -> None:
    assert ast.dump(syntax_tree("a + 1", "eval")) == ast.dump(ast.parse("a + 1", mode="eval"))


@pytest.mark.parametrize(("source", "error"), [("x = (", SyntaxError), ("x = '\0'", (ValueError, SyntaxError))])
def test_what_is_not_python_is_refused(source: str, error: Any) -> None:
    with pytest.raises(error):
        syntax_tree(source)
