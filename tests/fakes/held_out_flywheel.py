"""A flywheel of adapters that trains nothing: `python -m tests.fakes.held_out_flywheel DATABASE HOME SERVER WORDS`.

WORDS are a JSON object: `name`, `evaluations`, and whether problems are `held` out.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from service.cli.exit_codes import outcome
from service.cli.flywheel import FlywheelOptions, run_flywheel
from service.cli.terminal import Terminal
from service.client.service_choice import SourceOptions
from service.errors import ServiceError, UsageError
from service.ports.training_backends import TrainingTask
from service.problems.family import read_family, read_held_out
from service.trainer.trl import TrlBackend
from service.usecases.flywheel import FlywheelOrder

ENOUGH = "there are enough parents, and nothing is trained here"


class CheckingBackend(TrlBackend):
    """Checks what a training needs as the product does, and then fails."""

    def missing(self) -> str:
        return ""  # checking needs no torch

    def command(self, job: TrainingTask, base: Path | None, folder: Path) -> Sequence[str]:
        super().command(job, base, folder)
        raise UsageError(ENOUGH)


def main(url: str, home: Path, server: str, words: dict[str, Any]) -> int:
    """Run it."""
    training = {"backend": "trl", "method": "sft", "model": "tiny", "served": server, "test_problems": 6, "steps": 8}
    order = FlywheelOrder(
        name=words["name"], policy="writer", family=read_family(home / "searched"), problems=2,
        evaluations=words["evaluations"], held_out=read_held_out(home / "held") if words["held"] else (),
        training=training,
    )  # fmt: skip
    options = FlywheelOptions(order=order, rounds=1, allowed=True, folder=home / "training", threads=1)
    try:
        return run_flywheel(
            Terminal(), SourceOptions(db=url, server=""), options, lambda **_: {"trl": CheckingBackend()}
        )
    except ServiceError as error:
        print(f"evolve: {error}", file=sys.stderr)
        return outcome(error)[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])))
