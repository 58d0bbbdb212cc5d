"""Written by Evolve: scores a candidate by the function that an AlphaEvolve experiment gives its client."""

import asyncio
import importlib
import inspect
import json
import os
import runpy
import sys
import tempfile
from typing import Any

from evolve_stand_ins import FOLDER, Anything, load, read, settings, stand_in

MAX_BYTES = 16 * 1024 * 1024


class ModelValues:
    """What the client's models are for evaluators: named values, which `model_dump` gives as a dict."""

    def __init__(self, **values: Any) -> None:
        """With these values."""
        self.values = values

    def model_dump(self, **_: Any) -> Any:
        """The values, records within them too."""
        return {key: plain(value) for key, value in self.values.items()}


def evaluate(program_path: str) -> "dict[str, Any]":
    """The result of a program, as Evolve reads it."""
    said = settings()
    files = texts(program_path, said["paths"])
    if not said["function"]:
        return by_command(said["file"], program_path, said["metric"])
    give_client()
    candidate = {"name": "program", "lockToken": "", "content": {"files": files}}
    found = getattr(load(said["file"]), said["function"])(candidate)
    if inspect.isawaitable(found):
        found = asyncio.run(waited(found))
    found = plain(found)
    listed = (found.get("scores") or {}).get("scores") or []
    scores = {one["metric"]: one["score"] for one in listed if one.get("score") is not None}
    return result(scores, (found.get("insights") or {}).get("insights") or [], said["metric"])


def by_command(file: str, program_path: str, metric: str) -> "dict[str, Any]":
    """The result of an evaluator that is a command, as the `ae` command calls it."""
    output = os.path.join(tempfile.mkdtemp(), "evaluation.json")
    sys.path.insert(0, FOLDER)
    sys.argv = [file, "--output-file", output, "--input-program-file", program_path]
    try:
        runpy.run_path(os.path.join(FOLDER, file), run_name="__main__")
    except SystemExit as end:
        if end.code and not os.path.exists(output):
            return {"error": f"{file} ended with status {end.code} and wrote no result"}
    if not os.path.exists(output):
        return {"error": f"{file} wrote no result"}
    if os.path.getsize(output) > MAX_BYTES:
        size = os.path.getsize(output) >> 20
        return {"error": f"{file} wrote a result of {size} MB, and at most {MAX_BYTES >> 20} MB are read"}
    with open(output, encoding="utf-8") as written:
        try:
            found = json.load(written)
        except ValueError:
            return {"error": f"{file} wrote a result that is not JSON"}
    if not isinstance(found, dict):
        return {"error": f"{file} wrote a result that is not a JSON object"}
    score = found.get("score")
    return result({} if score is None else {metric: score}, found.get("insights") or [], metric)


def result(scores: "dict[str, Any]", insights: "list[Any]", metric: str) -> "dict[str, Any]":
    """Scores with the insights as feedback; an error where the metric has no score."""
    lines = [f"{one.get('label', 'insight')}: {one.get('text', '')}" for one in insights]
    feedback = {"feedback": "\n".join(lines)} if lines else {}
    if metric not in scores:
        return {"error": lines[0] if lines else f"the evaluator gave no score for {metric}", **feedback}
    return {**{name: float(score) for name, score in scores.items()}, **feedback}


def texts(program_path: str, paths: "list[str]") -> "list[dict[str, str]]":
    """The files of a program, in the order of the experiment."""
    if not os.path.isdir(program_path):
        return [{"path": paths[0], "content": read(program_path)}]
    return [{"path": path, "content": read(os.path.join(program_path, path))} for path in paths]


def plain(value: Any) -> Any:
    """Records as dicts."""
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else value


def give_client() -> None:
    """Put stand-ins in place of the client where the interpreter lacks it."""
    try:
        importlib.import_module("alpha_evolve.models")
    except ModuleNotFoundError:
        stand_in("alpha_evolve", __getattr__=lambda _: Anything)
        stand_in("alpha_evolve.models", __getattr__=lambda _: ModelValues)


async def waited(found: Any) -> Any:
    """What a coroutine returns."""
    return await found
