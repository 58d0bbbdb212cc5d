"""AlgoTune's tasks: a file with a class of `Task`, whose `solve` is the reference that a program must outrun."""

import ast
import re
from collections.abc import Iterator

from evolve.problem_formats import ConversionError, ConvertedProblem, ProblemFolder, RecognisedFiles
from service.problems.formats.python_source import Function, PythonSource, has_base, has_method, parse
from service.problems.formats.stand_in_files import stand_in_bridge, stand_in_problem

DESCRIPTION = "description.txt"
_PACKAGE, _BASE = "AlgoTuneTasks", "Task"
_SOLVER, _IMPORTED = re.compile(r"(?<![\w.])Solver\b"), "ImportedSolver"
_METHODS = ("generate_problem", "solve", "is_solution")
_SECONDS, _INSTANCES = 120.0, 20
_RULES = """

Write a class Solver with a method solve(self, problem). The score is its speedup over the reference below.
"""


class AlgoTuneFormat:
    """A task of AlgoTune, that starts from its own reference."""

    title = "an AlgoTune task"

    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        """As the protocol says: a file of the folder has a class of `Task`."""
        names = _task_files(folder)
        if len(names) != 1:
            return None
        return RecognisedFiles(files=tuple(name for name in (*names, DESCRIPTION) if name in folder.files))

    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        """As the protocol says.

        Raises:
            ConversionError: several tasks, or a method of the task is missing.
        """
        names = _task_files(folder)
        if len(names) != 1:
            found = ", ".join(names) or "none"
            raise ConversionError(
                f"an AlgoTune task has one file with a class of {_BASE}, not {found}: name one of them"
            )
        source = parse(folder.text(names[0]))
        node = next(one for one in source.classes if has_base(one, _BASE))
        missing = [name for name in _METHODS if not has_method(node, name)]
        if missing:
            lacking = " and ".join(missing)
            raise ConversionError(f"{names[0]}: the class {node.name} lacks {lacking}, which an AlgoTune task has")
        said = {"file": names[0], "class": node.name, "n": 0, "instances": _INSTANCES}
        return stand_in_problem(
            folder,
            stand_in_bridge("algotune_evaluator", said),
            _solver(source, node),
            {"name": "speedup"},
            description=folder.text(DESCRIPTION).strip() + _RULES,
            seconds=_SECONDS,
        )


def _task_files(folder: ProblemFolder) -> list[str]:
    found = []
    for name in sorted(folder.files):
        if "/" not in name and name.endswith(".py"):
            source = parse(folder.text(name))
            if source.imports(_PACKAGE) and any(has_base(node, _BASE) for node in source.classes):
                found.append(name)
    return found


def _solver(source: PythonSource, task: ast.ClassDef) -> str:
    """The reference as a class `Solver`: the module without the task, and the methods that `solve` needs."""
    parts = [source.segment(node) for node in source.body if node is not task and not _of_algotune(node)]
    members = [source.segment(node) for node in task.body if _kept(node, _needed(task))]
    if any(_imports_solver(node) for node in source.body):
        # The class takes the name: what is imported under it keeps another.
        texts = {source.segment(node) for node in source.body if isinstance(node, ast.Import | ast.ImportFrom)}
        parts = [part if part in texts else _SOLVER.sub(_IMPORTED, part) for part in parts] + [f"{_IMPORTED} = Solver"]
        members = [_SOLVER.sub(_IMPORTED, member) for member in members]
    return "\n".join(_future_first(parts)) + "\n\n\nclass Solver:\n" + "\n\n".join(members) + "\n"


def _imports_solver(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and any((one.asname or one.name) == "Solver" for one in node.names)


def _of_algotune(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")[0] == _PACKAGE
    guarded = isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)
    return guarded or (isinstance(node, ast.Import) and node.names[0].name.split(".")[0] == _PACKAGE)


def _future_first(parts: list[str]) -> list[str]:
    return sorted(parts, key=lambda part: not part.startswith(('"""', "from __future__")))


def _kept(node: ast.stmt, needed: set[str]) -> bool:
    if isinstance(node, Function):
        return node.name in needed
    return not isinstance(node, ast.Expr)


def _needed(task: ast.ClassDef) -> set[str]:
    """Methods that `solve` reaches."""
    methods = {node.name: node for node in task.body if isinstance(node, Function)}
    reached: set[str] = set()
    waiting: list[str] = [name for name in ("__init__", "solve") if name in methods]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [one for one in _own(methods[name], task.name) if one in methods]
    return reached


def _own(method: Function, name: str) -> Iterator[str]:
    """Attributes of the object, or of the class by its name, that a method uses."""
    for node in ast.walk(method):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", name):
            yield node.attr
