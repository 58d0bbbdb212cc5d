"""EoH's problems: `prob.py` with a class of `BaseProblem`, and `runEoH.py`, which makes an object of it."""

import ast
from typing import Any

from evolve.problem_formats import ConversionError, ConvertedProblem, ProblemFolder, RecognisedFiles
from service.problems.formats.python_source import (
    PythonSource,
    arguments,
    class_of,
    default_argument,
    parse,
)
from service.problems.formats.stand_in_files import stand_in_bridge, stand_in_problem

PROBLEM, START = "prob.py", "runEoH.py"
_BASE, _METHOD = "BaseProblem", "evaluate_program"
_SECONDS = 40.0


class EoHFormat:
    """A problem of EoH, with the arguments that its start script gives."""

    title = "an EoH problem"

    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        """As the protocol says: a class of another base is not EoH's."""
        if PROBLEM not in folder.files or not parse(folder.text(PROBLEM)).imports("eoh"):
            return None
        return RecognisedFiles(files=tuple(name for name in (PROBLEM, START) if name in folder.files))

    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        """As the protocol says.

        Raises:
            ConversionError: there is no class of a problem, or its program is not written out.
        """
        source = parse(folder.text(PROBLEM))
        node = class_of(source, _BASE, _METHOD)
        if node is None:
            raise ConversionError(
                f"{PROBLEM} has no class of {_BASE} with a method {_METHOD}: an EoH problem needs one"
            )
        attributes = {
            target.id: source.value(one.value)
            for one in node.body
            if isinstance(one, ast.Assign)
            for target in one.targets
            if isinstance(target, ast.Name)
        }
        template = attributes.get("template_program")
        if not isinstance(template, str) or not (entry := _entry(parse(template))):
            raise ConversionError(
                f"{PROBLEM}: template_program of {node.name} is not the text of a Python program: write it out there"
            )
        given = _given(folder, node.name)
        seconds = given.get("timeout", default_argument(node, "timeout")) or _SECONDS
        said = {"file": PROBLEM, "class": node.name, "arguments": given, "entry": entry}
        return stand_in_problem(
            folder,
            stand_in_bridge("eoh_evaluator", said),
            template.lstrip("\n"),
            {"name": "fitness", "direction": "minimize"},
            description=str(attributes.get("task_description") or ""),
            seconds=float(seconds),
        )


def _entry(template: PythonSource) -> str:
    """The class or the function that EoH calls: the first class, else the last function."""
    if template.classes:
        return template.classes[0].name
    return template.functions[-1].name if template.functions else ""


def _given(folder: ProblemFolder, name: str) -> dict[str, Any]:
    """The arguments of the class in the start script."""
    start = parse(folder.text(START))
    return next((arguments(call, start) for call in start.calls(name)), {})
