"""Runs a function of a program several times, validates and aggregates the results, and writes them down."""

import importlib.util
import json
import math
import os
import statistics
import traceback
from collections.abc import Callable
from time import perf_counter
from typing import Any

_ON_ERROR = {"combined_score": 0.0, "execution_time_mean": 0.0, "execution_time_std": 0.0, "num_successful_runs": 0}
Metrics = dict[str, Any]
Validate = Callable[[Any], tuple[bool, "str | None"]]


def run_shinka_eval(
    program_path: str,
    results_dir: str,
    experiment_fn_name: str,
    num_runs: int,
    get_experiment_kwargs: "Callable[[int], dict[str, Any]] | None" = None,
    aggregate_metrics_fn: "Callable[[list[Any]], Metrics] | None" = None,
    validate_fn: "Validate | None" = None,
    default_metrics_on_error: "Metrics | None" = None,
    **passed_over: Any,
) -> "tuple[Metrics, bool, str | None]":
    """Call a function of the program `num_runs` times; metrics, whether all results are valid, and the first error.

    Runs follow one another. Plots, early stopping and parallel workers are passed over.

    Args:
        program_path: the program.
        results_dir: where `metrics.json` and `correct.json` are written.
        experiment_fn_name: the function.
        num_runs: how often it is called.
        get_experiment_kwargs: arguments of each call, by its number from 0; None: `seed`, from 1.
        aggregate_metrics_fn: metrics of all results.
        validate_fn: whether a result is valid, and why not.
        default_metrics_on_error: metrics where anything raises an exception.
        passed_over: further arguments of ShinkaEvolve.
    """
    del passed_over
    try:
        results, seconds = _results(program_path, experiment_fn_name, num_runs, get_experiment_kwargs)
        metrics, error = _judged(results, aggregate_metrics_fn, validate_fn)
        metrics["execution_time_mean"] = statistics.fmean(seconds) if seconds else 0.0
        metrics["execution_time_std"] = statistics.pstdev(seconds) if seconds else 0.0
    except Exception as failure:  # noqa: BLE001 - the program may raise anything, which is a result here
        traceback.print_exc()
        metrics, error = {**_ON_ERROR, **(default_metrics_on_error or {})}, str(failure) or type(failure).__name__
    metrics.pop("extra_data", None)
    os.makedirs(results_dir, exist_ok=True)
    for name, value in (("correct.json", {"correct": error is None, "error": error}), ("metrics.json", metrics)):
        with open(os.path.join(results_dir, name), "w", encoding="utf-8") as file:
            json.dump(value, file, default=_plain)
    return metrics, error is None, error


def _results(
    path: str, function: str, runs: int, arguments: "Callable[[int], dict[str, Any]] | None"
) -> "tuple[list[Any], list[float]]":
    spec = importlib.util.spec_from_file_location("program", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    experiment = getattr(module, function)
    results, seconds = [], []
    for number in range(runs):
        given = arguments(number) if arguments else {"seed": number + 1}
        began = perf_counter()
        results.append(experiment(**given))
        seconds.append(perf_counter() - began)
    return results, seconds


def _judged(
    results: "list[Any]", aggregate: "Callable[[list[Any]], Metrics] | None", validate: "Validate | None"
) -> "tuple[Metrics, str | None]":
    verdicts = [validate(result) for result in results] if validate else []
    complaints = list(dict.fromkeys(str(why) for valid, why in verdicts if not valid and why))
    invalid = sum(not valid for valid, _ in verdicts)
    metrics: Metrics = aggregate(results) if aggregate else {"num_successful_runs": len(results)}
    error = f"Validation failed: {complaints[0] if complaints else 'a result is invalid'}" if invalid else None
    if validate:
        metrics["num_valid_runs"] = len(verdicts) - invalid
        metrics["num_invalid_runs"], metrics["all_validation_errors"] = invalid, complaints
    score = metrics.get("combined_score")
    if error is None and score is not None and not math.isfinite(score):
        error = f"combined_score is {score}"
    return metrics, error


def _plain(value: Any) -> Any:
    """A value of numpy as one of Python, anything else as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
