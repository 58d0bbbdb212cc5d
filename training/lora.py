"""A policy for programs: reinforcement learning of a model that the user brings, with TRL and a LoRA adapter.

The prompts are those of the user's own runs. The problem's evaluator scores new completions.
"""

from dataclasses import dataclass
from pathlib import Path

from evolve.problem import Problem
from evolve.statistics.answer_sets import collinearity_warning
from evolve.vpo import method_of
from training.adapter_files import (
    LOG,
    Report,
    UpdateLog,
    last_checkpoint,
    run_trainer,
    save_adapter,
    updates_of,
    write_card,
)
from training.base_model import load_model, require_frameworks
from training.errors import TrainingError
from training.program_judge import COLUMN, Evaluate, ProgramJudge
from training.records import read_records
from training.reward_training import CURE, RewardTrainingSettings, fitting, make_trainer
from training.signal import SignalWatch, check_signal

_LOGGED = {
    "vpo/set_reward": "set_reward", "vpo/group_std": "group_std", "vpo/pool_size": "pool_size", "vpo/unread": "unread",
    "kl": "kl", "entropy": "entropy", "loss": "loss", "completions/mean_length": "tokens",
    "completions/clipped_ratio": "cut", "step_time": "seconds",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraSettings(RewardTrainingSettings):
    """The settings of a training of an adapter. Records show no weights, so `goal_conditioned` is refused.

    Attributes:
        records: files of `evolve export --training`, all of the same problem.
        keep_going: train even if all rewards are equal.
    """

    records: tuple[Path, ...]
    keep_going: bool = False

    def __post_init__(self) -> None:
        if method_of(self.method).weights == "shown":
            raise TrainingError(
                f"The prompts of runs show no weights, which {self.method} needs: choose another method."
            )
        if self.rank < 1:
            raise TrainingError(f"rank must be at least 1, not {self.rank}.")
        RewardTrainingSettings.__post_init__(self)  # super() does not find the class that slots made


def train_lora(settings: LoraSettings, problem: Problem, evaluate: Evaluate, report: Report = lambda _: None) -> Path:
    """Train an adapter. Returns the folder that a server loads.

    Args:
        settings: of the training.
        problem: of the records.
        evaluate: scores programs, in order.
        report: gets every update (step, set_reward, group_std, unread and more, as in the log), and once a warning.

    Raises:
        TrainingError: the records cannot be used, the extra `trl` is not installed, weights diverge or memory runs out.
        NothingToLearnError: all rewards are equal, in the records and for new completions.
        ModelError: the model cannot be loaded, or is not a chat model.
        CheckpointError: the folder holds a training and `resume` is not set, or it holds none to resume.
    """
    require_frameworks()
    records = read_records(settings.records)
    judge = ProgramJudge(problem, evaluate, records)
    if not settings.keep_going:
        check_signal(records)
    if len(records.rewards) > 1 and (warning := collinearity_warning(records.rewards)):
        report({"warning": warning})
    checkpoint = last_checkpoint(settings.output, resume=settings.resume)
    model, tokenizer = load_model(settings.model)
    asked = [
        {"prompt": [dict(message) for message in record.messages], COLUMN: number}
        for number, record in enumerate(records.usable)
    ]
    rows = fitting(asked, tokenizer, model, settings.max_tokens)
    settings.output.mkdir(parents=True, exist_ok=True)
    watch = SignalWatch(report, stops=not settings.keep_going)
    log = UpdateLog(settings.output / LOG, _LOGGED, watch)
    log.keep(updates_of(checkpoint))
    trainer = make_trainer(settings, model, tokenizer, rows, judge, [log.callback()])
    run_trainer(trainer, checkpoint, CURE)
    watch.close()
    card = {"settings": settings.describe(), "prompts": len(rows), "passed_over": records.passed_over}
    write_card(settings.output, card)
    return save_adapter(trainer.model, settings.output)
