"""EoH's problems: `prob.py` with a class of `BaseProblem`, and `runEoH.py`, which makes an object of it."""

import ast
from typing import Any

from evolve.problem_formats import ConversionError, ConvertedProblem, ProblemFolder, RecognisedFiles
from service.problems.formats.bridge import not_honoured, number_of, unknown_budget
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
_SEARCH, _SIZE, _GENERATIONS = "EoH", "pop_size", "n_pop"
# Arguments of the search that are taken, and those of files and messages that Evolve has by itself.
_TAKEN = {"llm", "problem", _SIZE, _GENERATIONS, "output_dir", "debug"}
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
            **_search(folder),
        )


def _entry(template: PythonSource) -> str:
    """The class or the function that EoH calls: the first class, else the last function."""
    if template.classes:
        return template.classes[0].name
    return template.functions[-1].name if template.functions else ""


def _search(folder: ProblemFolder) -> dict[str, Any]:
    """The budget of the start script, and warnings about the rest of its search."""
    start = parse(folder.text(START))
    call = next(start.calls(_SEARCH), None)
    if call is None:
        return {}
    given = arguments(call, start)
    size, generations = (int(number_of(given.get(key), 0)) for key in (_SIZE, _GENERATIONS))
    warnings = not_honoured(START, (one.arg for one in call.keywords if one.arg and one.arg not in _TAKEN))
    if not size or not generations:
        return {"warnings": [*warnings, unknown_budget(START, f"{_SIZE} or {_GENERATIONS}")]}
    # Two populations to start with, and one for each generation. The seed is evaluated too.
    return {"search": {"evaluations": size * (2 + generations) + 1}, "warnings": warnings}


def _given(folder: ProblemFolder, name: str) -> dict[str, Any]:
    """The arguments of the class in the start script."""
    start = parse(folder.text(START))
    return next((arguments(call, start) for call in start.calls(name)), {})
