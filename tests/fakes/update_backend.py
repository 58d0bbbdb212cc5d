"""A trainer of updates without torch: it copies the newest model with another card, or writes an adapter's files.

`python -m tests.fakes.update_backend trainer DATABASE FOLDER SECONDS [fail]` takes jobs, and
`python -m tests.fakes.update_backend KIND FOLDER SECONDS [fail]` makes an update of what the product wrote there. KIND
is `copy` or `adapter`.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from service.bootstrap.storage import open_storage
from service.bootstrap.trainers import make_trainer
from service.config import DatabaseSettings, Settings
from service.ports.training_backends import TrainingBackend, TrainingTask
from service.trainer.maze import MazeBackend
from service.trainer.trl import TrlBackend

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
        return update_command("copy", folder, self._seconds, fails=self._fails)

    def checkpoint(self, folder: Path) -> Mapping[str, object]:
        return {}


class WritingBackend(TrlBackend):
    """Updates of adapters as the back end `trl` has them, made by this module. The base is what the product names."""

    def __init__(self, seconds: float, *, fails: bool = False) -> None:
        super().__init__()
        self._seconds, self._fails = seconds, fails

    def missing(self) -> str:
        return ""  # writing needs no torch

    def command(self, job: TrainingTask, base: Path | None, folder: Path) -> Sequence[str]:
        super().command(job, base, folder)
        return update_command("adapter", folder, self._seconds, fails=self._fails)


def update_command(kind: str, folder: Path, seconds: float, *, fails: bool) -> list[str]:
    words = [sys.executable, "-m", MODULE, kind, str(folder), str(seconds)]
    return [*words, "fail"] if fails else words


def take_jobs(url: str, folder: Path, seconds: float, *, fails: bool) -> None:
    """Take jobs until the process is killed."""
    settings = Settings(database=DatabaseSettings(url=SecretStr(url)))
    with open_storage(settings) as storage:
        backends: dict[str, TrainingBackend] = {
            "maze": CopyingBackend(seconds, fails=fails),
            "trl": WritingBackend(seconds, fails=fails),
        }
        make_trainer(settings, storage, folder=folder, backends=backends).run()


def make_update(folder: Path, seconds: float, *, adapts: bool, fails: bool) -> None:
    """Copy the newest model after a while, or write an adapter."""
    with (folder / STARTED).open("a") as file:
        file.write(f"{os.getpid()}\n")
    asked = json.loads((folder / "update.json").read_text())
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    time.sleep(seconds)
    if fails:
        sys.exit("the disk is full of numbers")
    (write_adapter if adapts else copy_newest)(
        folder, asked, f"# After {asked['after']}, of {len(records)} proposals\n"
    )
    figures = {"replies": float(len(records)), "divergence": 0.5}
    print(json.dumps({"kind": "training.step", "stage": "update", "step": 1, "steps": 1, **figures}), flush=True)


def copy_newest(folder: Path, asked: Mapping[str, Any], card: str) -> None:
    made = folder / "model.part"
    shutil.rmtree(made, ignore_errors=True)
    shutil.copytree(asked["newest"], made)
    (made / "README.md").write_text(card)
    made.replace(folder / "model")


def write_adapter(folder: Path, asked: Mapping[str, Any], card: str) -> None:
    """Files that name what they were made from: the model, and the adapter before."""
    model = json.loads((folder / "training.json").read_text())["model"]
    made = folder / "training" / "adapter"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    (made / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "base_model_name_or_path": model}))
    before = b"" if asked["newest"] is None else (Path(asked["newest"]) / "adapter_model.safetensors").read_bytes()
    (made / "adapter_model.safetensors").write_bytes(before + card.encode())
    (made / "README.md").write_text(card)


if __name__ == "__main__":
    what, rest, fail = sys.argv[1], sys.argv[2:], "fail" in sys.argv
    if what == "trainer":
        take_jobs(rest[0], Path(rest[1]), float(rest[2]), fails=fail)
    else:
        make_update(Path(rest[0]), float(rest[1]), adapts=what == "adapter", fails=fail)
