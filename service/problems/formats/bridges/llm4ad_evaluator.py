"""Written by Evolve: scores a program as LLM4AD does, by `evaluate_program` of the class of `Evaluation`."""

import __future__

import ast
from typing import Any

from evolve_stand_ins import find_in_folder, load, read, settings, stand_in

_DIVISION = """
def _protected_div(a, b, delta={delta!r}):
    return a / (b + delta)
"""


class TaskEvaluation:
    """What LLM4AD's own base class is for the classes of tasks."""

    def __init__(self, template_program: Any = "", task_description: str = "", **options: Any) -> None:
        """As they call it; the options are those that change how a program is run."""
        self.template_program = str(template_program)
        self.task_description = task_description
        self.use_numba_accelerate = bool(options.get("use_numba_accelerate", False))
        self.use_protected_div = bool(options.get("use_protected_div", False))
        self.protected_div_delta = float(options.get("protected_div_delta", 1e-5))
        self.random_seed = options.get("random_seed")
        self.timeout_seconds = options.get("timeout_seconds")
        self.exec_code = bool(options.get("exec_code", True))


class Division(ast.NodeTransformer):
    """Every division becomes a call of `_protected_div`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """A division of other divisions too."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        return ast.Call(func=ast.Name(id="_protected_div", ctx=ast.Load()), args=[node.left, node.right], keywords=[])


def evaluate(program_path: str) -> "dict[str, Any]":
    """The result of a program, as Evolve reads it."""
    said = settings()
    stand_in("llm4ad")
    stand_in("llm4ad.base", Evaluation=TaskEvaluation)
    find_in_folder("llm4ad")
    task = getattr(load(said["file"]), said["class"])(**said["arguments"])
    source = rewritten(task, read(program_path), said["entry"])
    names: dict[str, Any] = {}
    entry = None
    if task.exec_code:
        # As LLM4AD: annotations of programs are not evaluated.
        code = compile(source, program_path, "exec", flags=__future__.annotations.compiler_flag)
        exec(code, names)  # noqa: S102 - programs are run, in the sandbox
        entry = names.get(said["entry"])
        if entry is None:
            return {"error": f"the program does not define {said['entry']}"}
    found = task.evaluate_program(source, entry)
    if found is None:
        return {"error": "evaluate_program returned None: the program is not valid"}
    if hasattr(found, "tolist"):
        found = found.tolist()
    if isinstance(found, (list, tuple)):
        values = [float(value) for value in found]
        parts = {f"score_{number}": value for number, value in enumerate(values, 1)}
        return {"score": sum(values) / len(values), **parts}
    if not isinstance(found, (int, float)):
        return {"error": f"evaluate_program returned {type(found).__name__}, not a number"}
    return {"score": float(found)}


def rewritten(task: Any, source: str, entry: str) -> str:
    """A program as the switches of the task have it run: seeded, compiled by numba, its divisions protected."""
    if not (task.use_numba_accelerate or task.use_protected_div or task.random_seed is not None):
        return source
    tree = ast.parse(source)
    head = ""
    if task.use_protected_div:
        tree = ast.fix_missing_locations(Division().visit(tree))
        head += _DIVISION.format(delta=task.protected_div_delta)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == entry:
            if task.random_seed is not None:
                node.body[:0] = ast.parse(f"np.random.seed({int(task.random_seed)})").body
                head = f"import numpy as np\n{head}"
            if task.use_numba_accelerate:
                node.decorator_list.append(ast.parse("numba.jit(nopython=True)", mode="eval").body)
    if task.use_numba_accelerate:
        head = "import numba\n" + head.replace("def _prot", "@numba.jit(nopython=True)\ndef _prot")
    return f"{head}\n{ast.unparse(tree)}"
