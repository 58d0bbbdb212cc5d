"""A known-good program and its scorer: written, imported, called and scored the way a candidate is."""

import os
from collections.abc import Mapping
from typing import Any

from .candidate import load, write_program
from .channel import Channel
from .sandbox_spec import ChildSpec

VALUE = 42
TASK: Mapping[str, Any] = {
    "files": {"canary.py": f"def canary():\n    return {VALUE}\n"},
    "main": "canary.py",
    "entry": "canary",
    "command": [],
    "build": [],
    "seed": 0,
    "traced": False,
}
_SCORER_FILES = {"canary_scorer.py": "def score(outputs):\n    return outputs[0]['value']\n"}


def prepare(_: Mapping[str, Any], place: ChildSpec) -> str:
    """Write the scorer down, and read the problem's folder as an evaluator is read.

    Returns:
        The scorer's file.

    Raises:
        OSError: one of the two fails.
    """
    scratch, problem = place["scratch"], place["problem"]
    write_program(_SCORER_FILES, scratch, place["disk_kb"])
    for name in os.listdir(problem):
        path = os.path.join(problem, name)
        if os.path.isfile(path) and name.endswith(".py"):
            with open(path, "rb") as file:
                file.read(1)
    return os.path.join(scratch, *_SCORER_FILES)


def score(channel: Channel, task: Mapping[str, Any], path: str) -> None:
    """Import the scorer and send what it says of the program's outputs."""
    channel.send({"result": load(path, os.path.dirname(path)).score(task["outputs"])})
