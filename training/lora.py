"""A policy for programs: reinforcement learning of a model that the user brings, with TRL and a LoRA adapter.

The prompts are those of the user's own runs. The problem's evaluator scores new completions.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from evolve.problem import Problem
from evolve.statistics.answer_sets import collinearity_warning
from evolve.vpo import Options, method_of
from training.adapter_files import (
    CHECKPOINTS,
    LOG,
    Report,
    UpdateLog,
    last_checkpoint,
    run_trainer,
    save_adapter,
    updates_of,
    write_card,
)
from training.adapters.trl import method_trainer
from training.adapters.weighting import Weighting
from training.base_model import adapter_config, context_tokens, load_model, require_frameworks
from training.errors import TrainingError
from training.program_judge import COLUMN, Evaluate, ProgramJudge
from training.records import Record, read_records
from training.signal import SignalWatch, check_signal

_LOGGED = {
    "vpo/set_reward": "set_reward", "vpo/group_std": "group_std", "vpo/pool_size": "pool_size", "vpo/unread": "unread",
    "kl": "kl", "entropy": "entropy", "loss": "loss", "completions/mean_length": "tokens",
    "completions/clipped_ratio": "cut", "step_time": "seconds",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraSettings:
    """The settings of a training.

    Attributes:
        model: a folder of a model with a chat template, or its name on the hub.
        records: files of `evolve export --training`, all of the same problem.
        output: new folder for the adapter, checkpoints, the log and the card.
        method: of `evolve.vpo.METHODS`. Records show no weights, so `goal_conditioned` is refused.
        k: size of the sets whose best counts, for the methods that have it.
        steps: updates.
        prompts, group: prompts of an update, and completions to each of them.
        rate: learning rate, constant. It is ten times the published rate for all weights at once.
        rank: of the adapter. The server must allow it (vLLM: 16 by default).
        max_tokens: maximum tokens of a completion.
        temperature: of sampling.
        divergence: weight of the penalty for distance to the initial model.
        weighting: of the objectives. Its seed is the run's.
        save_every: updates between two checkpoints.
        resume: continue from the last checkpoint in the output folder.
        keep_going: train even if all rewards are equal.
    """

    model: str
    records: tuple[Path, ...]
    output: Path
    method: str = "vpo"
    k: int | None = None
    steps: int = 200
    prompts: int = 8
    group: int = 8
    rate: float = 1e-5
    rank: int = 16
    max_tokens: int = 2048
    temperature: float = 1.0
    divergence: float = 1e-3
    weighting: Weighting = field(default_factory=Weighting)
    save_every: int = 20
    resume: bool = False
    keep_going: bool = False

    def __post_init__(self) -> None:
        method = method_of(self.method)
        if method.weights == "shown":
            raise TrainingError(
                f"The prompts of runs show no weights, which {self.method} needs: choose another method."
            )
        if self.k is not None and not method.subsets:
            raise TrainingError(f"The method {self.method!r} takes the best of no subsets: leave k out.")
        for name in ("steps", "prompts", "rank", "max_tokens", "save_every"):
            if getattr(self, name) < 1:
                raise TrainingError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if self.group < 2:
            raise TrainingError(
                f"group must be at least 2, not {self.group}: completions are compared with each other."
            )
        if not (self.rate > 0 and self.temperature > 0 and self.divergence >= 0):
            raise TrainingError("rate and temperature must be above 0, and divergence at least 0.")


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
    rows = _rows(records.usable, tokenizer, model, settings)
    settings.output.mkdir(parents=True, exist_ok=True)
    watch = SignalWatch(report, stops=not settings.keep_going)
    log = UpdateLog(settings.output / LOG, _LOGGED, watch)
    log.keep(updates_of(checkpoint))
    trainer = _trainer(settings, model, tokenizer, rows, judge, log)
    run_trainer(trainer, checkpoint, "lower the rate if weights diverge, and max_tokens or group if memory runs out")
    watch.close()
    card = {"settings": asdict(settings), "prompts": len(rows), "passed_over": records.passed_over}
    write_card(settings.output, card)
    return save_adapter(trainer.model, settings.output)


def _rows(records: Sequence[Record], tokenizer: Any, model: Any, settings: LoraSettings) -> list[dict[str, Any]]:
    """A row for each record whose prompt leaves room for a completion."""
    context = context_tokens(model)
    rows = []
    for number, record in enumerate(records):
        messages = [dict(message) for message in record.messages]
        shown = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        if len(tokenizer(shown, add_special_tokens=False)["input_ids"]) + settings.max_tokens <= context:
            rows.append({"prompt": messages, COLUMN: number})
    if not rows:
        raise TrainingError(
            f"No prompt leaves room for {settings.max_tokens} tokens in the model's context of {context}: "
            "lower max_tokens."
        )
    return rows


def _trainer(
    settings: LoraSettings, model: Any, tokenizer: Any, rows: list[dict[str, Any]], judge: ProgramJudge, log: UpdateLog
) -> Any:
    datasets, trl = import_module("datasets"), import_module("trl")
    cpu = not import_module("torch").cuda.is_available()
    config = trl.GRPOConfig(
        output_dir=str(settings.output / CHECKPOINTS), use_cpu=cpu, bf16=not cpu, seed=settings.weighting.seed,
        max_steps=settings.steps, per_device_train_batch_size=settings.group,
        gradient_accumulation_steps=settings.prompts, num_generations=settings.group,
        max_completion_length=settings.max_tokens, temperature=settings.temperature, learning_rate=settings.rate,
        lr_scheduler_type="constant", max_grad_norm=1.0, beta=settings.divergence,
        logging_steps=1, save_strategy="steps", save_steps=settings.save_every, save_total_limit=2,
        report_to=[], disable_tqdm=True,
    )  # fmt: skip
    make = method_trainer(settings.method, judge, settings.weighting, Options(k=settings.k))
    trainer = make(
        model=model,
        args=config,
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=adapter_config(settings.rank),
        callbacks=[log.callback()],
    )
    trainer.remove_callback(import_module("transformers").PrinterCallback)
    return trainer
