"""The output folder of a training: the adapter or model, checkpoints, the log of updates and the card."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from training.errors import CheckpointError, TrainingError

ADAPTER, MODEL, CHECKPOINTS, LOG, CARD = "adapter", "model", "checkpoints", "log.jsonl", "training.json"
STATE = "trainer_state.json"
TRAINED = "default"  # peft's name of the adapter that is trained
_WEIGHTS, _CONFIG = "adapter_model.safetensors", "adapter_config.json"
_MODEL_WEIGHTS, _MODEL_CONFIG = "model*.safetensors", "config.json"

Report = Callable[[Mapping[str, Any]], None]


def check_adapter(folder: Path) -> None:
    """Read an adapter whole.

    Raises:
        CheckpointError: a file of it is missing, cut off or not of its kind, or weights are not finite.
    """
    _check(folder, "adapter", _CONFIG, [folder / _WEIGHTS])


def check_model(folder: Path) -> None:
    """Read all weights of a model.

    Raises:
        CheckpointError: a file of it is missing, cut off or not of its kind, or weights are not finite.
    """
    _check(folder, "model", _MODEL_CONFIG, sorted(folder.glob(_MODEL_WEIGHTS)) or [folder / "model.safetensors"])


def _check(folder: Path, kind: str, config: str, files: Sequence[Path]) -> None:
    from safetensors import SafetensorError, safe_open

    torch = import_module("torch")
    broken: list[str] = []
    try:
        json.loads((folder / config).read_text(encoding="utf-8"))
        for path in files:
            with safe_open(path, framework="pt") as weights:
                names = list(weights.keys())
                broken += [name for name in names if not torch.isfinite(weights.get_tensor(name)).all()]
    except (OSError, ValueError, SafetensorError) as error:
        raise CheckpointError(
            f"{folder} does not hold a complete {kind}: remove it, then train or resume again."
        ) from error
    if broken:
        raise CheckpointError(f"{folder}: {broken[0]} holds numbers that are not finite: lower the learning rate.")


def last_checkpoint(output: Path, *, resume: bool, whole: bool = False) -> Path | None:
    """The newest checkpoint to resume from. None: training starts.

    Args:
        output: folder of the training.
        resume: continue from its last checkpoint.
        whole: checkpoints hold a model, not an adapter.

    Raises:
        CheckpointError: the folder holds a training and `resume` is not set, or it holds none to resume.
    """
    found = sorted((output / CHECKPOINTS).glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
    if resume and not found:
        raise CheckpointError(f"There is no checkpoint in {output / CHECKPOINTS} to resume from.")
    if not resume:
        if found or (output / ADAPTER).exists() or (output / MODEL).exists():
            raise CheckpointError(f"{output} holds another training: resume it, or name another folder.")
        return None
    (check_model if whole else check_adapter)(found[-1])
    return found[-1]


def remove_unfinished(output: Path) -> bool:
    """Remove checkpoints that a killed process left unfinished or damaged. Returns whether there is one to resume from.

    A trainer of transformers writes `trainer_state.json` last. An adapter that was saved without a checkpoint is
    removed, too: the training is done again.
    """
    for folder in (output / CHECKPOINTS).glob("checkpoint-*"):
        try:
            json.loads((folder / STATE).read_text(encoding="utf-8"))
            check_adapter(folder)
        except (OSError, ValueError, CheckpointError):
            shutil.rmtree(folder)
    left = any((output / CHECKPOINTS).glob("checkpoint-*"))
    if not left:
        shutil.rmtree(output / ADAPTER, ignore_errors=True)
    return left


def updates_of(checkpoint: Path | None) -> int:
    """How many updates a checkpoint holds."""
    return int(checkpoint.name.split("-")[1]) if checkpoint else 0


def save_adapter(model: Any, output: Path) -> Path:
    """Write the adapter to a temporary place, read it back, and then move it to its place."""

    def write(folder: Path) -> None:
        model.save_pretrained(folder, selected_adapters=[TRAINED])  # a trainer may keep a copy of the initial one

    return _save(output / ADAPTER, write, check_adapter)


def save_model(trainer: Any, output: Path) -> Path:
    """Write the model of a trainer, with its tokenizer, as `save_adapter` writes an adapter."""

    def write(folder: Path) -> None:
        trainer.model.save_pretrained(folder)
        trainer.processing_class.save_pretrained(folder)

    return _save(output / MODEL, write, check_model)


def _save(folder: Path, write: Callable[[Path], object], check: Callable[[Path], None]) -> Path:
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    write(partial)
    check(partial)
    shutil.rmtree(folder, ignore_errors=True)
    partial.replace(folder)
    return folder


def write_card(output: Path, card: Mapping[str, Any]) -> None:
    """Write the card: the model, the data and the settings."""
    (output / CARD).write_text(json.dumps(card, indent=1, default=str) + "\n", encoding="utf-8")


def run_trainer(trainer: Any, checkpoint: Path | None, cure: str) -> None:
    """Train until the trainer has done its updates.

    Args:
        trainer: of TRL.
        checkpoint: to resume from. None: training starts.
        cure: advice if weights diverge or memory runs out.

    Raises:
        TrainingError: weights diverge or memory runs out.
    """
    try:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    except RuntimeError as error:  # torch's word for numbers that are none and for memory that is gone
        reason = str(error).strip().partition("\n")[0][:200]
        raise TrainingError(
            f"Training stopped after {trainer.state.global_step} updates ({reason}): {cure}."
        ) from error


@dataclass(frozen=True, slots=True)
class UpdateLog:
    """Writes every update as a JSON line, and reports it.

    Attributes:
        path: of the log.
        names: written names by the trainer's names. A log entry of the trainer without the first is not an update.
        report: gets every update.
    """

    path: Path
    names: Mapping[str, str]
    report: Report

    def keep(self, updates: int) -> None:
        """Remove later updates from the log, because they will run again."""
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True) if self.path.exists() else []
        self.path.write_text("".join(line for line in lines if json.loads(line)["step"] <= updates), encoding="utf-8")

    def callback(self) -> Any:
        """The trainer's report of its updates."""
        log, base = self, import_module("transformers").TrainerCallback

        class LogCallback(base):  # type: ignore[misc, valid-type] # known once transformers is there
            def on_log(self, _args: Any, state: Any, _control: Any, logs: Mapping[str, Any], **_: Any) -> None:
                log.write(state.global_step, logs)

        return LogCallback()

    def write(self, step: int, logs: Mapping[str, Any]) -> None:
        """Write an update."""
        line = {"step": step} | {short: logs[name] for name, short in self.names.items() if name in logs}
        if next(iter(self.names.values())) not in line:
            return
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
        self.report(line)
