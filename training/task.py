"""Trains a model on a domain, by any training method, with TRL: a LoRA adapter, or all weights."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from evolve.errors import RewardError
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
from training.task_data import DataSettings, questions_of, row_judge, rows_of

MODEL = "model"
CHAIN = 3  # answers of a completion in the published results
_LOGGED = {
    "vpo/set_reward": "set_reward", "vpo/group_std": "group_std", "vpo/unread": "unread", "kl": "kl",
    "entropy": "entropy", "loss": "loss", "completions/mean_length": "tokens", "completions/clipped_ratio": "cut",
    "step_time": "seconds",
}  # fmt: skip
_HELD_OUT = {"eval_vpo/set_reward": "test_set_reward", "eval_vpo/unread": "test_unread"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettings:
    """The settings of a training.

    Attributes:
        domain: its name, or `module:Class`.
        model: a folder of a model with a chat template, or its name on the hub.
        output: new folder for the weights, checkpoints, the log and the card.
        method: of `evolve.vpo.METHODS`.
        k: size of the sets whose best counts, for the methods that have it.
        m: answers of a completion. None: 3 for methods with several answers, else 1.
        steps: updates.
        prompts, group: prompts of an update, and completions to each of them.
        rate: learning rate, constant. None: 1e-5 for an adapter, and 1e-6, as published, for all weights.
        rank: of the adapter; 0 trains all weights.
        max_tokens: maximum tokens of a completion.
        temperature: of sampling.
        divergence: weight of the penalty for distance to the initial model.
        weighting: of the objectives. Its seed is the run's.
        test_every: updates between two evaluations on the test questions; 0: none.
        trackers: of TRL, such as tensorboard, mlflow or wandb.
        save_every: updates between two checkpoints.
        resume: continue from the last checkpoint in the output folder.
        vllm: let vLLM write the completions, where it is installed with a GPU.
    """

    domain: str
    model: str
    output: Path
    method: str = "vpo"
    k: int | None = None
    m: int | None = None
    steps: int = 200
    prompts: int = 8
    group: int = 8
    rate: float | None = None
    rank: int = 16
    max_tokens: int = 512
    temperature: float = 1.0
    divergence: float = 1e-3
    weighting: Weighting = field(default_factory=Weighting)
    test_every: int = 0
    trackers: tuple[str, ...] = ()
    save_every: int = 20
    resume: bool = False
    vllm: bool = False

    def __post_init__(self) -> None:
        method = method_of(self.method)
        if self.k is not None and not method.subsets:
            raise RewardError(f"The method {self.method!r} takes the best of no subsets: leave k out.")
        if self.group < 2:
            raise TrainingError(
                f"group must be at least 2, not {self.group}: completions are compared with each other."
            )
        for name in ("steps", "prompts", "max_tokens", "save_every", "answers"):
            if getattr(self, name) < 1:
                raise TrainingError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if method.chains and self.answers == 1:
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
    checkpoint = last_checkpoint(settings.output, resume=settings.resume)
    model, tokenizer = load_model(settings.model)
    fitting = {split: _fitting(found, tokenizer, context_tokens(model), settings) for split, found in rows.items()}
    settings.output.mkdir(parents=True, exist_ok=True)
    log = UpdateLog(settings.output / LOG, _LOGGED, report)
    log.keep(updates_of(checkpoint))
    trainer = _trainer(settings, model, tokenizer, fitting, log)
    run_trainer(trainer, checkpoint, "lower the rate if weights diverge, and max_tokens or group if memory runs out")
    counts = {split: len(found) for split, found in fitting.items()}
    write_card(settings.output, {"settings": asdict(settings), "prompts": counts})
    if settings.rank:
        return save_adapter(trainer.model, settings.output)
    folder = settings.output / MODEL
    trainer.model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _splits(settings: TaskSettings) -> tuple[str, ...]:
    return ("train", "test") if settings.test_every else ("train",)


def _fitting(
    rows: Sequence[dict[str, Any]], tokenizer: Any, context: int, settings: TaskSettings
) -> list[dict[str, Any]]:
    """The rows whose prompt leaves room for a completion."""
    shown = [tokenizer.apply_chat_template(row["prompt"], add_generation_prompt=True, tokenize=False) for row in rows]
    lengths = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in shown]
    kept = [row for row, length in zip(rows, lengths, strict=True) if length + settings.max_tokens <= context]
    if not kept:
        raise TrainingError(
            f"No prompt leaves room for {settings.max_tokens} tokens in the model's context of {context}: "
            "lower max_tokens."
        )
    return kept


def _trainer(
    settings: TaskSettings, model: Any, tokenizer: Any, rows: dict[str, list[dict[str, Any]]], log: UpdateLog
) -> Any:
    datasets, trl = import_module("datasets"), import_module("trl")
    cpu = not import_module("torch").cuda.is_available()
    rate = settings.rate if settings.rate is not None else 1e-5 if settings.rank else 1e-6
    tested = (
        {"eval_strategy": "steps", "eval_steps": settings.test_every, "per_device_eval_batch_size": settings.group}
        if settings.test_every
        else {}
    )
    config = trl.GRPOConfig(
        output_dir=str(settings.output / CHECKPOINTS), use_cpu=cpu, bf16=not cpu, seed=settings.weighting.seed,
        max_steps=settings.steps, per_device_train_batch_size=settings.group,
        gradient_accumulation_steps=settings.prompts, num_generations=settings.group,
        max_completion_length=settings.max_tokens, temperature=settings.temperature, learning_rate=rate,
        lr_scheduler_type="constant", max_grad_norm=1.0, beta=settings.divergence, use_vllm=settings.vllm,
        logging_steps=1, save_strategy="steps", save_steps=settings.save_every, save_total_limit=2,
        report_to=list(settings.trackers), disable_tqdm=True, **tested,
    )  # fmt: skip
    make = method_trainer(
        settings.method, row_judge(settings.domain, settings.answers), settings.weighting, Options(k=settings.k)
    )
    # An update needs as many rows as prompts; groups of the same prompt stay groups of their own.
    train = rows["train"] * -(-settings.prompts // len(rows["train"]))
    trainer = make(
        model=model,
        args=config,
        train_dataset=datasets.Dataset.from_list(train),
        eval_dataset=datasets.Dataset.from_list(rows["test"]) if settings.test_every else None,
        processing_class=tokenizer,
        peft_config=adapter_config(settings.rank) if settings.rank else None,
        callbacks=[log.callback(), _test_log(log)],
    )
    trainer.remove_callback(import_module("transformers").PrinterCallback)
    return trainer


def _test_log(log: UpdateLog) -> Any:
    """The figures of the test questions, as lines of the log."""
    return UpdateLog(log.path, _HELD_OUT, log.report).callback()
