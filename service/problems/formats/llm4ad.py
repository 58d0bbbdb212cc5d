"""LLM4AD's tasks: `evaluation.py` with a class of `Evaluation`, and `template.py` with the program to start from."""

import ast
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from evolve.problem_formats import ConversionError, ConvertedProblem, ProblemFolder, RecognisedFiles
from service.problems.formats.bridge import number_of, read_settings
from service.problems.formats.python_source import (
    PythonSource,
    argument_names,
    class_of,
    default_argument,
    has_base,
    has_method,
    last_name,
    parse,
    written_value,
)
from service.problems.formats.stand_in_files import stand_in_bridge, stand_in_problem

EVALUATION, TEMPLATE, ARGUMENTS = "evaluation.py", "template.py", "paras.yaml"
_BASE, _METHOD = "Evaluation", "evaluate_program"
_SECONDS = 300.0


class LLM4ADFormat:
    """A task of LLM4AD, with the arguments of `paras.yaml` and else the defaults of its class."""

    title = "an LLM4AD task"

    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        """As the protocol says: a single file of any name is one too, if it has such a class."""
        name = _file(folder)
        source = parse(folder.text(name))
        if not source.imports("llm4ad") or not any(has_base(node, _BASE) for node in source.classes):
            return None
        return RecognisedFiles(files=tuple(one for one in (name, TEMPLATE, ARGUMENTS) if one in folder.files))

    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        """As the protocol says.

        Raises:
            ConversionError: there is no class of a task, or its program is not written out.
        """
        name = _file(folder)
        source = parse(folder.text(name))
        written = read_settings(folder, ARGUMENTS) if ARGUMENTS in folder.files else {}
        node = _named(source, written) or class_of(source, _BASE, _METHOD)
        if node is None:
            raise ConversionError(f"{name} has no class of {_BASE} with a method {_METHOD}: an LLM4AD task needs one")
        template, description = _texts(folder, source, node)
        functions = parse(template).functions
        if not functions:
            raise ConversionError(
                f"{name}: template_program of {node.name} is not the text of a Python function:"
                f" write it out there or in {TEMPLATE}"
            )
        given = _arguments(node, written)
        seconds = given.get("timeout_seconds", default_argument(node, "timeout_seconds"))
        seconds = number_of(seconds or _given(node, "timeout_seconds", source), _SECONDS)
        said = {"file": name, "class": node.name, "arguments": given, "entry": functions[0].name}
        return stand_in_problem(
            folder,
            stand_in_bridge("llm4ad_evaluator", said),
            template.lstrip("\n"),
            {"name": "score"},
            description=description,
            seconds=seconds,
        )


def _file(folder: ProblemFolder) -> str:
    """`evaluation.py`, else the only file."""
    names = [name for name in folder.files if PurePosixPath(name).suffix == ".py"]
    return names[0] if EVALUATION not in names and len(names) == 1 else EVALUATION


def _texts(folder: ProblemFolder, source: PythonSource, node: ast.ClassDef) -> tuple[str, str]:
    """Program and description: as the class gives them to its base, from its own file or from `template.py`."""
    names = {**parse(folder.text(TEMPLATE)).names, **source.names}
    texts = []
    for key in ("template_program", "task_description"):
        value = _argument(node, key)
        found = written_value(value, names, names.get(key)) if value else names.get(key)
        texts.append(found if isinstance(found, str) else "")
    return texts[0], texts[1]


def _named(source: PythonSource, written: Mapping[str, Any]) -> ast.ClassDef | None:
    """The class that `paras.yaml` names, if the file has it."""
    found = (node for node in source.classes if node.name == written.get("name"))
    return next((node for node in found if has_base(node, _BASE) and has_method(node, _METHOD)), None)


def _arguments(node: ast.ClassDef, written: Mapping[str, Any]) -> dict[str, Any]:
    """What `paras.yaml` gives the class; its keys may carry a remark, as in `test_id(1~120)`."""
    known = argument_names(node)
    found = {match[0]: value for key, value in written.items() if (match := re.match(r"\w+", str(key)))}
    return {key: value for key, value in found.items() if key in known and isinstance(value, bool | int | float | str)}


def _given(node: ast.ClassDef, key: str, source: PythonSource) -> Any:
    return source.value(_argument(node, key))


def _argument(node: ast.ClassDef, key: str) -> ast.expr | None:
    """What a class gives its base as an argument."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and last_name(one.func) == "__init__":
            for keyword in one.keywords:
                if keyword.arg == key:
                    return keyword.value
    return None
