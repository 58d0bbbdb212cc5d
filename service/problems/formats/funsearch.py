"""FunSearch's specifications: one file with `@funsearch.run` and `@funsearch.evolve`, or a notebook with both."""

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from evolve.problem_formats import ConversionError, ConvertedProblem, ProblemFolder, RecognisedFiles
from service.problems.formats.python_source import Function, PythonSource, parse
from service.problems.formats.stand_in_files import stand_in_bridge, stand_in_problem

SKELETON, INPUTS = "evolve_skeleton.py", "inputs.json"
_ALIAS = re.compile(r"^[ \t]*import funsearch as (\w+)", re.MULTILINE)
_BY_NAME = re.compile(r"^[ \t]*from funsearch import\b", re.MULTILINE)
_ROLES = {"run": "function that scores", "evolve": "function that may change"}
_SUFFIXES = (".txt", ".py", ".ipynb")
_INPUT_NAMES = ("inputs", "INPUTS")
# FunSearch's own limit is 30 s for each input.
_SECONDS = 300.0


class FunSearchFormat:
    """A specification of FunSearch, of which one function may change and the rest is the scorer."""

    title = "a FunSearch specification"
    beside = (INPUTS,)

    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        """As the protocol says: both marks are in one file. One of them is half a specification."""
        names = _specifications(folder)
        found = names or _halves(folder)
        return RecognisedFiles(files=tuple(found), complete=bool(names)) if found else None

    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        """As the protocol says.

        Raises:
            ConversionError: several files, several marked functions, or no inputs.
        """
        names = _specifications(folder)
        for half in [] if names else _halves(folder):
            there = next(iter(_marks(_raw(folder, half))))
            other = "run" if there == "evolve" else "evolve"
            raise ConversionError(
                f"{half} has @funsearch.{there} and no @funsearch.{other}: mark the {_ROLES[other]} with it"
            )
        if len(names) != 1:
            several = ", ".join(names) or "none"
            raise ConversionError(f"a FunSearch problem has one file with both marks, not {several}: name one of them")
        notebook = names[0].endswith(".ipynb")
        found = _in_notebook(folder.text(names[0])) if notebook else _Specification(folder.text(names[0]))
        found = _in_text(found)
        text, marked = found.text, _marked(found.text, names[0])
        source = parse(text)
        run, evolve = (_function(source, marked[mark], names[0]) for mark in ("run", "evolve"))
        inputs = [] if found.calls else _inputs(folder, source, names[0], run.name)
        skeleton = _without(text, evolve)
        said = {
            "skeleton": SKELETON,
            "run": run.name,
            "evolve": evolve.name,
            "inputs": inputs,
            "calls": found.calls,
        }
        seed = "\n".join(text.splitlines()[evolve.lineno - 1 : evolve.end_lineno])
        return stand_in_problem(
            folder,
            {**stand_in_bridge("funsearch_evaluator", said), SKELETON: skeleton.encode()},
            seed + "\n",
            {"name": "score"},
            description=_description(source, evolve.name, skeleton),
            seconds=_SECONDS,
            warnings=found.warnings,
        )


@dataclass(frozen=True, slots=True, kw_only=False)
class _Specification:
    text: str
    calls: str = ""
    warnings: tuple[str, ...] = ()


def _specifications(folder: ProblemFolder) -> list[str]:
    return [name for name in _names(folder) if _marks(_raw(folder, name)) == {"run", "evolve"}]


def _halves(folder: ProblemFolder) -> list[str]:
    """The files with one of the marks."""
    return [name for name in _names(folder) if len(_marks(_raw(folder, name))) == 1]


def _names(folder: ProblemFolder) -> list[str]:
    return sorted(name for name in folder.files if "/" not in name and PurePosixPath(name).suffix in _SUFFIXES)


def _raw(folder: ProblemFolder, name: str) -> str:
    return "\n".join(_cells(folder.text(name))) if name.endswith(".ipynb") else folder.text(name)


