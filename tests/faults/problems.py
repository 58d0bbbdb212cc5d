"""Problems and runs of the suite: cheap ones of every kind that goes its own way through the service."""

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.e2e.evolving import SEED
from tests.fakes.openai_server import chain

DETERMINISTIC = "deterministic"
_FOLDER = """
schema = 1
name = "{name}"
seeds = ["program.py"]

[evaluator]
file = "evaluator.py"
entry = "give"

[limits]
wall_seconds = 20.0
memory_mb = 128
processes = 8
disk_mb = 4
output_kb = 16
{objectives}
"""
_ONE = '[[objectives]]\nname = "value"\n'
_TWO = "".join(
    f'[[objectives]]\nname = "{name}"\ndirection = "{direction}"\nlow = -1e6\nhigh = 1e6\n\n'
    for name, direction in (("value", "maximize"), ("length", "minimize"))
)
# What fails depends on the value alone, so that a second try fails as the first did.
_EVALUATOR = """
import time

def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    time.sleep(SECONDS)
    value = float(outputs[0]["value"])
    if int(abs(value) * 1000) % 7 == 3:
        raise ValueError("a value that cannot be scored")
    value = max(-1e6, min(1e6, value))
    return {"value": value, "length": float(len(str(program)))}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A kind of run: a problem's folder, a configuration, and whether the fake model answers it."""

    name: str
    objectives: str = _ONE
    seconds: float = 0.0
    config: Mapping[str, Any]
    evaluations: int
    by_model: bool = False

    def problem(self) -> dict[str, Any]:
        """The body that submits its problem."""
        files = {
            "problem.toml": _FOLDER.format(name=self.name, objectives=self.objectives),
            "program.py": SEED,
            "evaluator.py": _EVALUATOR.replace("SECONDS", str(self.seconds)),
        }
        return {"files": files}

    def run(self, number: int, model_url: str) -> dict[str, Any]:
        """The body that submits a run; those of a deterministic shape are all the same."""
        seed = 7 if self.name == DETERMINISTIC else number
        config = {**self.config, "seed": seed, "budget": {"evaluations": self.evaluations}}
        policy = {"base_url": model_url, "answers": 2, "samples": 2, "concurrency": 3} if self.by_model else None
        return {"problem": self.name, "config": config, "policy": policy}


SHAPES = (
    Shape(name="quick", config={"islands": 2, "migration_interval": 7}, evaluations=120),
    Shape(
        name="several",
        objectives=_TWO,
        config={
            "islands": 4,
            "migration_interval": 5,
            "migration_rate": 0.3,
            "reset_after": 9,
            "archive": {"kind": "pareto", "size": 8},
        },
        evaluations=150,
    ),
    Shape(name="slow", seconds=0.05, config={"islands": 1, "archive": {"kind": "top", "size": 5}}, evaluations=60),
    Shape(name="model", config={"islands": 3, "migration_interval": 6}, evaluations=80, by_model=True),
    Shape(
        name=DETERMINISTIC,
        config={"islands": 3, "migration_interval": 5, "deterministic": {"window": 4}},
        evaluations=80,
    ),
)


def model(draw: random.Random) -> Callable[[Mapping[str, Any]], Sequence[str]]:
    """What the fake model answers: chains of two programs, most of them new, some no programs."""
    numbers = itertools.count(1)

    def respond(body: Mapping[str, Any]) -> list[str]:
        chains = []
        for _ in range(int(body.get("n") or 1)):
            programs = [f"def give():\n    return {draw.randrange(10**6)} / {next(numbers)}\n" for _ in range(2)]
            if draw.random() < 0.1:
                programs[0] = "def give(:\n"
            chains.append(chain(*programs))
        return chains

    return respond
