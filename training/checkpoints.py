"""Checkpoints: the complete state of a training run, written completely or not at all."""

import os
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import torch

from training.errors import CheckpointError
from training.llama import Weights

KEPT = 2
_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A run after `step` steps of a stage.

    Attributes:
        recipe: of the run, as from `recipe_values`. Another recipe cannot continue from here.
        optimizer: the optimizer's `state_dict`.
    """

    stage: str
    step: int
    recipe: dict[str, Any]
    weights: Weights
    optimizer: dict[str, Any]


class Checkpoints:
    """The checkpoints of a run in a folder. The newest two are kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, checkpoint: Checkpoint) -> Path:
        """Write a checkpoint, read it back, and only then let it count.

        Raises:
            CheckpointError: it cannot be written, or does not read back as it was.
        """
        path = self._folder / f"{checkpoint.stage}-{checkpoint.step:06d}.pt"
        started = path.with_suffix(".part")
        values = {name: getattr(checkpoint, name) for name in Checkpoint.__slots__} | {"format": _FORMAT}
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with started.open("wb") as file:
                torch.save(values, file)
                file.flush()
                os.fsync(file.fileno())
            _check(read(started), checkpoint)
            started.replace(path)
        except (OSError, RuntimeError) as error:  # the second is torch's word for a disk that is full
            reason = getattr(error, "strerror", None) or " ".join(str(error).split())[:200]
            raise CheckpointError(f"the checkpoint {path} cannot be written: {reason}") from error
        finally:
            started.unlink(missing_ok=True)
        self._clear(checkpoint)
        return path

    def newest(self, stage: str, warn: Callable[[str], None]) -> Checkpoint | None:
        """The newest readable checkpoint of a stage. `warn` gets the unreadable ones. None: there is none."""
        found = sorted(self._of_stage(stage).items(), reverse=True)
        for place, (_, path) in enumerate(found, start=1):
            try:
                return read(path)
            except CheckpointError as error:
                instead = f"{found[place][1].name} is taken" if place < len(found) else "the stage begins anew"
                warn(f"{error}; {instead}")
        return None

    def _clear(self, newest: Checkpoint) -> None:
        """Remove all but the newest checkpoints of a stage. Later steps than the present were unreadable."""
        found = self._of_stage(newest.stage)
        kept = sorted(step for step in found if step <= newest.step)[-KEPT:]
        for step, path in found.items():
            if step not in kept:
                path.unlink()

    def _of_stage(self, stage: str) -> dict[int, Path]:
        named = re.compile(rf"{re.escape(stage)}-(\d+)\.pt")
        paths = self._folder.glob(f"{stage}-*.pt")
        return {int(found[1]): path for path in paths if (found := named.fullmatch(path.name))}


def read(path: Path) -> Checkpoint:
    """Read a checkpoint.

    Raises:
        CheckpointError: it is cut off, damaged, or no checkpoint of this version.
    """
    try:
        with ZipFile(path) as parts:  # torch compares no checksums
            if (damaged := parts.testzip()) is not None:
                raise BadZipFile(f"the checksum of {damaged} does not match")
        values = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, BadZipFile, pickle.UnpicklingError, ValueError, KeyError) as error:
        raise CheckpointError(f"the checkpoint {path} is cut off or damaged: remove it") from error
    if (
        not isinstance(values, dict)
        or values.pop("format", None) != _FORMAT
        or set(values) != set(Checkpoint.__slots__)
    ):
        raise CheckpointError(f"{path} is not a checkpoint of this version: remove it")
    return Checkpoint(**values)


def _check(found: Checkpoint, written: Checkpoint) -> None:
    same = found.weights.keys() == written.weights.keys() and all(
        torch.equal(found.weights[name], weight.detach().cpu()) for name, weight in written.weights.items()
    )
    finite = all(bool(torch.isfinite(weight).all()) for weight in found.weights.values())
    if not (same and finite):
        what = "did not read back as it was written" if finite else "holds weights that are not finite: lower the rate"
        raise CheckpointError(f"the checkpoint of step {written.step} {what}")
