"""SkyDiscover's problems and those of ADRS: OpenEvolve's layout, with evaluators in a folder and keys of their own."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evolve.problem_formats import ConversionError, ConvertedProblem, ProblemFolder, RecognisedFiles
from service.problems.formats.bridge import read_settings
from service.problems.formats.openevolve import (
    CONFIG_KEYS,
    CONFIGS,
    CONTAINER,
    EVALUATORS,
    OpenEvolveFormat,
    has_skydiscovers_files,
    seeds_in,
)

_EVALUATE = re.compile(r"^(async )?def evaluate(_stage1)?\b|import .*\bevaluate\b", re.MULTILINE)


class SkyDiscoverFormat:
    """A problem of SkyDiscover, scored by its Python evaluator."""

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

        Raises:
            ConversionError: the evaluator is a container alone, or what OpenEvolve's form complains of.
        """
        container = next((path for path in CONTAINER if path in folder.files), "")
        if container and not any(_EVALUATE.search(folder.text(path)) for path in EVALUATORS):
            raise ConversionError(
                f"{container}: the evaluator is a container, which Evolve does not start: write {EVALUATORS[1]} with"
                " evaluate(program_path), which returns the scores"
            )
        converted = OpenEvolveFormat().convert(folder)
        objectives = _objectives(folder)
        document = {**converted.document, "objectives": objectives} if objectives else converted.document
        return replace(converted, document=document)


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
