"""What every training with rewards and TRL has: its settings, the prompts that fit, and the trainer."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from evolve.vpo import Options, method_of
from training.adapter_files import CHECKPOINTS
from training.adapters.completions import Judge
from training.adapters.trl import method_trainer
from training.adapters.weighting import Weighting
from training.base_model import adapter_config, context_tokens
from training.errors import TrainingError

CURE = "lower the rate if weights diverge, and max_tokens or group if memory runs out"
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardTrainingSettings:
    """The settings of a training.

    Attributes:
        model: a folder of a model with a chat template, or its name on the hub.
        output: new folder for the weights, checkpoints, the log and the card.
        method: of `evolve.vpo.METHODS`.
        k: size of the sets whose best counts, for the methods that have it.
        steps: updates.
        prompts, group: prompts of an update, and completions to each of them.
        rate: learning rate, constant. None: 1e-5 for an adapter, and 1e-6, as published, for all weights.
        rank: of the adapter. The server must allow it (vLLM: 16 by default). 0 trains all weights.
        max_tokens: maximum tokens of a completion.
        temperature: of sampling.
        divergence: weight of the penalty for distance to the initial model.
        weighting: of the objectives. Its seed is the run's.
        save_every: updates between two checkpoints.
        resume: continue from the last checkpoint in the output folder.
    """

    model: str
    output: Path
    method: str = "vpo"
    k: int | None = None
    steps: int = 200
    prompts: int = 8
    group: int = 8
    rate: float | None = None
    rank: int = 16
    max_tokens: int = 2048
    temperature: float = 1.0
    divergence: float = 1e-3
    weighting: Weighting = field(default_factory=Weighting)
    save_every: int = 20
    resume: bool = False

    def __post_init__(self) -> None:
        method = method_of(self.method)
        if self.k is not None and not method.subsets:
            raise TrainingError(f"The method {self.method!r} takes the best of no subsets: leave k out.")
        for name in ("steps", "prompts", "max_tokens", "save_every"):
            if getattr(self, name) < 1:
                raise TrainingError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if self.group < 2:
            raise TrainingError(
                f"group must be at least 2, not {self.group}: completions are compared with each other."
            )
        if not (self.learning_rate > 0 and self.temperature > 0 and self.divergence >= 0 and self.rank >= 0):
            raise TrainingError("rate and temperature must be above 0, and divergence and rank at least 0.")

    @property
    def learning_rate(self) -> float:
        """The rate, or the default of what is trained."""
        return self.rate if self.rate is not None else 1e-5 if self.rank else 1e-6

    def describe(self) -> dict[str, Any]:
        """As the card of the training names them."""
        return {**asdict(self), "rate": self.learning_rate}


def fitting(rows: Rows, tokenizer: Any, model: Any, max_tokens: int) -> list[dict[str, Any]]:
    """The rows whose `prompt`, a chat, leaves room for a completion.

    Raises:
        TrainingError: there is none.
    """
    context = context_tokens(model)
    shown = [tokenizer.apply_chat_template(row["prompt"], add_generation_prompt=True, tokenize=False) for row in rows]
    lengths = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in shown]
    kept = [dict(row) for row, length in zip(rows, lengths, strict=True) if length + max_tokens <= context]
    if not kept:
        raise TrainingError(
            f"No prompt leaves room for {max_tokens} tokens in the model's context of {context}: lower max_tokens."
        )
    return kept


def make_trainer(
    settings: RewardTrainingSettings,
    model: Any,
    tokenizer: Any,
    rows: Rows,
    judge: Judge,
    callbacks: Sequence[Any],
    *,
    tested: Rows = (),
    **options: Any,
) -> Any:
    """TRL's trainer, with the advantages of a method.

    Args:
        settings: of the training.
        model, tokenizer: a chat model.
        rows: `prompt`, and what the judge needs.
        judge: gives the reward vectors of completions.
        callbacks: of the trainer.
        tested: rows that it evaluates on.
        options: further ones of TRL's configuration.
    """
    datasets, trl, torch = (import_module(name) for name in ("datasets", "trl", "torch"))
    cpu = not torch.cuda.is_available()
    config = trl.GRPOConfig(
        output_dir=str(settings.output / CHECKPOINTS), use_cpu=cpu, bf16=not cpu, seed=settings.weighting.seed,
        max_steps=settings.steps, per_device_train_batch_size=settings.group,
        gradient_accumulation_steps=settings.prompts, num_generations=settings.group,
        max_completion_length=settings.max_tokens, temperature=settings.temperature,
        learning_rate=settings.learning_rate, lr_scheduler_type="constant", max_grad_norm=1.0,
        beta=settings.divergence, logging_steps=1, save_strategy="steps", save_steps=settings.save_every,
        save_total_limit=2, disable_tqdm=True, **{"report_to": [], **options},
    )  # fmt: skip
    trainer = method_trainer(settings.method, judge, settings.weighting, Options(k=settings.k))(
        model=model,
        args=config,
        train_dataset=datasets.Dataset.from_list([*rows]),
        eval_dataset=datasets.Dataset.from_list([*tested]) if tested else None,
        processing_class=tokenizer,
        peft_config=adapter_config(settings.rank) if settings.rank else None,
        callbacks=[*callbacks],
    )
    trainer.remove_callback(import_module("transformers").PrinterCallback)
    return trainer
