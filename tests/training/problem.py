"""A problem with two objectives, runs of it, and a judge that scores its programs."""

import re
from collections.abc import Sequence
from pathlib import Path

from evolve.evaluation import Evaluation, Outcome
from evolve.program import Program

PROBLEM = """
schema = 1
name = "point"
description = "Return the point of the unit square that lies nearest to a hidden one."
seeds = ["program.py"]

[evaluator]
file = "evaluator.py"
entry = "point"

[[objectives]]
name = "across"
low = 0.0
high = 1.0

[[objectives]]
name = "up"
low = 0.0
high = 1.0

[search]
islands = 2
"""
SEED = "def point():\n    return [0.00, 0.00]\n"
EVALUATOR = """
def score(outputs, program):
    x, y = outputs[0]["value"]
    return {"across": 1.0 - abs(x - 0.62), "up": 1.0 - abs(y - 0.41)}
"""
_POINT = re.compile(r"return \[(-?[\d.]+), (-?[\d.]+)\]")


def make_point(folder: Path) -> Path:
    """The problem as a folder."""
    folder.mkdir()
    for name, text in {"problem.toml": PROBLEM, "program.py": SEED, "evaluator.py": EVALUATOR}.items():
        (folder / name).write_text(text)
    return folder


def point(x: float, y: float) -> str:
    """A program of the problem."""
    return f"def point():\n    return [{x:.2f}, {y:.2f}]"


def evaluate(programs: Sequence[Program]) -> list[Evaluation]:
    """What the evaluator says, by reading instead of running."""
    return [_evaluated(program.text) for program in programs]


def _evaluated(text: str) -> Evaluation:
    found = _POINT.search(text)
    if found is None:
        return Evaluation(outcome=Outcome.ERROR, reason="no point")
    x, y = map(float, found.groups())
    return Evaluation(outcome=Outcome.OK, scores={"across": 1.0 - abs(x - 0.62), "up": 1.0 - abs(y - 0.41)})
