"""A trainer of updates without torch: the version that it makes is the newest one with another card.

`python -m tests.fakes.update_backend trainer DATABASE FOLDER SECONDS [fail]` takes jobs, and
`python -m tests.fakes.update_backend update FOLDER SECONDS [fail]` makes an update of what the product wrote there.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import SecretStr

from service.bootstrap.storage import open_storage
from service.bootstrap.trainers import make_trainer
from service.config import DatabaseSettings, Settings
from service.ports.training_backends import TrainingTask
from service.trainer.maze import MazeBackend

STARTED = "started.txt"
MODULE = "tests.fakes.update_backend"


class CopyingBackend(MazeBackend):
    """Updates as the back end of mazes has them, made by this module."""

    def __init__(self, seconds: float, *, fails: bool = False) -> None:
        super().__init__()
        self._seconds, self._fails = seconds, fails

    def missing(self) -> str:
        return ""  # copying needs no torch

    def command(self, job: TrainingTask, base: Path | None, folder: Path) -> Sequence[str]:
        words = [sys.executable, "-m", MODULE, "update", str(folder), str(self._seconds)]
        return [*words, "fail"] if self._fails else words

    def checkpoint(self, folder: Path) -> Mapping[str, object]:
        return {}


def take_jobs(url: str, folder: Path, seconds: float, *, fails: bool) -> None:
    """Take jobs until the process is killed."""
    settings = Settings(database=DatabaseSettings(url=SecretStr(url)))
    with open_storage(settings) as storage:
        backends = {"maze": CopyingBackend(seconds, fails=fails)}
        make_trainer(settings, storage, folder=folder, backends=backends).run()


def make_update(folder: Path, seconds: float, *, fails: bool) -> None:
    """Copy the newest model after a while."""
    with (folder / STARTED).open("a") as file:
        file.write(f"{os.getpid()}\n")
    asked = json.loads((folder / "update.json").read_text())
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    time.sleep(seconds)
    if fails:
        sys.exit("the disk is full of numbers")
    made = folder / "model.part"
    shutil.rmtree(made, ignore_errors=True)
    shutil.copytree(asked["newest"], made)
    (made / "README.md").write_text(f"# After {asked['after']}, of {len(records)} proposals\n")
    made.replace(folder / "model")
    figures = {"replies": float(len(records)), "divergence": 0.5}
    print(json.dumps({"kind": "training.step", "stage": "update", "step": 1, "steps": 1, **figures}), flush=True)


if __name__ == "__main__":
    what, rest, fail = sys.argv[1], sys.argv[2:], "fail" in sys.argv
    if what == "trainer":
        take_jobs(rest[0], Path(rest[1]), float(rest[2]), fails=fail)
    else:
        make_update(Path(rest[0]), float(rest[1]), fails=fail)
