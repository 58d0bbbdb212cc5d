"""ShinkaEvolve's tasks: `initial.*`, and `evaluate.py`, which writes `metrics.json` and `correct.json`."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from evolve.answers.syntax_trees import syntax_tree
from evolve.problem_formats import ConversionError, ConvertedProblem, ProblemFolder, RecognisedFiles
from service.problems.formats.bridge import bridge_files, bridge_tables, not_honoured, unknown_budget
from service.problems.formats.python_source import parse
from service.problems.problem_document import problem_name

SEED, EVALUATE = "initial", "evaluate.py"
_STARTS = ("run_evo.py", "run.py")
_DESCRIPTION = "task_sys_msg"
_CONFIGS = ("EvolutionConfig", "DatabaseConfig")
# Arguments that are taken, and those of files and processes that Evolve has by itself.
_TAKEN = {
    "num_generations",
    "num_islands",
    "task_sys_msg",
    "init_program_path",
    "results_dir",
    "language",
    "job_type",
    "db_path",
}
_SECONDS = 300.0


class ShinkaFormat:
    """A task of ShinkaEvolve, with the settings that its start script writes out."""

    title = "a ShinkaEvolve task"

    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        """As the protocol says: `evaluate.py` alone may be anybody's."""
        seeds = _seeds(folder.files)
        if not seeds or (EVALUATE not in folder.files and not any(name in folder.files for name in _STARTS)):
            return None
        return RecognisedFiles(files=(seeds[0], EVALUATE), complete=EVALUATE in folder.files)

    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        """As the protocol says.

        Raises:
            ConversionError: the seed or the evaluator is missing.
        """
        seeds = _seeds(folder.files)
        for name, there in ((f"{SEED}.*", bool(seeds)), (EVALUATE, EVALUATE in folder.files)):
            if not there:
                raise ConversionError(
                    f"{name} is missing: a ShinkaEvolve task has {SEED}.* and {EVALUATE} in one folder"
                )
        settings = _settings(folder)
        document: dict[str, Any] = {
            "schema": 1,
            "name": problem_name(folder.name),
            "seeds": [seeds[0]],
            **bridge_tables(_seconds(settings.get("time")) or _SECONDS),
            **({"search": search} if (search := _search(settings)) else {}),
        }
        return ConvertedProblem(
            files={**folder.files, **bridge_files("shinka_evaluator")},
            document=document,
            warnings=[
                *([f"{seeds[0]} is taken of {', '.join(seeds)}"] if len(seeds) > 1 else []),
                *_dropped(folder, document.get("search", {})),
            ],
        )


def _seeds(files: Mapping[str, bytes]) -> list[str]:
    return sorted(name for name in files if "/" not in name and PurePosixPath(name).stem == SEED)


def _search(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The run configuration that says what a start script's settings say."""
    search: dict[str, Any] = {}
    generations, islands = settings.get("num_generations"), settings.get("num_islands")
    if isinstance(generations, int) and generations > 0:
        search["evaluations"] = generations
    if isinstance(islands, int) and islands > 0:
        search["islands"] = islands
    if isinstance(description := settings.get(_DESCRIPTION), str) and description.strip():
        search["prompt"] = {"system": description.strip()}
    return search


def _dropped(folder: ProblemFolder, search: Mapping[str, Any]) -> Iterator[str]:
    """What start scripts say of the search and is not taken."""
    scripts = [name for name in _STARTS if name in folder.files]
    for name in scripts:
        yield from not_honoured(name, (key for key in _arguments(folder.text(name)) if key not in _TAKEN))
    if scripts and "evaluations" not in search:
        yield unknown_budget(scripts[0], "num_generations")


def _arguments(text: str) -> Iterator[str]:
    """The arguments of ShinkaEvolve's configurations, those in dicts that are passed on among them."""
    source = parse(text)
    passed_on = set()
    for call in (call for name in _CONFIGS for call in source.calls(name)):
        yield from (one.arg for one in call.keywords if one.arg)
        passed_on |= {one.value.id for one in call.keywords if isinstance(one.value, ast.Name) and not one.arg}
    for call in source.assigned_calls("dict", passed_on):
        yield from (one.arg for one in call.keywords if one.arg)


def _settings(folder: ProblemFolder) -> dict[str, Any]:
    """What a start script names with a value that is written out, and not computed."""
    found: dict[str, Any] = {}
    for name in _STARTS:
        for key, value in _named_values(folder.text(name)):
            found.setdefault(_DESCRIPTION if key.endswith(_DESCRIPTION) else key, value)
    return found


def _named_values(source: str) -> Iterator[tuple[str, Any]]:
    try:
        tree = syntax_tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.keyword) and node.arg:
            names = [node.arg]
        if isinstance(node, ast.Assign | ast.keyword) and isinstance(node.value, ast.Constant):
            yield from ((name, node.value.value) for name in names)


def _seconds(text: object) -> float:
    """A time as a job configuration writes it, `HH:MM:SS`; 0: there is none."""
    parts = text.split(":") if isinstance(text, str) else []
    if len(parts) != 3 or not all(part.isdigit() and len(part) < 6 for part in parts):
        return 0.0
    hours, minutes, seconds = map(int, parts)
    return float(hours * 3600 + minutes * 60 + seconds)
