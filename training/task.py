"""Trains a model on a domain, by any training method, with TRL: a LoRA adapter, or all weights."""

from dataclasses import dataclass
from pathlib import Path

from evolve.vpo import method_of
from training.adapter_files import Report
from training.base_model import require_frameworks
from training.errors import TrainingError
from training.reward_training import RewardTrainingSettings, fitting, load_trained, train
from training.task_data import DataSettings, questions_of, row_judge, rows_of

CHAIN = 3  # answers of a completion in the published results


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettings(RewardTrainingSettings):
    """The settings of a training on a domain.

    Attributes:
        domain: its name, or `module:Class`.
        m: answers of a completion. None: 3 for methods with several answers, else 1.
    """

    domain: str
    m: int | None = None
    max_tokens: int = 512

    def __post_init__(self) -> None:
        RewardTrainingSettings.__post_init__(self)  # super() does not find the class that slots made
        if self.answers < 1:
            raise TrainingError(f"m must be at least 1, not {self.answers}.")
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
        report: gets every update and every test, as in the log, and the time that the rest will take.

    Raises:
        TrainingError: the domain has no questions, the extra `trl` is not installed, or weights diverge.
        ModelError: the model cannot be loaded, or is not a chat model.
        CheckpointError: the folder holds a training and `resume` is not set, or it holds none to resume.
        ExtensionError: the domain cannot be loaded.
    """
    require_frameworks()
    splits = ("train", "test") if settings.test_every else ("train",)
    rows = {split: rows_of(settings.data, split, questions_of(settings.domain, split)) for split in splits}
    loaded = load_trained(settings)
    kept = {split: fitting(found, loaded, settings.max_tokens) for split, found in rows.items()}
    judge = row_judge(settings.domain, settings.answers)
    card = {"prompts": {split: len(found) for split, found in kept.items()}}
    return train(settings, loaded, kept["train"], kept.get("test", ()), judge, report, card)
