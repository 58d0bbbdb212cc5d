"""A flywheel whose trainer counts: `python -m tests.fakes.counting_flywheel DATABASE FAMILY FOLDER SECONDS GAIN`."""

import shutil
import sys
from pathlib import Path

from service.cli.flywheel import FlywheelOptions, run_flywheel
from service.cli.terminal import Terminal
from service.client.service_choice import SourceOptions
from service.ports.training_backends import TrainingTask
from service.problems.family import read_family
from service.usecases.flywheel import FlywheelOrder
from tests.fakes.training_backend import MODEL, CountingBackend

WALKER = Path(__file__).parents[2] / "models" / "maze-base"
ROUNDS, PROBLEMS, EVALUATIONS, STEPS = 2, 2, 16, 40


class WalkingBackend(CountingBackend):
    """A back end that counts, and gives a model that walks through mazes."""

    def model(self, job: TrainingTask, folder: Path) -> Path:
        shutil.rmtree(folder / MODEL)
        shutil.copytree(WALKER, folder / MODEL)
        return folder / MODEL


def order_of(family: Path, *, problems: int = PROBLEMS) -> FlywheelOrder:
    """What the flywheel does."""
    return FlywheelOrder(
        name="mazes",
        policy="walker",
        family=read_family(family),
        problems=problems,
        evaluations=EVALUATIONS,
        training={"backend": "maze", "steps": STEPS, "test_problems": 8},
    )


def main(url: str, family: Path, folder: Path, seconds: float, gain: float) -> int:
    """Run it."""
    options = FlywheelOptions(order=order_of(family), rounds=ROUNDS, allowed=True, folder=folder)
    return run_flywheel(
        Terminal(),
        SourceOptions(db=url, server=""),
        options,
        lambda **_: {"maze": WalkingBackend(seconds=seconds, gain=gain)},
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5])))
