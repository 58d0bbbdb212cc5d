"""Written by Evolve: scores a candidate by the evaluator that a script gives GEPA's `optimize_anything`."""

import argparse
import importlib
import inspect
import os
import runpy
import sys
import types
from typing import Any

from evolve_stand_ins import FOLDER, Anything, find_in_folder, read, settings

MAX_TEXT = 2_000
MAX_SHOWN = 3


class CalledError(BaseException):
    """The script has called `optimize_anything`: what it gave is known, and the rest of it is not run."""


def evaluate(program_path: str) -> "dict[str, Any]":
    """The result of a program, as Evolve reads it: its mean score over the validation set, else the training set.

    Feedback comes from the training set alone.
    """
    given, found = arguments(), candidate(program_path)
    training = list(given.get("dataset") or [None])
    validation = given.get("valset")
    if validation:
        counted = [scored(given["evaluator"], found, example) for example in validation]
        shown = [scored(given["evaluator"], found, example) for example in training[:MAX_SHOWN]]
    else:
        counted = [scored(given["evaluator"], found, example) for example in training]
        shown = counted[:MAX_SHOWN]
    return result(counted, {"feedback": feedback([info for _, info in shown])})


def holdout(program_path: str) -> "dict[str, Any]":
    """The mean score over the test set, as Evolve asks for it when a run has ended."""
    given, found = arguments(), candidate(program_path)
    return result([scored(given["evaluator"], found, example) for example in given["test_set"]], {})


def result(counted: "list[tuple[float, Any]]", shown: "dict[str, Any]") -> "dict[str, Any]":
    """The mean score, in which an example that ends with an error counts 0 at most; without any other, the error."""
    if all(error_of(info) for _, info in counted):
        return {"error": error_of(counted[0][1])[:MAX_TEXT], **shown}
    scores = [min(score, 0.0) if error_of(info) else score for score, info in counted]
    return {"score": sum(scores) / len(scores), **shown}


def error_of(info: Any) -> str:
    """The error that an evaluator names beside a score; empty: none."""
    said = info.get("error") if isinstance(info, dict) else None
    return str(said) if said else ""


def candidate(program_path: str) -> Any:
    """The text of a program, or its texts by the names that the seed gives them."""
    names = settings()["components"]
    if not names:
        return read(program_path)
    if os.path.isdir(program_path):
        return {name: read(os.path.join(program_path, file)) for name, file in names.items()}
    return {name: read(program_path) for name in names}


def scored(evaluator: Any, found: Any, example: Any) -> "tuple[float, Any]":
    """Score and information for an example, with the arguments that the evaluator takes."""
    offered = {"example": example, "opt_state": None}
    taken = inspect.signature(evaluator).parameters
    given = evaluator(found, **{name: value for name, value in offered.items() if name in taken})
    score, info = given if isinstance(given, tuple) and len(given) == 2 else (given, {})
    if not isinstance(score, (int, float)) and not hasattr(score, "item"):
        raise TypeError(f"the evaluator returned {type(score).__name__}, not a number or (number, info)")
    return float(score), info


def feedback(infos: "list[Any]") -> str:
    """What evaluators say beside scores, with long texts cut."""
    lines = []
    for info in infos:
        for key, value in info.items() if isinstance(info, dict) else ():
            if value is not None and (said := str(value)) and said != "{}":
                lines.append(f"{key}: {said if len(said) <= MAX_TEXT else said[:MAX_TEXT] + ' ...'}")
    return "\n".join(lines)


def arguments() -> "dict[str, Any]":
    """What the script gives `optimize_anything`: the script is run up to there."""
    given: dict[str, Any] = {}

    def optimize_anything(seed_candidate: Any = None, **named: Any) -> None:
        given.update(named, seed_candidate=seed_candidate)
        raise CalledError

    module = gepa_module()
    module.optimize_anything = optimize_anything
    find_in_folder("examples")
    argparse.ArgumentParser.parse_args = without_required  # type: ignore[assignment]
    script = os.path.join(FOLDER, settings()["file"])
    sys.path.insert(0, FOLDER)
    sys.argv = [script]
    try:
        runpy.run_path(script, run_name="__main__")
    except CalledError:
        return given
    raise RuntimeError(f"{settings()['file']} ended without a call of optimize_anything")


def without_required(parser: argparse.ArgumentParser, *_: Any) -> argparse.Namespace:
    """The defaults of a command line, of which nothing was written; a text that must be written is empty."""
    for action in vars(parser)["_actions"]:
        if action.required and action.default is None and action.type in (None, str):
            action.default = ""
        action.required = False
    return parser.parse_known_args([])[0]


def gepa_module() -> Any:
    """GEPA's module where the interpreter has it, else a stand-in."""
    try:
        return importlib.import_module("gepa.optimize_anything")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("gepa"):
            raise
    package, module = types.ModuleType("gepa"), types.ModuleType("gepa.optimize_anything")
    vars(package)["__path__"] = []
    vars(package)["optimize_anything"] = module
    vars(module)["__getattr__"] = lambda _: Anything
    sys.modules.update({"gepa": package, "gepa.optimize_anything": module})
    return module
