"""In the child that scores: calls the evaluator's functions, stage by stage, and sends what they return."""

import inspect
import math
import os
import shutil
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from . import import_times
from .candidate import failure, flush, load, write_program
from .channel import Channel
from .jsonable import NotJsonError, entries_of, jsonable, text_of, view_of
from .sandbox_spec import ChildSpec

COMBINED = "combined_score"
_PROJECT, _CANDIDATE = "project", "candidate"
Thresholds = Sequence[Mapping[str, float]]


class EvaluatorError(Exception):
    """The evaluator is not what a problem needs."""


def score(channel: Channel, task: Mapping[str, Any], problem: str) -> None:
    """Separate integrity: `score(outputs, program)`, after its stages while thresholds are reached, or `render`."""
    _report(channel, problem, lambda: _score(task, problem), traced=task.get("traced", False))


def read_only(_: Mapping[str, Any], place: ChildSpec) -> str:
    """Separate integrity: the problem's folder, to which nothing is written."""
    return place["problem"]


def prepare(task: Mapping[str, Any], place: ChildSpec) -> str:
    """Shared integrity: make a writable copy of the problem's folder, and write the program beside it.

    Files that `links` of the task names are links to the problem's folder, which nobody writes to.

    Returns:
        The copy, which is the working directory from now on.

    Raises:
        UnfitError: the program's files cannot be written with these limits.
        OSError: the sandbox fails.
    """
    scratch = place["scratch"]
    folder = os.path.join(scratch, _PROJECT)
    links = {os.path.join(place["problem"], path) for path in task.get("links", ())}

    def lay_out(source: str, target: str) -> None:
        if source in links:
            os.symlink(source, target)
        else:
            _copy(source, target)

    shutil.copytree(place["problem"], folder, symlinks=True, copy_function=lay_out)
    write_program(task["files"], os.path.join(scratch, _CANDIDATE), place["disk_kb"])
    sys.path.append(place["shim"])
    os.chdir(folder)
    return folder


def _copy(source: str, target: str) -> None:
    """Copy a file; its mode is given when it is made, for later a layer may let nobody change it."""
    with open(source, "rb") as read:
        made = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IMODE(os.fstat(read.fileno()).st_mode))
        with open(made, "wb") as written:
            shutil.copyfileobj(read, written)


def evaluate(channel: Channel, task: Mapping[str, Any], folder: str) -> None:
    """Shared integrity: `evaluate(program_path)`, its stages or `holdout`, in a writable copy of the folder."""
    _report(channel, folder, lambda: _evaluate(task, folder), traced=task.get("traced", False))


def setup(channel: Channel, task: Mapping[str, Any], folder: str) -> None:
    """Shared integrity: the evaluator's `setup()`, in a writable copy of the folder."""
    _report(channel, folder, lambda: {"result": entries_of(_loaded(task, folder).setup())})


def inputs(channel: Channel, task: Mapping[str, Any], problem: str) -> None:
    """The evaluator's `inputs()` or `holdout_inputs()`; null when it has none."""
    _report(channel, problem, lambda: {"result": _inputs(task, problem)})


def _report(channel: Channel, folder: str, work: Callable[[], dict[str, Any]], *, traced: bool = False) -> None:
    try:
        times = import_times.taken(folder, os.path.join(os.path.dirname(folder), _CANDIDATE)) if traced else {}
        answer = work() | {"imports": times}
        flush()
        channel.send(answer)
    except EvaluatorError as error:
        channel.send({"failed": str(error), "outcome": "error"})
    except BaseException as error:  # noqa: BLE001 - an evaluator, or the program in it, may raise anything
        flush()
        channel.send(failure(error, folder, "the evaluator failed: "))


def _score(task: Mapping[str, Any], problem: str) -> dict[str, Any]:
    module = load(os.path.join(problem, task["evaluator"]), problem)
    if task["function"] == "render":
        return {"result": {"view": _drawn(module, task)}}
    names = [task["function"]] if task["function"] != "score" else [*_stages(module, "score_stage"), "score"]
    functions = [(name, getattr(module, name)) for name in names if callable(getattr(module, name, None))]
    if not functions:
        raise EvaluatorError(f"{task['evaluator']} defines no function {task['function']}(outputs, program)")
    given = task["outputs"], dict(task["files"])
    found = _cascade([(name, partial(function, *given)) for name, function in functions], task)
    return found if task["function"] != "score" else _drawable(found, getattr(module, "render", None))


def _drawable(found: dict[str, Any], render: Any) -> dict[str, Any]:
    """A result that says that `render(outputs)` can draw a view on demand, where it has scores and no view."""
    result = found["result"]
    if not callable(render) or "stage" in found or not isinstance(result, dict) or {"view", "error"} & result.keys():
        return found
    return {**found, "result": {**result, "view": {"render": True}}}


