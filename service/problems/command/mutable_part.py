"""The part of a script that may change where the script measures itself, found in its syntax tree.

It is the functions that the measured one reaches. Everything that measures, checks, sets sizes, parses arguments or
prints stays as it is: the statements of the module, and each function that does one of these.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evolve.answers.regions import regions
from evolve.answers.syntax_trees import syntax_tree
from evolve.errors import AnswerError

START, END = "# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-END"
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_CLOCKS = frozenset(
    [
        "perf_counter",
        "perf_counter_ns",
        "monotonic",
        "monotonic_ns",
        "process_time",
        "process_time_ns",
        "thread_time",
        "thread_time_ns",
        "timeit",
        "default_timer",
        "autorange",
        "getrusage",
    ]
)
_RUNNERS = frozenset(
    ["bench_func", "bench_time_func", "bench_async_func", "timeit", "repeat", "autorange", "Timer", "benchmark"]
)
_PRINTS = frozenset(["print", "pprint", "echo"])
_ARGUMENTS = frozenset(["ArgumentParser", "parse_args", "parse_known_args", "argv", "getopt", "add_argument"])
_FILES = frozenset(["open", "read_text", "read_bytes", "load", "loads"])
_CHECKS = re.compile(
    r"_*(check|verify|validate|assert|test|score|evaluate|measure|bench|benchmark|metric|objective|loss|cost)(_|$|\d)",
    re.IGNORECASE,
)
_INPUTS = re.compile(r"_*(make|gen|generate|setup|build_input|load|read|random|parse|get_args)(_|$|\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MutablePart:
    """Where a script may change.

    Attributes:
        text: the script with markers around what may change.
        functions: names of the definitions that may change, in order.
        watched: those of them that the fixed part calls, whose results can be compared.
        fixed: definitions that stay, with the reason of each.
        timed: whether the script takes time, so that its results must stay.
        marked: whether the script had markers of its own.
    """

    text: str
    functions: tuple[str, ...]
    watched: tuple[str, ...]
    fixed: Mapping[str, str]
    timed: bool
    marked: bool


def find_mutable_part(text: str) -> MutablePart | None:
    """The part of a script that may change; None: the script does not parse, or no function of it can be told apart.

    Markers that the script has already are kept.
    """
    try:
        module = syntax_tree(text)
        marked = regions(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, AnswerError):
        return None
    definitions = {node.name: node for node in module.body if isinstance(node, _Definition)}
    timed = bool(_names(module) & (_CLOCKS | {"pyperf", "timeit"}) or _reads_time(module))
    if marked:
        names = [
            name
            for name, node in definitions.items()
            if any(node.lineno - 1 < region.end and (node.end_lineno or 0) > region.start for region in marked)
        ]
        fixed = {name: "it is outside of the markers" for name in definitions if name not in names}
    else:
        fixed = {name: reason for name, node in definitions.items() if (reason := _reason(node, definitions))}
        names = _reached(module, definitions, fixed, timed=timed)
        fixed |= {name: "no measured function calls it" for name in definitions if name not in {*names, *fixed}}
    if not names and not marked:
        return None
    outside: set[str] = set()
    for node in module.body:
        if not (isinstance(node, _Definition) and node.name in names):
            outside |= _names(node)
    return MutablePart(
        text=text if marked else _with_markers(text, [definitions[name] for name in names]),
        functions=tuple(names),
        watched=tuple(name for name in names if name in outside),
        fixed=fixed,
        timed=timed,
        marked=bool(marked),
    )


def _names(node: ast.AST) -> set[str]:
    """Names that a part uses, those in the texts of timed statements too."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Attribute):
            found.add(part.attr)
        elif isinstance(part, ast.Import):
            found |= {alias.name for alias in part.names}
        elif isinstance(part, ast.ImportFrom):
            found |= {part.module or "", *(alias.name for alias in part.names)}
        elif isinstance(part, ast.Call) and _called(part) in _RUNNERS:
            texts = [word.value for word in part.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
            found |= {word for text in texts for word in re.findall(r"[^\W\d]\w*", text)}
    return found


def _called(call: ast.Call) -> str:
    function = call.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _reads_time(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.Attribute)
        and part.attr in ("time", "time_ns")
        and isinstance(part.value, ast.Name)
        and part.value.id == "time"
        for part in ast.walk(node)
    )


