"""Experiments of the AlphaEvolve client: a script that gives the client a program, a description and an evaluator."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from evolve.problem_formats import ConversionError, ConvertedProblem, ProblemFolder, RecognisedFiles
from service.problems.formats.bridge import bridge_tables, number_of, unknown_budget
from service.problems.formats.python_source import PythonSource, last_name, parse
from service.problems.formats.stand_in_files import SEED_FOLDER, stand_in_bridge
from service.problems.problem_document import problem_name

_EXPERIMENT, _PACKAGE = "AlphaEvolveExperiment", "alpha_evolve"
_COMMAND, _FLAG, _PROGRAM, _DESCRIPTION = (
    "evaluator.py",
    "--input-program-file",
    "initial_program",
    "problem_description.md",
)
_PLACES = ("", "src/")
_METRIC = "EVALUATION_METRIC"
_BUDGET = "max_programs_evaluated"
_SECONDS = 600.0
_MAX_PATH = 200


class AlphaEvolveFormat:
    """An experiment of the AlphaEvolve client, or a folder that its skills write."""

    title = "an AlphaEvolve experiment"

    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        """As the protocol says: a script makes an experiment, or an evaluator is a command of `ae`."""
        if script := _script(folder):
            return RecognisedFiles(files=(script,))
        if _FLAG in folder.text(_COMMAND) and (program := _initial_program(folder)):
            return RecognisedFiles(files=(program, _COMMAND))
        return None

    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        """As the protocol says.

        Raises:
            ConversionError: the script does not say which program, evaluator or metric is meant.
        """
        script = _script(folder)
        return _from_script(folder, script) if script else _from_command(folder)


def _from_script(folder: ProblemFolder, script: str) -> ConvertedProblem:
    source = parse(folder.text(script))
    values = {**_imported(folder, source, script), **source.names}
    file, function = _evaluator(folder, source, script)
    dicts = [node for top in source.body for node in ast.walk(top) if isinstance(node, ast.Dict)]
    paths = [path for node in dicts if (path := _texts(node, values).get("path")) and "content" in _keys(node)]
    metric = next((text for node in dicts if (text := _texts(node, values).get("metric"))), "")
    if not paths or not metric:
        raise ConversionError(
            f"{script}: the initial program names no {'metric' if paths else 'path of a file'} that is written out:"
            " write it as a text there"
        )
    about = next((found for node in dicts if "problem_description" in (found := _texts(node, values))), {})
    files = {path: _content(folder, path, script, file) for path in dict.fromkeys(paths)}
    said = {"file": file, "function": function, "metric": metric}
    budget = _budget(source, values)
    converted = _problem(folder, files, said, about)
    if budget:
        return replace(converted, document={**converted.document, "search": {"evaluations": budget}})
    return replace(converted, warnings=[unknown_budget(script, _BUDGET)])


def _budget(source: PythonSource, values: Mapping[str, Any]) -> int:
    """How many programs the experiment evaluates; 0: it is not written out."""
    call = next(source.calls(_EXPERIMENT))
    node = call.args[2] if len(call.args) > 2 else None
    node = next((one.value for one in call.keywords if one.arg == _BUDGET), node)
    return int(number_of(PythonSource("", (), values).value(node), 0))


def _from_command(folder: ProblemFolder) -> ConvertedProblem:
    program = _initial_program(folder)
    if not program or _COMMAND not in folder.files:
        raise ConversionError(f"{_PROGRAM}.* or {_COMMAND} is missing: put both into one folder")
    metric = parse(folder.text(_COMMAND)).names.get(_METRIC, "score")
    about = {"problem_description": folder.text(_DESCRIPTION)}
    said = {"file": _COMMAND, "function": "", "metric": str(metric)}
    return _problem(folder, {program: folder.files[program]}, said, about)


def _problem(
    folder: ProblemFolder, files: Mapping[str, bytes], said: Mapping[str, Any], about: Mapping[str, str]
) -> ConvertedProblem:
    several = len(files) > 1
    suffix = PurePosixPath(next(iter(files))).suffix
    placed = {f"{SEED_FOLDER}/{path}" if several else SEED_FOLDER + suffix: text for path, text in files.items()}
    document = {
        "schema": 1,
        "name": problem_name(about.get("title") or folder.name),
        "description": about.get("problem_description", "").strip(),
        "language": about.get("program_language", ""),
        "seeds": [SEED_FOLDER] if several else list(placed),
        "objectives": [{"name": said["metric"]}],
        **bridge_tables(_SECONDS),
    }
    return ConvertedProblem(
        files={
            **folder.files,
            **stand_in_bridge("alphaevolve_evaluator", {**said, "paths": list(files)}),
            **placed,
        },
        document={key: value for key, value in document.items() if value != ""},
    )


def _script(folder: ProblemFolder) -> str:
    for name in sorted(folder.files):
        if name.endswith(".py") and name.rpartition("/")[0] in ("", "src"):
            text = folder.text(name)
            if f"{_EXPERIMENT}(" in text and "problem_description" in text and parse(text).imports(_PACKAGE):
                return name
    return ""


def _initial_program(folder: ProblemFolder) -> str:
    names = [name for name in sorted(folder.files) if PurePosixPath(name).stem == _PROGRAM and "/" not in name]
    return names[0] if names else ""


def _evaluator(folder: ProblemFolder, source: PythonSource, script: str) -> tuple[str, str]:
    """File and name of the function that the experiment is given."""
    call = next(source.calls(_EXPERIMENT))
    node = call.args[1] if len(call.args) > 1 else None
    node = next((one.value for one in call.keywords if one.arg == "evaluator_function"), node)
    name = last_name(node) if node else ""
    if any(one.name == name for one in source.functions):
        return script, name
    for found in source.body:
        if isinstance(found, ast.ImportFrom) and any((one.asname or one.name) == name for one in found.names):
            for file in _files_of(found.module or "", script):
                if file in folder.files:
                    original = next(one.name for one in found.names if (one.asname or one.name) == name)
                    return file, original
    raise ConversionError(
        f"{script}: the evaluator of {_EXPERIMENT} is not a function of this folder: name one that lies in it"
    )


def _imported(folder: ProblemFolder, source: PythonSource, script: str) -> dict[str, Any]:
    """Values that the script imports by name from other files of the folder."""
    found: dict[str, Any] = {}
    for node in source.body:
        if isinstance(node, ast.ImportFrom):
            for file in _files_of(node.module or "", script):
                names = parse(folder.text(file)).names
                found |= {one.asname or one.name: names[one.name] for one in node.names if one.name in names}
    return found


def _files_of(module: str, script: str) -> Iterator[str]:
    """Places of a module: beside the script, or in the folder by the end of its name."""
    words = module.split(".")
    beside = PurePosixPath(script).parent
    yield (beside / ("/".join(words) + ".py")).as_posix()
    yield from ("/".join(words[first:]) + ".py" for first in range(len(words)))


def _keys(node: ast.Dict) -> set[str]:
    return {key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def _texts(node: ast.Dict, values: Mapping[str, Any]) -> dict[str, str]:
    """The texts of a dict that are written out."""
    found = {}
    for key, value in zip(node.keys, node.values, strict=True):
        text = PythonSource("", (), values).value(value)
        if isinstance(key, ast.Constant) and isinstance(text, str):
            found[str(key.value)] = text
    return found


def _content(folder: ProblemFolder, path: str, script: str, evaluator: str) -> bytes:
    """A file of the initial program: by its path, or the only file that script or evaluator name."""
    beside = PurePosixPath(script).parent
    for place in ((beside / path).as_posix(), *(f"{one}{path}" for one in _PLACES)):
        if place in folder.files:
            return folder.files[place]
    named = {
        (PurePosixPath(file).parent / text).as_posix()
        for file in (script, evaluator)
        for text in _written(parse(folder.text(file)))
        if PurePosixPath(text).suffix == PurePosixPath(path).suffix
    }
    there = sorted(named & folder.files.keys())
    if len(there) != 1:
        raise ConversionError(f"{script} gives the initial program as {path}, which is missing: put it beside {script}")
    return folder.files[there[0]]


def _written(source: PythonSource) -> Iterator[str]:
    for top in source.body:
        for node in ast.walk(top):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and 0 < len(node.value) < _MAX_PATH:
                yield node.value
