"""A back end that counts: a process that writes a checkpoint now and then, and a model folder at the end.

`python -m tests.fakes.training_backend FOLDER STEPS SECONDS` counts. It continues from its checkpoint.
"""

import json
import os
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

from service.ports import HeldOutValues, TrainingStep
from service.ports.training_backends import TrainingTask
from tests.fakes.tiny_llama import write_model

EVERY = 5  # steps between two checkpoints
CHECKPOINT, JOURNAL, MODEL = "checkpoint.json", "journal.txt", "model"


class CountingBackend:
    """Counts in a process of its own.

    Args:
        seconds: of a step.
        gain: how much better than its base a model is on each held-out problem, in the mean.
        fails: whether the process fails at the end.
    """

    def __init__(self, *, seconds: float = 0.0, gain: float = 0.1, fails: bool = False) -> None:
        self._seconds, self._gain, self._fails = seconds, gain, fails

    needs: Collection[str] = ()

    def missing(self) -> str:
        return ""

    def check(self, request: Mapping[str, Any]) -> None:
        pass

    def command(self, job: TrainingTask, base: Path | None, folder: Path) -> Sequence[str]:
        words = [sys.executable, "-m", __name__, str(folder), str(job.request["steps"]), str(self._seconds)]
        return [*words, "fail"] if self._fails else words

    def read(self, line: str) -> TrainingStep | None:
        value = json.loads(line)
        return TrainingStep(
            stage="count", step=value["step"], steps=value["steps"], figures={"loss": 1 / value["step"]}
        )

    def checkpoint(self, folder: Path) -> Mapping[str, Any]:
        return {"stage": "count", "step": saved(folder)} if saved(folder) else {}

    def model(self, job: TrainingTask, folder: Path) -> Path:
        return folder / MODEL

    def training(self, job: TrainingTask, folder: Path) -> Mapping[str, Any]:
        return {"method": "count", "seed": job.request["seed"], "problems": list(job.request["texts"])}

    def evaluate(self, job: TrainingTask, model: Path, seen: Collection[str], stopped: Event) -> HeldOutValues:
        own = self._gain if model.name == MODEL else 0.0
        values = [0.5 + own * (1 + 0.1 * place) for place in range(8)]
        return HeldOutValues(metric="best@1", problems=[f"held out {place}" for place in range(8)], values=values)


def saved(folder: Path) -> int:
    """The step of the newest checkpoint."""
    try:
        return int(json.loads((folder / CHECKPOINT).read_text())["step"])
    except FileNotFoundError:
        return 0


def main(folder: Path, steps: int, seconds: float, fails: bool) -> None:
    """Count to the end, from the newest checkpoint."""
    for step in range(saved(folder) + 1, steps + 1):
        time.sleep(seconds)
        with (folder / JOURNAL).open("a") as journal:
            journal.write(f"{os.getpid()} {step}\n")
        if step % EVERY == 0 or step == steps:
            partial = folder / f"{CHECKPOINT}.part"
            partial.write_text(json.dumps({"step": step}))
            partial.replace(folder / CHECKPOINT)
        print(json.dumps({"step": step, "steps": steps}), flush=True)
    if fails:
        sys.exit("the disk is full of numbers")
    write_model(folder / MODEL, seed=steps)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), "fail" in sys.argv)
