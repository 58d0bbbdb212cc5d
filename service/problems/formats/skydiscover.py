"""SkyDiscover's problems and those of ADRS: OpenEvolve's layout, with evaluators in a folder and keys of their own."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evolve.problem_formats import ConversionError, ConvertedProblem, ProblemFolder, RecognisedFiles
from service.problems import project
from service.problems.formats.bridge import EVALUATOR, bridge_files, read_settings
from service.problems.formats.openevolve import (
    CONFIG_KEYS,
    CONFIGS,
    CONTAINER,
    EVALUATORS,
    convert_openevolve,
    has_skydiscovers_files,
    seeds_in,
)

_FITNESS_KEYS = ("search.database.fitness_key", "search.database.higher_is_better")
_SCRIPT = CONTAINER[1]
# The script reads its second argument, `train` or `test`, outside of a comment.
_MODE = re.compile(r"^[^#\n]*\$(?:2\b|\{2\b|@|\*)", re.MULTILINE)
# Steps of a Dockerfile that a Python environment replaces.
_PLAIN_STEP = re.compile(r"RUN\s+(?:(?:pip3?|python3? -m pip) install [^&|;]*|chmod \S+ [^&|;]*|mkdir [^&|;]*)")
_EVALUATE = re.compile(r"^(async )?def evaluate(_stage1)?\b|import .*\bevaluate\b", re.MULTILINE)


class SkyDiscoverFormat:
    """A problem of SkyDiscover, scored by its Python evaluator or by the script of its container."""

    title = "a SkyDiscover problem"
    config_keys = (*CONFIG_KEYS, "search", "diff_based_generation", "max_solution_length", "llm_as_judge")

    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        """As the protocol says."""
        seeds = seeds_in(folder.files)
        if not seeds or not has_skydiscovers_files(folder):
            return None
        evaluators = [path for path in (*EVALUATORS, *CONTAINER) if path in folder.files]
        return RecognisedFiles(files=(seeds[0], *evaluators[:1]), complete=bool(evaluators))

    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        """As the protocol says.

        The script of a container is called where no Python evaluator is, and where it has a test part.

        Raises:
            ConversionError: the evaluator needs a container, or what OpenEvolve's form complains of.
        """
        python = any(_EVALUATE.search(folder.text(path)) for path in EVALUATORS)
        divided = bool(_MODE.search(folder.text(_SCRIPT)))
        if (container := next((path for path in CONTAINER if path in folder.files), "")) and (divided or not python):
            if wrong := _needs_container(folder, container):
                raise ConversionError(wrong)
            folder = _with_bridge(folder)
        objectives = _objectives(folder)
        converted = convert_openevolve(folder, _FITNESS_KEYS if objectives else ())
        document = {**converted.document, "objectives": objectives} if objectives else converted.document
        if divided:
            document = {**document, "evaluator": {**document["evaluator"], "holdout": True}}
        return replace(converted, document=document)


def _with_bridge(folder: ProblemFolder) -> ProblemFolder:
    """The folder with an evaluator that calls the script."""
    named = json.loads(folder.files.get(project.FILE, b"{}")) | {project.EVALUATOR: EVALUATOR}
    files = {**folder.files, **bridge_files("skydiscover_evaluator"), project.FILE: json.dumps(named).encode()}
    return replace(folder, files=files)


def _needs_container(folder: ProblemFolder, container: str) -> str:
    """Why the script cannot be called without its container; empty: it can."""
    sentence = (
        f"{container}: the evaluator is a container, which Evolve does not start: write {EVALUATORS[1]} with"
        " evaluate(program_path), which returns the scores"
    )
    if _SCRIPT not in folder.files:
        return sentence
    for line in map(str.strip, folder.text(CONTAINER[0]).replace("\\\n", " ").splitlines()):
        if line.startswith("FROM ") and not line.startswith("FROM python:"):
            return f"{sentence}. It is built with {line[:100]}"
        if line.startswith("RUN ") and not _PLAIN_STEP.fullmatch(line):
            return f"{sentence}. It is built with {line[:100]}"
    return ""


def _objectives(folder: ProblemFolder) -> list[dict[str, Any]]:
    """The metric that a configuration names as the fitness, and which way it is better."""
    config = folder.options.get("config") or next((name for name in CONFIGS if name in folder.files), "")
    search = read_settings(folder, config).get("search") if config else None
    database = search.get("database") if isinstance(search, Mapping) else None
    key = database.get("fitness_key") if isinstance(database, Mapping) else None
    if not isinstance(key, str) or not key or not isinstance(database, Mapping):
        return []
    higher = database.get("higher_is_better")
    better = higher.get(key, True) if isinstance(higher, Mapping) else higher is not False
    return [{"name": key, "direction": "maximize" if better else "minimize"}]
