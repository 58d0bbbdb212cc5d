"""Written by Evolve: scores a function as FunSearch does, by the function that is marked `@funsearch.run`."""

import ast
import importlib.util
import os
import sys
from typing import Any

from evolve_stand_ins import FOLDER, read, settings, stand_in

PACKAGE = "funsearch"


class Scores:
    """Takes part in calls of the function that scores, and keeps what each returned."""

    def __init__(self, function: Any) -> None:
        """For this function."""
        self.function = function
        self.found: list[float] = []

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """As the function."""
        value = self.function(*arguments, **named)
        if not isinstance(value, (int, float)) and not hasattr(value, "item"):
            raise TypeError(f"the function of @funsearch.run returned {type(value).__name__}, not a number")
        self.found.append(float(value))
        return value


def evaluate(program_path: str) -> "dict[str, Any]":
    """The result of a program, as Evolve reads it."""
    said = settings()
    if PACKAGE not in sys.modules and importlib.util.find_spec(PACKAGE) is None:
        stand_in(PACKAGE, run=unchanged, evolve=unchanged)
    with open(os.path.join(FOLDER, said["skeleton"]), encoding="utf-8") as file:
        skeleton = file.read()
    program = ast.parse(read(program_path))
    fixed = defined(ast.parse(skeleton).body)
    taken = sorted(defined(program.body) & fixed)
    if taken:
        return {"error": f"the program defines {', '.join(taken)}, which belongs to the scorer: leave it out"}
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(skeleton, said["skeleton"], "exec"), names)  # noqa: S102 - the folder's own lines, in the sandbox
    scorer = names[said["run"]]
    exec(compile(program, program_path, "exec"), names)  # noqa: S102 - programs are run, in the sandbox
    if not callable(names.get(said["evolve"])):
        return {"error": f"the program does not define {said['evolve']}"}
    scores = Scores(scorer)
    if said["calls"]:
        exec(said["calls"], {**names, said["run"]: scores})  # noqa: S102 - the notebook's own lines, in the sandbox
    for value in said["inputs"]:
        scores(value)
    if not scores.found:
        return {"error": f"{said['run']} was not called: there are no inputs"}
    parts = {f"score_{number}": value for number, value in enumerate(scores.found, 1)}
    return {"score": scores.found[-1], **(parts if len(parts) > 1 else {})}


def unchanged(function: Any) -> Any:
    """What a mark does to the function below it."""
    return function


def defined(body: "list[ast.stmt]") -> "set[str]":
    """Functions, classes and variables that statements define."""
    names = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        names |= {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    return names
