"""A small working problem to begin with."""

import re
from collections.abc import Mapping
from pathlib import Path

from service.errors import ConflictError, UsageError

_PROBLEM = """\
# A problem: a program to improve, and an evaluator that scores it. Check it with `evolve problem check .`
schema = 1
name = "{name}"
description = "Find x and y in [-5, 5] where (x - 3)^2 + (y + 1)^2 is smallest."  # shown to the policy
seeds = ["initial_program.py"]           # a file, or a folder for a program of several files
# known_best = 0.0                       # best known score of the first objective
# known_best_source = "where that is from"

[evaluator]
file = "evaluator.py"
integrity = "separate"                   # the scorer never shares a process with the program
entry = "solve"                          # the function of the program that is called
# requirements = ["numpy>=2"]            # looked up by `evolve problem check`, never installed

[limits]                                 # of one evaluation
wall_seconds = 5.0
memory_mb = 512

[[objectives]]
name = "loss"
direction = "minimize"                   # or "maximize"
low = 0.0                                # bounds are needed with several objectives
high = 100.0
target = 0.0001                          # a run ends here

# [[measures]]                           # axes of a map of different solutions; complexity is built in
# name = "complexity"

[search]                                 # defaults of the run configuration
evaluations = 300
"""

_SEED = '''\
"""A point in the plane. Only the text between the two markers may change."""


def solve():
    # EVOLVE-BLOCK-START
    x = 0.5
    y = 1.5
    # EVOLVE-BLOCK-END
    return [x, y]
'''

_EVALUATOR = '''\
"""Scores the value that the program's function returned. The program runs in a process of its own."""


def score(outputs, program):
    """`outputs` has one entry per call: {"value": ..., "seconds": ..., "error": null or a text}."""
    output = outputs[0]
    if output["error"]:
        return {"error": output["error"]}
    x, y = output["value"]
    if not (-5 <= x <= 5 and -5 <= y <= 5):
        return {"error": f"the point ({x}, {y}) lies outside of [-5, 5]"}
    return {"loss": (x - 3) ** 2 + (y + 1) ** 2, "feedback": f"the point is ({x:.4f}, {y:.4f})"}
'''


def init_problem(folder: Path, name: str = "") -> tuple[Path, ...]:
    """Write a small problem that passes its check. Returns the written files.

    Args:
        folder: a missing or empty folder.
        name: the problem's name. Empty: the folder's, without invalid characters.

    Raises:
        ConflictError: the folder is not empty, is a file, or cannot be written.
        UsageError: the name holds invalid characters.
    """
    name = name or name_for(folder)
    if not re.fullmatch(r"[\w][\w .-]{0,99}", name):
        raise UsageError(
            f"the name {name[:100]!r} should be up to 100 letters, digits, blanks, dots, hyphens or underscores"
        )
    texts = {
        "problem.toml": _PROBLEM.format(name=name),
        "initial_program.py": _SEED,
        "evaluator.py": _EVALUATOR,
    }
    return write_problem(folder, texts)


def name_for(folder: Path) -> str:
    """A problem's name from its folder's name, without invalid characters."""
    return re.sub(r"[^\w .-]+", "-", folder.resolve().name).strip(" .-")[:100] or "problem"


def write_problem(folder: Path, texts: Mapping[str, str]) -> tuple[Path, ...]:
    """Write files into a missing or empty folder. Returns their paths.

    Raises:
        ConflictError: the folder is not empty, is a file, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ConflictError(f"{folder} is not empty: name a new folder")
        for path, text in texts.items():
            with (folder / path).open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise ConflictError(f"cannot make a problem in {folder}: {error.strerror}") from error
    return tuple(folder / path for path in texts)
