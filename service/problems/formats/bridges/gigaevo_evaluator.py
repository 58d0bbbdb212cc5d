"""Written by Evolve: calls a program's entrypoint and validate.py as GigaEvo does."""

import copy
import importlib.util
import json
import os
import statistics
import sys
from time import perf_counter
from typing import Any

TIMED, WARMUPS = "timing_repetitions", "warmup_repetitions"
MIN_SECONDS = 1e-9
HERE = os.path.dirname(os.path.abspath(__file__))


def evaluate(program_path: str) -> "dict[str, Any]":
    """The result of a program, as Evolve reads it."""
    sys.path.insert(0, HERE)
    with open(os.path.join(HERE, "evolve_evaluator.json"), encoding="utf-8") as file:
        settings = json.load(file)
    given = []
    if os.path.exists(os.path.join(HERE, "context.py")):
        given = [load("context", os.path.join(HERE, "context.py")).build_context()]
    untouched = copy.deepcopy(given) if TIMED in settings else []
    output = load("program", program_path).entrypoint(*given)
    found = load("validate", os.path.join(HERE, "validate.py")).validate(*given, output)
    if isinstance(found, tuple):
        found = found[0]
    if not isinstance(found, dict):
        return {"error": f"validate.py returned {type(found).__name__}, not a dict of metrics"}
    metrics = {str(key): value for key, value in found.items()}
    if TIMED in settings and metrics.get("is_valid", 1):
        metrics.update(runtime(program_path, untouched, settings[TIMED], settings[WARMUPS]))
    hidden = {key: metrics.pop(key) for key in settings["hidden"] if key in metrics}
    if hidden:
        print("private:", hidden)  # noqa: T201 - shown to people by `problem check`, and to no policy
    if not metrics.get("is_valid", 1):
        return {"error": "validate.py says that the program is not valid"}
    return metrics


def runtime(path: str, given: "list[Any]", timed: int, warmups: int) -> "dict[str, float]":
    """The metrics of a program's time: the median over runs, each with the program and the context as new."""
    times = []
    for _ in range(warmups + timed):
        arguments = copy.deepcopy(given)
        began = perf_counter()
        load("program", path).entrypoint(*arguments)
        times.append(perf_counter() - began)
    seconds = max(statistics.median(times[warmups:]), MIN_SECONDS)
    return {"fitness": 1 / seconds, "execution_time_sec": seconds, TIMED: timed, WARMUPS: warmups}


def load(name: str, path: str) -> Any:
    """A module of a file."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
