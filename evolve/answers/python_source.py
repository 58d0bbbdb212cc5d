"""Python source: which files of a program are, and their syntax trees."""

import ast
import warnings
from collections.abc import Iterable, Iterator

from evolve.answers.syntax_trees import syntax_tree
from evolve.program import Program

# Characters of a program beyond which its syntax is not looked at. Parsing takes up to 4 us and 600 bytes a character:
# a quarter of a second and 65 MB here, four seconds and half a gigabyte for the longest program that there may be.
MAX_PARSED = 100_000
# A tree takes about a hundred times the memory of its text.
_MAX_KEPT = 20_000
# The text that was parsed last, and its tree.
_kept: list[tuple[str, ast.Module]] = []


def is_python(path: str, program: Program, language: str) -> bool:
    """Whether a file of a program is Python source, of which the syntax is looked at: a long program is text."""
    if language.lower() != "python" or program.size > MAX_PARSED:
        return False
    return path.endswith((".py", ".pyi")) or program.single


def parse_python(text: str) -> ast.Module:
    """Parse Python source without the warnings of compiling it.

    An answer is parsed for its check and again for its fingerprint. The last tree is cached, so it costs once. It is
    shared and must not be changed. It is dropped before the next is made, which then takes the same memory: this costs
    less than two thirds of parsing with the last eight trees in memory.

    Raises:
        SyntaxError: it is not Python, and `lineno` and `msg` say why. Too deep nesting and too long text count as well.
    """
    if len(text) > MAX_PARSED:
        raise SyntaxError("too long to be parsed")
    if len(text) > _MAX_KEPT:
        return _tree(text)
    for known, tree in _kept[:1]:  # a copy: another thread may drop it
        if known == text:
            return tree
        del tree
    _kept.clear()
    tree = _tree(text)
    _kept[:] = [(text, tree)]
    return tree


def _tree(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return syntax_tree(text)
    except (RecursionError, MemoryError, OverflowError) as error:
        raise SyntaxError("nested too deeply") from error
    except ValueError as error:
        raise SyntaxError(str(error)) from error


def top_level_names(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """The names that statements define: functions, classes and variables, imports aside."""
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
