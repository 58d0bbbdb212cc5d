"""Written by Evolve: calls evaluate.sh as SkyDiscover does in a container, and reads the JSON that it prints."""

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

PLACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "evaluator")
SCRIPT = "evaluate.sh"
# Where the folder lies in the container.
INSIDE = b"/benchmark"
MAX_BYTES = 16 * 1024 * 1024
MAX_SOURCE = 1024 * 1024
MAX_SHOWN = 4000
# The limits of the problem end it earlier.
MAX_SECONDS = 24 * 3600


def evaluate(program_path: str) -> "dict[str, Any]":
    """The result of a program in the training part, as Evolve reads it."""
    return run(program_path, "train")


def holdout(program_path: str) -> "dict[str, Any]":
    """The result in the test part, as Evolve asks for it when a run has ended."""
    return run(program_path, "test")


def run(program_path: str, mode: str) -> "dict[str, Any]":
    """What the script says of a program."""
    move_sources()
    environment = {**os.environ, "PATH": os.pathsep.join([interpreter(), os.environ.get("PATH", os.defpath)])}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        words = ["bash", os.path.join(PLACE, SCRIPT), program_path, mode]
        done = subprocess.run(
            words, stdout=out, stderr=err, cwd=PLACE, env=environment, check=False, timeout=MAX_SECONDS
        )
        said = end_of(err)
        size = out.tell()
        if size > MAX_BYTES:
            return {"error": f"{SCRIPT} printed {size >> 20} MB, and at most {MAX_BYTES >> 20} MB are read"}
        out.seek(0)
        text = out.read()
    print(said, file=sys.stderr)  # noqa: T201 - shown beside the scores
    if done.returncode:
        last = said.strip().splitlines()[-1:]
        return {"error": ": ".join([f"{SCRIPT} ended with status {done.returncode}", *last])}
    try:
        found = json.loads(text)
    except ValueError:
        return {
            "error": f"{SCRIPT} printed something else than one JSON object: {text[:200].decode('utf-8', 'replace')}"
        }
    if not isinstance(found, dict):
        return {"error": f"{SCRIPT} printed no JSON object"}
    return result(found)


def end_of(file: Any) -> str:
    """The end of what was printed."""
    file.seek(max(0, file.tell() - MAX_SHOWN))
    text: bytes = file.read()
    return text.decode("utf-8", "replace")


def result(found: "dict[str, Any]") -> "dict[str, Any]":
    """Scores and artifacts of what the script printed."""
    metrics, artifacts = found.get("metrics"), found.get("artifacts")
    scores = metrics if isinstance(metrics, dict) else {}
    scores = {str(key): value for key, value in scores.items() if isinstance(value, (int, float))}
    scores.setdefault("combined_score", found.get("combined_score", 0.0))
    told = {str(key): str(value) for key, value in artifacts.items()} if isinstance(artifacts, dict) else {}
    if found.get("status") != "success":
        told.setdefault("status", str(found.get("status", "error")))
    return {**scores, "artifacts": told}


def move_sources() -> None:
    """Write the present place of the folder in its copy, where its sources name the place in the container."""
    for name in os.listdir(PLACE):
        path = os.path.join(PLACE, name)
        if name.endswith((".py", ".sh")) and os.path.isfile(path) and os.path.getsize(path) <= MAX_SOURCE:
            with open(path, "rb") as file:
                text = file.read()
            if INSIDE in text:
                with open(path, "wb") as file:
                    file.write(text.replace(INSIDE, PLACE.encode()))


def interpreter() -> str:
    """A folder where `python` is the interpreter of the problem."""
    folder = tempfile.mkdtemp()
    for name in ("python", "python3"):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        os.chmod(path, 0o700)
    return folder
