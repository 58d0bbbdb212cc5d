"""A function of the user's own as an evaluator's file, so that the sandbox can score with it."""

import builtins
import inspect
import symtable
import textwrap
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from service.errors import UsageError

FILE = "evolve_evaluate.py"
_LATER = "from __future__ import annotations"  # what annotations name need not be there

_CALL = """

_function = {function}


def evaluate(program_path):
    import asyncio
    import inspect
    from pathlib import Path

    place = Path(program_path)
    if place.is_dir():
        source = {{str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()}}
    else:
        source = place.read_text()
    result = _function(source)
    if inspect.isawaitable(result):
        async def wait():
            return await result
        result = asyncio.run(wait())
    return result
"""


def evaluator_text(function: Callable[..., Any]) -> str:
    """An evaluator of shared integrity that calls the function: its text, and imports of its modules.

    Args:
        function: takes a program's text, and returns a number or a dict of scores.

    Raises:
        UsageError: its text is not available, or it uses names from outside.
    """
    name = getattr(function, "__name__", "")
    if not (inspect.isfunction(function) and name.isidentifier()):
        raise UsageError("the sandbox needs evaluate as a named function: def evaluate(source): ...")
    try:
        text = f"{_LATER}\n\n\n{textwrap.dedent(inspect.getsource(function))}"
        needed = sorted(_needed(text, name))
    except (OSError, TypeError, SyntaxError) as error:
        raise UsageError(f"the text of {name} cannot be read, and the sandbox needs it: {error}") from error
    imports = "".join(_import(function, word) for word in needed)
    call = _CALL.format(function=name)
    return text.replace(_LATER, f"{_LATER}\n\n{imports}", 1) + call


def _needed(text: str, name: str) -> set[str]:
    """Names that a text takes from around it."""
    symbols = [symbol for table in _tables(symtable.symtable(text, FILE, "exec")) for symbol in table.get_symbols()]
    return {symbol.get_name() for symbol in symbols if symbol.is_global() and symbol.is_referenced()} - {name}


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _import(function: Callable[..., Any], word: str) -> str:
    """The line that gives the function a name from outside. Empty if it needs none."""
    around = inspect.getclosurevars(function).nonlocals
    known = {**vars(builtins), **function.__globals__, **around}
    found = known.get(word)
    if isinstance(found, ModuleType):
        return f"import {found.__name__} as {word}\n"
    if hasattr(builtins, word) and found is getattr(builtins, word):
        return ""
    raise UsageError(
        f"{function.__name__} uses {word}, which is outside of it and not in the sandbox: define or import it"
        " inside the function, or score in this process with sandbox=False"
    )