def _marks(text: str) -> set[str]:
    return set(_mark(text).findall(text))


def _mark(text: str) -> re.Pattern[str]:
    """A line with a mark, under the names by which a text imports the package or its marks."""
    owners = "|".join(f"{name}\\." for name in ("funsearch", *_ALIAS.findall(text)))
    optional = "?" if _BY_NAME.search(text) else ""
    return re.compile(rf"^#?[ \t]*@(?:{owners}){optional}(run|evolve)\b.*$", re.MULTILINE)


def _marked(text: str, name: str) -> dict[str, int]:
    """The line that follows each mark, from 1."""
    found: dict[str, list[int]] = {}
    for match in _mark(text).finditer(text):
        found.setdefault(match[1], []).append(text.count("\n", 0, match.start()) + 2)
    several = [f"@funsearch.{mark}" for mark, lines in found.items() if len(lines) > 1]
    if several:
        raise ConversionError(f"{name} has {several[0]} more than once: mark one function")
    return {mark: lines[0] for mark, lines in found.items()}


def _function(source: PythonSource, line: int, name: str) -> Function:
    for node in source.functions:
        if node.lineno == line:
            return node
    raise ConversionError(f"{name}: no function follows the mark in line {line - 1}: put it directly above a function")


def _without(text: str, evolve: Function) -> str:
    """The specification without the function that evolves, and without marks."""
    lines = text.splitlines()
    first = min([evolve.lineno, *(one.lineno for one in evolve.decorator_list)]) - 1
    kept = [*lines[:first], *lines[evolve.end_lineno :]]
    return _mark(text).sub("", "\n".join(kept)).strip() + "\n"


def _inputs(folder: ProblemFolder, source: PythonSource, name: str, run: str) -> Sequence[Any]:
    """What the function is called with: `inputs.json`, or a list in the file itself."""
    if INPUTS in folder.files:
        try:
            found = json.loads(folder.text(INPUTS))
        except ValueError as error:
            raise ConversionError(f"{INPUTS} is not JSON ({error})") from error
    else:
        found = next((source.names[key] for key in _INPUT_NAMES if key in source.names), None)
    if not isinstance(found, list | tuple) or not found:
        raise ConversionError(
            f"{name} does not say what {run} is called with: add a line such as inputs = [(12, 7)] to it, or a list in"
            f" {INPUTS} beside it, with one element for each call"
        )
    return list(found)


def _description(source: PythonSource, evolve: str, skeleton: str) -> str:
    first = source.body[0] if source.body else None
    value = first.value.value if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else ""
    goal = f"{value.strip()}\n\n" if isinstance(value, str) and value else ""
    return f"{goal}Improve the function {evolve}, which is called by this fixed code:\n\n{skeleton}"


def _cells(text: str) -> list[str]:
    """The code cells of a notebook; none where it is not one."""
    try:
        cells = json.loads(text)["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError):
        return []


def _in_text(found: _Specification) -> _Specification:
    """The specification that is written out as the only text with both marks; else the file as it is."""
    texts = [value for value in parse(found.text).names.values() if isinstance(value, str)]
    whole = [text for text in texts if _marks(text) == {"run", "evolve"}]
    return replace(found, text=whole[0], calls="") if len(whole) == 1 else found


def _in_notebook(text: str) -> _Specification:
    """The first cell with both marks, with the cells before it; its inputs are the calls of the cell after it."""
    cells = _cells(text)
    whole = [number for number, cell in enumerate(cells) if _marks(cell) == {"run", "evolve"}]
    if not whole:
        raise ConversionError("the notebook has no cell with both marks: put both functions into one cell")
    first = whole[0]
    more = f"the notebook has {len(whole)} specifications, and the first one is taken"
    return _Specification(
        "\n\n".join(cells[: first + 1]),
        "".join(cells[first + 1 : first + 2]),
        (more,) if len(whole) > 1 else (),
    )
