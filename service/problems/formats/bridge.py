"""Writes the evaluators of converted problems, which call the evaluators of other projects."""

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from evolve.problem_formats import ConversionError, ProblemFolder
from service.problems.documents import DocumentError, read_document

SEARCH_REASON = "the run configuration shapes the search (--config FILE, --set islands=2)"
EVALUATOR, SETTINGS = "evolve_evaluator.py", "evolve_evaluator.json"
# Other projects bound nothing but the time: their evaluators use every core and write what they like.
CORES = 16
_LIMITS = {"memory_mb": 4096, "processes": 256, "disk_mb": 1024, "output_kb": 16_384}


def bridge_files(name: str, settings: Mapping[str, Any] | None = None) -> dict[str, bytes]:
    """The files of a bridge, a module of `service.problems.formats.bridges`.

    Args:
        name: of the module.
        settings: that it reads from a file beside it; None: it reads none.
    """
    text = files("service.problems.formats.bridges").joinpath(f"{name}.py").read_bytes()
    beside = {} if settings is None else {SETTINGS: (json.dumps(settings, indent=1) + "\n").encode()}
    return {EVALUATOR: text, **beside}


def bridge_tables(seconds: float, **limits: float) -> Mapping[str, Any]:
    """The tables `[evaluator]` and `[limits]` of a problem whose evaluator is a bridge.

    Args:
        seconds: that one evaluation may take.
        limits: other limits than the usual ones.
    """
    table = {"wall_seconds": float(seconds), "cpu_seconds": float(seconds) * CORES, **_LIMITS, **limits}
    return {"evaluator": {"file": EVALUATOR, "integrity": "shared", "lenient": True}, "limits": table}


def read_settings(folder: ProblemFolder, path: str) -> dict[str, Any]:
    """A document of a folder.

    Raises:
        ConversionError: it cannot be read.
    """
    try:
        return read_document(path, folder.files[path])
    except DocumentError as error:
        raise ConversionError(str(error)) from error


def number_of(value: object, default: float) -> float:
    """A finite number above 0 that a document has; else the default."""
    sound = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e12
    return float(value) if sound and isinstance(value, int | float) else default


def not_honoured(path: str, keys: Iterable[str]) -> list[str]:
    """A warning that names settings of a search that are not honoured; none where there are none.

    Args:
        path: of the file that has them.
        keys: as the file has them.
    """
    names = list(dict.fromkeys(keys))
    verb = "is" if len(names) == 1 else "are"
    return [f"{path}: {', '.join(names)} {verb} not honoured: {SEARCH_REASON}"] if names else []


def unknown_budget(path: str, key: str) -> str:
    """A warning that a file does not say how many programs a search evaluates, so that the usual budget holds."""
    return f"{path}: {key} is not written out as a number, so the default budget holds: --evaluations N sets another"


def require(folder: ProblemFolder, paths: tuple[str, ...], title: str) -> None:
    """Check that a folder has the files that its form needs.

    Raises:
        ConversionError: with one sentence for each that is missing.
    """
    if missing := [path for path in paths if path not in folder.files]:
        raise ConversionError(*(f"{path} is missing: {title} has {' and '.join(paths)}" for path in missing))