def _drawn(module: Any, task: Mapping[str, Any]) -> Any:
    """What `render(outputs)` draws, as JSON carries it."""
    render = getattr(module, "render", None)
    if not callable(render):
        raise EvaluatorError(f"{task['evaluator']} defines no function render(outputs)")
    try:
        return view_of(render(task["outputs"]))
    except Exception as error:  # noqa: BLE001 - a picture may raise anything
        return {"error": f"{type(error).__name__}: {error}"}


def _evaluate(task: Mapping[str, Any], folder: str) -> dict[str, Any]:
    place = os.path.join(os.path.dirname(folder), _CANDIDATE)
    path = os.path.join(place, task["main"]) if task["main"] else place
    module = _loaded(task, folder)
    names = [task["function"]] if task["function"] != "score" else []
    names = names or (_stages(module, "evaluate_stage") if task["thresholds"] else []) or ["evaluate"]
    if not callable(getattr(module, names[0], None)):
        raise EvaluatorError(f"{task['evaluator']} defines no function {names[0]}(program_path)")
    return _cascade([(name, partial(getattr(module, name), path)) for name in names], task)


def _loaded(task: Mapping[str, Any], folder: str) -> Any:
    evaluator = os.path.join(folder, task["evaluator"])
    sys.argv = [evaluator]
    return load(evaluator, os.path.dirname(evaluator))


def _stages(module: Any, prefix: str) -> list[str]:
    names: list[str] = []
    while callable(getattr(module, f"{prefix}{len(names) + 1}", None)):
        names.append(f"{prefix}{len(names) + 1}")
    return names


def _cascade(calls: Sequence[tuple[str, Callable[[], Any]]], task: Mapping[str, Any]) -> dict[str, Any]:
    thresholds: Thresholds = task["thresholds"]
    merged: dict[str, Any] = {}
    for number, (name, call) in enumerate(calls):
        try:
            result = _plain(call(), name)
        except Exception as error:  # an evaluator may raise anything
            if not (task["lenient"] and number):
                raise
            return {"result": merged | _failed_stage(merged, number + 1, error)}
        if not isinstance(result, dict):
            return {"result": result}
        artifacts = merged.get("artifacts")
        merged |= result
        if isinstance(artifacts, dict) and isinstance(merged.get("artifacts"), dict):
            merged["artifacts"] = artifacts | merged["artifacts"]
        if number + 1 < len(calls) and number < len(thresholds):
            complaint = _falls_short(merged, thresholds[number], task["minimized"])
            if complaint:
                return {"result": merged, "stage": f"stopped after stage {number + 1}: {complaint}"}
    return {"result": merged}


def _failed_stage(merged: Mapping[str, Any], number: int, error: Exception) -> dict[str, Any]:
    """What OpenEvolve says of a program whose later stage fails: it keeps the scores of the stages before."""
    artifacts = merged.get("artifacts")
    told = {f"stage{number}_stderr": f"{type(error).__name__}: {error}", "failure_stage": f"stage{number}"}
    return {
        f"stage{number}_passed": 0.0,
        "artifacts": {**(artifacts if isinstance(artifacts, dict) else {}), **text_of(told)},
    }


def _plain(result: Any, name: str) -> Any:
    if type(result) is dict:
        return entries_of(result)
    if inspect.isawaitable(result):
        result = _awaited(result)
    if hasattr(result, "metrics") and hasattr(result, "artifacts"):
        artifacts = text_of(result.artifacts or {})
        return {**entries_of(result.metrics), "artifacts": artifacts} if artifacts else entries_of(result.metrics)
    if isinstance(result, Mapping):
        return entries_of(result)
    try:
        return jsonable(result)
    except NotJsonError:
        raise EvaluatorError(f"{name}() returned a {type(result).__name__} instead of a dict of scores") from None


def _awaited(result: Any) -> Any:
    import asyncio

    async def wait() -> Any:
        return await result

    return asyncio.run(wait())


def _falls_short(metrics: Mapping[str, Any], thresholds: Mapping[str, float], minimized: Sequence[str]) -> str:
    for name, wanted in thresholds.items():
        value = _metric(metrics, name)
        if value is None:
            return f"there is no score {name}"
        short = value > wanted if name in minimized else value < wanted
        if short or math.isnan(value):
            return f"{name} is {value:.6g}, and {wanted:.6g} is needed to go on"
    return ""


def _metric(metrics: Mapping[str, Any], name: str) -> float | None:
    value = metrics.get(name)
    if isinstance(value, bool | int | float):
        return float(value)
    numbers = [float(entry) for entry in metrics.values() if isinstance(entry, bool | int | float)]
    return sum(numbers) / len(numbers) if name == COMBINED and numbers else None


def _inputs(task: Mapping[str, Any], problem: str) -> Any:
    module = load(os.path.join(problem, task["evaluator"]), problem)
    function = getattr(module, task["function"], None)
    if not callable(function):
        return None
    try:
        found = jsonable(list(function()))
    except NotJsonError as error:
        raise EvaluatorError(f"{task['function']}() returned what cannot be used: {error}") from None
    return found
