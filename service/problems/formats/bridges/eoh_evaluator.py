"""Written by Evolve: scores a program as EoH does, by `evaluate_program` of the problem's class."""

import ast
import types
from typing import Any

from evolve_stand_ins import Anything, load, read, settings, stand_in


class BaseProblem:
    """What EoH's own base class is for the classes of problems."""

    template_program = ""
    task_description = ""

    def __init__(self, timeout: int = 40, n_processes: int = 1) -> None:
        """As they call it."""
        self.timeout = timeout
        self.n_processes = n_processes


def evaluate(program_path: str) -> "dict[str, Any]":
    """The result of a program, as Evolve reads it."""
    said = settings()
    stand_in("eoh", BaseProblem=BaseProblem, EoH=Anything, LLMConfig=Anything)
    problem = getattr(load(said["file"]), said["class"])(**said["arguments"])
    source = read(program_path)
    program = types.ModuleType("program")
    for node in ast.parse(problem.template_program).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            exec(ast.unparse(node), vars(program))  # noqa: S102 - the folder's own lines, in the sandbox
    if "np" not in vars(program):
        import numpy

        vars(program)["np"] = numpy
    exec(compile(source, program_path, "exec"), vars(program))  # noqa: S102 - programs are run, in the sandbox
    entry = getattr(program, said["entry"], None)
    if entry is None:
        return {"error": f"the program does not define {said['entry']}"}
    score = problem.evaluate_program(source, entry)
    if score is None:
        return {"error": "evaluate_program returned None: the program is not valid"}
    if not isinstance(score, (int, float)) and not hasattr(score, "item"):
        return {"error": f"evaluate_program returned {type(score).__name__}, not a number"}
    return {"fitness": float(score)}
