"""Trains a model on a domain, by any training method, with TRL: a LoRA adapter, or all weights."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evolve.vpo import method_of
from training.adapter_files import (
    LOG,
    Report,
    UpdateLog,
    last_checkpoint,
    run_trainer,
    save_adapter,
    save_model,
    updates_of,
    write_card,
)
from training.base_model import load_model, require_frameworks
from training.errors import TrainingError
from training.reward_training import CURE, RewardTrainingSettings, fitting, make_trainer
from training.task_data import DataSettings, questions_of, row_judge, rows_of

CHAIN = 3  # answers of a completion in the published results
_LOGGED = {
    "vpo/set_reward": "set_reward", "vpo/group_std": "group_std", "vpo/unread": "unread", "kl": "kl",
    "entropy": "entropy", "loss": "loss", "completions/mean_length": "tokens", "completions/clipped_ratio": "cut",
    "step_time": "seconds",
}  # fmt: skip
_HELD_OUT = {"eval_vpo/set_reward": "test_set_reward", "eval_vpo/unread": "test_unread"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettings(RewardTrainingSettings):
    """The settings of a training on a domain.

    Attributes:
        domain: its name, or `module:Class`.
        m: answers of a completion. None: 3 for methods with several answers, else 1.
        test_every: updates between two evaluations on the test questions; 0: none.
        trackers: of TRL, such as tensorboard, mlflow or wandb.
        vllm: let vLLM write the completions, where it is installed with a GPU.
    """

    domain: str
    m: int | None = None
    max_tokens: int = 512
    test_every: int = 0
    trackers: tuple[str, ...] = ()
    vllm: bool = False

    def __post_init__(self) -> None:
        RewardTrainingSettings.__post_init__(self)  # super() does not find the class that slots made
        if self.answers < 1:
            raise TrainingError(f"m must be at least 1, not {self.answers}.")
        if self.test_every < 0:
            raise TrainingError(f"test_every must be at least 0, not {self.test_every}.")
        if method_of(self.method).chains and self.answers == 1:
            raise TrainingError(f"{self.method} is for completions of several answers: ask for m of at least 2.")

    @property
    def answers(self) -> int:
        """Answers that a completion is asked for."""
        return self.m if self.m is not None else CHAIN if method_of(self.method).chains else 1

    @property
    def data(self) -> DataSettings:
        """The rows that it trains on."""
        shown = method_of(self.method).weights == "shown"
        return DataSettings(
            domain=self.domain,
            m=self.answers,
            weights=shown,
            alpha=self.weighting.alpha,
            seed=self.weighting.seed,
        )


def train_task(settings: TaskSettings, report: Report = lambda _: None) -> Path:
    """Train a model on the questions of a domain. Returns the folder that a server loads.

    Args:
        settings: of the training.
        report: gets every update, as in the log.

    Raises:
        TrainingError: the domain has no questions, the extra `trl` is not installed, or weights diverge.
        ModelError: the model cannot be loaded, or is not a chat model.
        CheckpointError: the folder holds a training and `resume` is not set, or it holds none to resume.
        ExtensionError: the domain cannot be loaded.
    """
    require_frameworks()
    rows = {split: rows_of(settings.data, split, questions_of(settings.domain, split)) for split in _splits(settings)}
    checkpoint = last_checkpoint(settings.output, resume=settings.resume, whole=not settings.rank)
    model, tokenizer = load_model(settings.model)
    kept = {split: fitting(found, tokenizer, model, settings.max_tokens) for split, found in rows.items()}
    settings.output.mkdir(parents=True, exist_ok=True)
    log = UpdateLog(settings.output / LOG, _LOGGED, report)
    log.keep(updates_of(checkpoint))
    trainer = _trainer(settings, model, tokenizer, kept, log)
    run_trainer(trainer, checkpoint, CURE)
    write_card(
        settings.output,
        {"settings": settings.describe(), "prompts": {split: len(found) for split, found in kept.items()}},
    )
    return save_adapter(trainer.model, settings.output) if settings.rank else save_model(trainer, settings.output)


def _splits(settings: TaskSettings) -> tuple[str, ...]:
    return ("train", "test") if settings.test_every else ("train",)


def _trainer(
    settings: TaskSettings, model: Any, tokenizer: Any, rows: dict[str, list[dict[str, Any]]], log: UpdateLog
) -> Any:
    options: dict[str, Any] = {"report_to": list(settings.trackers), "use_vllm": settings.vllm}
    if settings.test_every:
        options |= {"eval_strategy": "steps", "eval_steps": settings.test_every}
        options |= {"per_device_eval_batch_size": settings.group}
    # An update needs as many rows as prompts; groups of the same prompt stay groups of their own.
    train = rows["train"] * -(-settings.prompts // len(rows["train"]))
    judge = row_judge(settings.domain, settings.answers)
    callbacks = [log.callback(), _test_log(log)]
    return make_trainer(settings, model, tokenizer, train, judge, callbacks, tested=rows.get("test", ()), **options)


def _test_log(log: UpdateLog) -> Any:
    """The figures of the test questions, as lines of the log."""
    return UpdateLog(log.path, _HELD_OUT, log.report).callback()
