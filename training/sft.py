"""A warm start: supervised fine-tuning of a LoRA adapter on demonstrations, so that a model answers in a run's form."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib import import_module
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

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
from training.base_model import adapter_config, context_tokens, load_model, require_frameworks
from training.candidate_sources import CandidateSource
from training.demonstrations import Count, Demonstration, Demonstrations, DemonstrationSettings, demonstrate
from training.domain_demonstrations import demonstrate_domain
from training.errors import TrainingError
from training.time_estimate import TimeEstimate

_LOGGED = {"loss": "loss", "mean_token_accuracy": "token_accuracy", "grad_norm": "grad_norm", "num_tokens": "tokens"}
_WARM_UP_UPDATES = 5
_DRAWN = 7_1106  # the random stream of demonstrations that are drawn by their worth


@dataclass(frozen=True, slots=True, kw_only=True)
class SftSettings:
    """The settings of a training.

    Attributes:
        model: a folder of a model with a chat template, or its name on the hub.
        output: new folder for the adapter, checkpoints, the log and the card.
        demonstrations: their form.
        updates: number of updates.
        batch: demonstrations of an update.
        rate: learning rate, constant after the first 5 updates.
        rank: of the adapter. The server must allow it (vLLM: 16 by default).
        max_seconds: training ends after the update that exceeds it. None: no limit.
        save_every: updates between two checkpoints.
        resume: continue from the last checkpoint in the output folder.
    """

    model: str
    output: Path
    demonstrations: DemonstrationSettings = field(default_factory=DemonstrationSettings)
    updates: int = 60
    batch: int = 8
    rate: float = 5e-4
    rank: int = 16
    max_seconds: float | None = None
    save_every: int = 20
    resume: bool = False

    def __post_init__(self) -> None:
        for name in ("updates", "batch", "rank", "save_every"):
            if getattr(self, name) < 1:
                raise TrainingError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if not self.rate > 0:
            raise TrainingError(f"rate must be above 0, not {self.rate}.")
        if self.max_seconds is not None and not self.max_seconds > 0:
            raise TrainingError(f"max_seconds must be above 0, not {self.max_seconds}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SftResult:
    """An adapter, and its training data.

    Attributes:
        adapter: the folder that a server loads.
        updates: number of updates, including those before a resumption.
        demonstrations: number of different demonstrations, by m.
        too_long: prompts with their replies that did not fit.
    """

    adapter: Path
    updates: int
    demonstrations: dict[int, int]
    too_long: int


def train_sft(
    settings: SftSettings,
    sources: Sequence[CandidateSource],
    report: Report = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> SftResult:
    """Train an adapter on accepted programs of runs. The loss is that of the reply, including the end of turn.

    Args:
        settings: of the training.
        sources: runs.
        report: gets every update (step, loss and more, as in the log), and the time that the rest will take.
        clock: seconds, for the time limit.

    Raises:
        TrainingError: there is nothing to demonstrate, the extra `trl` is not installed, weights diverge or memory runs
            out.
        ModelError: the model cannot be loaded, or is not a chat model.
        CheckpointError: the folder holds a training and `resume` is not set, or it holds none to resume.
    """
    shown = partial(demonstrate, sources, settings.demonstrations)
    return _train(settings, shown, {"runs": [one.name for one in sources]}, report, clock)


def train_sft_on_domain(
    settings: SftSettings,
    domain: str,
    report: Report = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> SftResult:
    """Train an adapter on the examples of a domain, as `train_sft` does on runs.

    Raises:
        TrainingError, ModelError, CheckpointError: as of `train_sft`.
        ExtensionError: the domain cannot be loaded.
    """
    shown = partial(demonstrate_domain, domain, settings.demonstrations)
    return _train(settings, shown, {"domain": domain}, report, clock)


def _train(
    settings: SftSettings,
    shown: Callable[[Count, int], Demonstrations],
    card: Mapping[str, Any],
    report: Report,
    clock: Callable[[], float],
) -> SftResult:
    require_frameworks()
    checkpoint = last_checkpoint(settings.output, resume=settings.resume)
    model, tokenizer = load_model(settings.model, on_cpu="auto")
    _refuse_context(settings, context_tokens(model))
    needed = settings.updates * settings.batch
    each = ceil(needed / len(settings.demonstrations.answers))
    found = shown(lambda text: _count(tokenizer, text), each)
    rows = [_row(demonstration, tokenizer) for demonstration in _schedule(found, settings, needed)]
    settings.output.mkdir(parents=True, exist_ok=True)
    log = UpdateLog(settings.output / LOG, _LOGGED, report)
    log.keep(updates_of(checkpoint))
    callbacks = [TimeEstimate(report).callback(), log.callback(), _time_limit(settings.max_seconds, clock)]
    trainer = _trainer(settings, model, tokenizer, rows, callbacks)
    run_trainer(trainer, checkpoint, "lower the rate if weights diverge, and batch or max_tokens if memory runs out")
    result = SftResult(
        adapter=save_adapter(trainer.model, settings.output),
        updates=trainer.state.global_step,
        demonstrations={m: len(made) for m, made in found.by_answers.items()},
        too_long=found.too_long,
    )
    write_card(settings.output, {"settings": asdict(settings), **card, **asdict(result)})
    return result


def _schedule(found: Demonstrations, settings: SftSettings, size: int) -> list[Demonstration]:
    temperature = settings.demonstrations.reward_temperature
    if temperature is None:
        return found.schedule(size)
    return found.weighted_schedule(size, temperature, np.random.default_rng([settings.demonstrations.seed, _DRAWN]))


def _refuse_context(settings: SftSettings, context: int) -> None:
    wanted = settings.demonstrations.max_tokens
    if wanted > context:
        raise TrainingError(f"max_tokens is {wanted}, and the model's context has {context}: lower max_tokens.")


def _count(tokenizer: Any, text: str) -> int:
    return len(tokenizer(text, add_special_tokens=False)["input_ids"])


def _row(demonstration: Demonstration, tokenizer: Any) -> dict[str, list[int]]:
    """Prompt and reply as tokens, and the labels, which leave out the prompt."""
    messages = [dict(message) for message in demonstration.messages]
    head = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    reply = demonstration.reply + end_of_turn(tokenizer, messages, head, demonstration.reply)
    prompt = tokenizer(head, add_special_tokens=False)["input_ids"]
    answer = tokenizer(reply, add_special_tokens=False)["input_ids"]
    return {"input_ids": prompt + answer, "labels": [-100] * len(prompt) + answer}


def end_of_turn(tokenizer: Any, messages: list[dict[str, str]], head: str, reply: str) -> str:
    """The mark behind a reply: that of the chat template if it has one, else the tokenizer's.

    Args:
        tokenizer: of a chat model.
        messages: of the prompt.
        head: the prompt as text, up to where the reply begins.
        reply: its text.
    """
    said = [*messages, {"role": "assistant", "content": reply}]
    whole = tokenizer.apply_chat_template(said, tokenize=False)
    end = whole[len(head) + len(reply) :].strip() if whole.startswith(head + reply) else ""
    return str(end or tokenizer.eos_token or "")


def _trainer(
    settings: SftSettings, model: Any, tokenizer: Any, rows: list[dict[str, list[int]]], callbacks: list[Any]
) -> Any:
    datasets, trl = import_module("datasets"), import_module("trl")
    cpu = not import_module("torch").cuda.is_available()
    config = trl.SFTConfig(
        output_dir=str(settings.output / CHECKPOINTS), use_cpu=cpu, bf16=not cpu, gradient_checkpointing=not cpu,
        seed=settings.demonstrations.seed, max_steps=settings.updates, per_device_train_batch_size=1,
        gradient_accumulation_steps=settings.batch, learning_rate=settings.rate, max_length=None,
        lr_scheduler_type="constant_with_warmup", warmup_steps=_WARM_UP_UPDATES, max_grad_norm=1.0, weight_decay=0.0,
        logging_steps=1, save_strategy="steps", save_steps=settings.save_every, save_total_limit=2,
        report_to=[], disable_tqdm=True, dataloader_pin_memory=not cpu,
    )  # fmt: skip
    trainer = trl.SFTTrainer(
        model=model,
        args=config,
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=adapter_config(settings.rank),
        callbacks=callbacks,
    )
    trainer.remove_callback(import_module("transformers").PrinterCallback)
    return trainer


def _time_limit(max_seconds: float | None, clock: Callable[[], float]) -> Any:
    """Ends training after the update that exceeds the limit."""
    started, base = clock(), import_module("transformers").TrainerCallback

    class TimeLimitCallback(base):  # type: ignore[misc, valid-type] # known once transformers is there
        def on_step_end(self, _args: Any, _state: Any, control: Any, **_: Any) -> None:
            if max_seconds is not None and clock() - started >= max_seconds:
                control.should_training_stop = control.should_save = True

    return TimeLimitCallback()
