"""CodeEvolve's problems: `input/evaluate.py`, `input/src/init_program.*` and `configs/*.yaml`."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from evolve.problem_formats import ConversionError, ConvertedProblem, ProblemFolder, RecognisedFiles
from service.problems.formats.bridge import bridge_files, bridge_tables, not_honoured, number_of, read_settings
from service.problems.problem_document import problem_name

INPUT, CONFIGS, SEED = "input/", "configs/", "init_program"
_SECONDS = 360.0
# Keys that are taken, and those of files, checkpoints and checks that Evolve makes by itself.
_TAKEN = {
    "CODEBASE_PATH", "INIT_FILE_DATA", "EVAL_FILE_NAME", "EVAL_TIMEOUT", "MAX_MEM_BYTES", "MEM_CHECK_INTERVAL_S",
    "SYS_MSG", "ENSEMBLE", "EVOLVE_CONFIG", "fitness_key", "num_epochs", "num_islands", "early_stopping_rounds",
    "migration_interval", "migration_rate", "ckpt",
}  # fmt: skip
_MARKERS = re.compile(r"^[ \t]*# PROMPT-BLOCK-(START|END)[ \t]*\n?", re.MULTILINE)


class CodeEvolveFormat:
    """A problem of CodeEvolve, with the configuration that is named, or the first."""

    title = "a CodeEvolve problem"
    # Beside them lie the checkpoints of experiments.
    folders = ("input", "configs")
    config_keys = ("CODEBASE_PATH", "ENSEMBLE", "EVAL_FILE_NAME", "EVAL_TIMEOUT", "EVOLVE_CONFIG", "SYS_MSG")

    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        """As the protocol says."""
        script, seeds, configs = f"{INPUT}evaluate.py", _seeds(folder.files), _configs(folder.files)
        if not seeds and not (script in folder.files and configs):
            return None
        found = (*([script] if script in folder.files else []), *seeds[:1], *configs[:1])
        return RecognisedFiles(files=found, complete=bool(script in folder.files and seeds and configs))

    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        """As the protocol says.

        Raises:
            ConversionError: a file is missing, or the configuration cannot be read.
        """
        configs = _configs(folder.files)
        chosen = folder.options.get("config") or next(iter(configs), "")
        if not chosen:
            raise ConversionError(f"{CONFIGS}*.yaml is missing: {self.title} has one with fitness_key in EVOLVE_CONFIG")
        settings = read_settings(folder, chosen)
        evolution = _table(settings, "EVOLVE_CONFIG")
        base = PurePosixPath(INPUT, str(settings.get("CODEBASE_PATH") or "src/"))
        seed = (base / str(_table(settings, "INIT_FILE_DATA").get("filename") or f"{SEED}.py")).as_posix()
        script = f"{INPUT}{settings.get('EVAL_FILE_NAME') or 'evaluate.py'}"
        for path in (script, seed):
            if path not in folder.files:
                raise ConversionError(f"{path} is missing: {chosen} names it")
        if not isinstance(key := evolution.get("fitness_key"), str):
            raise ConversionError(f"{chosen}: EVOLVE_CONFIG.fitness_key should name the score to maximise")
        memory = number_of(settings.get("MAX_MEM_BYTES"), 4096 * 2**20) / 2**20
        tables = bridge_tables(number_of(settings.get("EVAL_TIMEOUT"), _SECONDS), memory_mb=max(1, int(memory)))
        document = {
            "schema": 1,
            "name": problem_name(folder.name),
            "language": str(_table(settings, "INIT_FILE_DATA").get("language") or "python"),
            "seeds": [seed],
            **tables,
            "objectives": [{"name": key, "direction": "maximize"}],
            "search": _search(settings, evolution),
        }
        files = {
            **folder.files,
            **bridge_files("codeevolve_evaluator", {"script": script, "codebase": base.as_posix()}),
        }
        return ConvertedProblem(files=files, document=document, warnings=_warnings(chosen, configs, settings))


def _seeds(files: Mapping[str, bytes]) -> list[str]:
    return sorted(path for path in files if path.startswith(INPUT) and PurePosixPath(path).stem == SEED)


def _configs(files: Mapping[str, bytes]) -> list[str]:
    """Configurations, `config.yaml` before others."""
    found = [path for path in files if path.startswith(CONFIGS) and path.endswith((".yaml", ".yml"))]
    return sorted(found, key=lambda path: (PurePosixPath(path).stem != "config", path))


def _table(settings: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = settings.get(key)
    return value if isinstance(value, Mapping) else {}


def _search(settings: Mapping[str, Any], evolution: Mapping[str, Any]) -> dict[str, Any]:
    search: dict[str, Any] = {}
    budget: dict[str, int] = {}
    islands = int(number_of(evolution.get("num_islands"), 0))
    # In an epoch, each island makes a program, and a round without progress is one of all islands.
    epochs, rounds = (
        int(number_of(evolution.get(key), 0)) * max(islands, 1) for key in ("num_epochs", "early_stopping_rounds")
    )
    if epochs:
        budget["evaluations"] = epochs + 1  # the seed is evaluated too
    if rounds:
        budget["patience"] = rounds
    if budget:
        search["budget"] = budget
    if islands:
        search["islands"] = islands
    # In an epoch, each island makes a program: both mean the same as ours.
    if interval := int(number_of(evolution.get("migration_interval"), 0)):
        search["migration_interval"] = interval
    if 0 < (rate := number_of(evolution.get("migration_rate"), 0)) <= 1:
        search["migration_rate"] = rate
    if isinstance(text := settings.get("SYS_MSG"), str) and (system := _MARKERS.sub("", text).strip()):
        search["prompt"] = {"system": system}
    return search


def _warnings(chosen: str, configs: list[str], settings: Mapping[str, Any]) -> list[str]:
    warnings = []
    if len(configs) > 1 and chosen == configs[0]:
        warnings.append(f"{chosen} is taken of {', '.join(configs)}: --config names another")
    if settings.get("ENSEMBLE"):
        warnings.append(f"{chosen}: ENSEMBLE names models without an address: name them with --policy")
    keys = [key for key in (*_table(settings, "EVOLVE_CONFIG"), *settings) if key not in _TAKEN]
    return warnings + not_honoured(chosen, keys)
