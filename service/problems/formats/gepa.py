"""GEPA's `optimize_anything`: a script that calls it with a seed, an evaluator and texts about the goal."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from evolve.problem_formats import ConversionError, ConvertedProblem, ProblemFolder, RecognisedFiles
from service.problems.formats.bridge import bridge_tables, not_honoured, number_of, unknown_budget
from service.problems.formats.python_source import PythonSource, parse, written_value
from service.problems.formats.stand_in_files import SEED, SEED_FOLDER, stand_in_bridge
from service.problems.problem_document import problem_name

_CALL, _PACKAGE, _MAIN = "optimize_anything", "gepa", "main.py"
_CONFIGS, _BUDGET = ("EngineConfig", "ReflectionConfig", "MergeConfig", "RefinerConfig"), "max_metric_calls"
_DATA = ("dataset", "valset")
# Arguments of files and progress, which Evolve has by itself.
_NOT_NEEDED = {"run_dir", "display_progress_bar", "raise_on_exception", "track_best_outputs"}
_SECONDS = 600.0


class GepaFormat:
    """A script that calls `optimize_anything`, which the bridge runs up to that call."""

    title = "a GEPA optimize_anything script"

    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        """As the protocol says: a script of the folder calls the function."""
        names = _scripts(folder)
        return RecognisedFiles(files=(names[0],)) if names else None

    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        """As the protocol says.

        Raises:
            ConversionError: no script, no evaluator, or a seed that is not written out.
        """
        names = _scripts(folder)
        if not names:
            raise ConversionError(f"no script calls {_CALL}: name the one that does")
        source = parse(folder.text(names[0]))
        call = next(source.calls(_CALL))
        values = {**_imported(folder, source), **source.names, **_local(source, call)}
        seed = _seed(call, values, names[0])
        if "evaluator" not in (given := {one.arg: one.value for one in call.keywords}):
            raise ConversionError(f"{names[0]}: {_CALL} is called without evaluator: name the function that scores")
        components = {key: f"{key}.py" if _is_python(text) else f"{key}.txt" for key, text in seed.items() if key}
        files, seeds = _seed_files(seed, components)
        texts = [written_value(given[key], values) for key in ("objective", "background") if key in given]
        tables = bridge_tables(_SECONDS)
        search, warnings = _search(source, names[0], values, divided=any(key in given for key in _DATA))
        if "test_set" in given:
            tables = {**tables, "evaluator": {**tables["evaluator"], "holdout": True}}
        return ConvertedProblem(
            files={
                **folder.files,
                **stand_in_bridge("gepa_evaluator", {"file": names[0], "components": components}),
                **files,
            },
            document={
                "schema": 1,
                "name": problem_name(folder.name),
                "description": "\n\n".join(text.strip() for text in texts if isinstance(text, str)),
                "seeds": seeds,
                "objectives": [{"name": "score"}],
                **tables,
                **search,
            },
            warnings=warnings,
        )


def _scripts(folder: ProblemFolder) -> list[str]:
    """Scripts that call the function, `main.py` first."""
    names = [name for name in folder.files if "/" not in name and name.endswith(".py")]
    return [name for name in sorted(names, key=lambda name: (name != _MAIN, name)) if _calls(folder.text(name))]


def _calls(text: str) -> bool:
    if _CALL not in text:
        return False
    source = parse(text)
    return source.imports(_PACKAGE) and any(True for _ in source.calls(_CALL))


def _search(
    source: PythonSource, name: str, values: Mapping[str, Any], *, divided: bool
) -> tuple[dict[str, Any], list[str]]:
    """The budget of a script, and warnings about the rest of its search.

    Args:
        source: the script.
        name: of the script.
        values: of names in it.
        divided: whether a call of the evaluator is for one of several examples, and not for a program.
    """
    given = [one for config in _CONFIGS for call in source.calls(config) for one in call.keywords if one.arg]
    budget = next((written_value(one.value, values) for one in given if one.arg == _BUDGET), None)
    keys = [one.arg for one in given if one.arg and one.arg not in _NOT_NEEDED and one.arg != _BUDGET]
    warnings = not_honoured(name, keys)
    if divided and any(one.arg == _BUDGET for one in given):
        counted = f"{name}: {_BUDGET} counts examples and is not honoured: --evaluations N sets the number of programs"
        return {}, [*warnings, counted]
    if whole := int(number_of(budget, 0)):
        return {"search": {"evaluations": whole}}, warnings
    return {}, [*warnings, *([] if divided else [unknown_budget(name, _BUDGET)])]


def _seed(call: ast.Call, values: Mapping[str, Any], name: str) -> Mapping[str, str]:
    """The text to start from under an empty name, or several by their names."""
    node = (
        call.args[0] if call.args else next((one.value for one in call.keywords if one.arg == "seed_candidate"), None)
    )
    found = written_value(node, values) if node else None
    if isinstance(found, str):
        return {"": found}
    if isinstance(found, dict) and found and all(isinstance(text, str) for text in found.values()):
        return {str(key): text for key, text in found.items()}
    raise ConversionError(
        f"{name}: seed_candidate of {_CALL} is not a text that is written out there: assign it to a name as a text"
    )


def _seed_files(seed: Mapping[str, str], components: Mapping[str, str]) -> tuple[dict[str, bytes], list[str]]:
    if len(seed) > 1:
        return {f"{SEED_FOLDER}/{components[key]}": text.encode() for key, text in seed.items()}, [SEED_FOLDER]
    text = next(iter(seed.values()))
    name = SEED if _is_python(text) else str(PurePosixPath(SEED).with_suffix(".txt"))
    return {name: (text.lstrip("\n") if name == SEED else text).encode()}, [name]


def _is_python(text: str) -> bool:
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import) for node in parse(text).body)


def _imported(folder: ProblemFolder, source: PythonSource) -> dict[str, Any]:
    """Values that the script imports by name from other files of the folder."""
    found: dict[str, Any] = {}
    for node in source.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for file in _files_of(node.module):
                names = parse(folder.text(file)).names
                found |= {one.asname or one.name: names[one.name] for one in node.names if one.name in names}
    return found


def _files_of(module: str) -> Iterator[str]:
    """Places of a module in the folder: by the whole of its name, or by its end."""
    words = module.split(".")
    yield from ("/".join(words[first:]) + ".py" for first in range(len(words)))


def _local(source: PythonSource, call: ast.Call) -> dict[str, Any]:
    """Values that the function around a call names."""
    for node in source.functions:
        if call in ast.walk(node):
            return dict(parse("\n".join(ast.unparse(one) for one in node.body if isinstance(one, ast.Assign))).names)
    return {}