def _reason(node: _Definition, definitions: Mapping[str, _Definition]) -> str:
    """Why a definition stays as it is; empty: nothing in it says so."""
    names = _names(node)
    found = (
        (bool(names & _CLOCKS) or _reads_time(node), "it measures"),
        (bool(names & _ARGUMENTS), "it parses arguments"),
        (bool(names & _PRINTS) or {"stdout", "write"} <= names, "it prints"),
        (bool(_CHECKS.match(node.name)) or any(isinstance(part, ast.Assert) for part in ast.walk(node)), "it checks"),
        (bool(_INPUTS.match(node.name)), "it makes inputs"),
        (bool(names & _FILES & {"open"}), "it reads files"),
        (node.name == "main", "it runs the script"),
        (_gives_nothing(node) and bool(names & definitions.keys() - {node.name}), "it gives no result to compare"),
    )
    return next((reason for holds, reason in found if holds), "")


def _gives_nothing(node: _Definition) -> bool:
    return not isinstance(node, ast.ClassDef) and not any(
        isinstance(part, ast.Yield | ast.YieldFrom) or (isinstance(part, ast.Return) and part.value is not None)
        for part in ast.walk(node)
    )


def _reached(
    module: ast.Module, definitions: Mapping[str, _Definition], fixed: Mapping[str, str], *, timed: bool
) -> list[str]:
    """The definitions that measured code reaches, but for fixed ones, through which the measured code is reached."""
    waiting = list(_measured(module, definitions) if timed else _outer(module, definitions))
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in definitions:
            continue
        seen.add(name)
        node = definitions[name]
        spans = list(_spans(node))
        # In a function that takes time itself, only what lies between two looks at the clock is measured.
        parts = [part for span in spans for part in span] if name in fixed and spans else [node]
        waiting += [word for part in parts for word in _names(part) if word in definitions]
    return [name for name in definitions if name in seen and name not in fixed]


def _measured(module: ast.Module, definitions: Mapping[str, _Definition]) -> Iterator[str]:
    """Names that stand in measured code: arguments of a benchmark runner, and all between two looks at the clock."""
    for call in (node for node in ast.walk(module) if isinstance(node, ast.Call) and _called(node) in _RUNNERS):
        yield from _names(call) & definitions.keys()
    for span in _spans(module):
        for statement in span:
            yield from _names(statement) & definitions.keys()


def _outer(module: ast.Module, definitions: Mapping[str, _Definition]) -> Iterator[str]:
    """Names that statements of the module use."""
    for node in module.body:
        if not isinstance(node, _Definition):
            yield from _names(node) & definitions.keys()


def _spans(node: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    """Statements from the first to the last of a body that look at the clock."""
    for part in ast.walk(node):
        for body in (getattr(part, name, None) for name in ("body", "orelse", "finalbody")):
            if not isinstance(body, list):
                continue
            looks = [
                number
                for number, statement in enumerate(body)
                if isinstance(statement, ast.stmt)
                and not isinstance(statement, _Definition | ast.Import | ast.ImportFrom)
                and (_names(statement) & _CLOCKS or _reads_time(statement))
            ]
            if len(looks) > 1:
                yield body[looks[0] : looks[-1] + 1]


def _with_markers(text: str, nodes: Sequence[_Definition]) -> str:
    """A script with markers around definitions; those with nothing but space or comments between them share a pair."""
    lines = text.split("\n")
    blocks: list[list[int]] = []
    for node in sorted(nodes, key=lambda node: node.lineno):
        start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
        end = node.end_lineno or node.lineno
        between = lines[blocks[-1][1] : start] if blocks else []
        if blocks and all(not line.strip() or line.startswith("#") for line in between):
            blocks[-1][1] = end
        else:
            blocks.append([start, end])
    for start, end in reversed(blocks):
        lines[start:end] = [START, *lines[start:end], END]
    return "\n".join(lines)
