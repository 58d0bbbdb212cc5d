"""What every training with rewards and TRL has: its settings, the prompts that fit, and the trainer."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evolve.vpo import Options, method_of
from training.adapter_files import (
    CHECKPOINTS,
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
from training.adapters import held_out
from training.adapters.completions import Judge
from training.adapters.trl import method_trainer
from training.adapters.weighting import Weighting
from training.base_model import adapter_config, context_tokens, load_model, with_adapter
from training.errors import TrainingError
from training.plots import draw_updates
from training.time_estimate import TimeEstimate

COLOCATE = "colocate"
CURE = "lower the rate if weights diverge, and max_tokens or group if memory runs out"
CURVES = "curves.svg"
LOGGED = {
    "vpo/set_reward": "set_reward", "vpo/group_std": "group_std", "vpo/pool_size": "pool_size", "vpo/unread": "unread",
    "kl": "kl", "entropy": "entropy", "loss": "loss", "completions/mean_length": "tokens",
    "completions/clipped_ratio": "cut", "step_time": "seconds",
}  # fmt: skip
TESTED = {
    f"eval_vpo/{name}": f"test_{short}"
    for name, short in {"set_reward": "set_reward", "unread": "unread", **held_out.NAMES}.items()
}
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
        start: folder of an adapter of the model to train on, with its rank. None: a new one.
        test_every: updates between two tests on held-out prompts, besides one before and one after all. 0: none.
        trackers: of transformers, such as tensorboard, mlflow or wandb.
        vllm: which vLLM writes the completions: `colocate`, in this process, or the address of `trl vllm-serve`. Both
            need a GPU. Empty: the model itself.
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
    start: Path | None = None
    test_every: int = 0
    trackers: tuple[str, ...] = ()
    vllm: str = ""
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
        if self.test_every < 0:
            raise TrainingError(f"test_every must be at least 0, not {self.test_every}.")
        if self.start is not None and not self.rank:
            raise TrainingError("All weights cannot be trained from an adapter: leave start out, or set a rank.")
        if self.vllm not in ("", COLOCATE) and not self.vllm.startswith(("http://", "https://")):
            raise TrainingError(f"vllm is {COLOCATE} or the address of a server of trl vllm-serve, not {self.vllm!r}.")

    @property
    def learning_rate(self) -> float:
        """The rate, or the default of what is trained."""
        return self.rate if self.rate is not None else 1e-5 if self.rank else 1e-6

    def describe(self) -> dict[str, Any]:
        """As the card of the training names them."""
        return {**asdict(self), "rate": self.learning_rate}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A model that will be trained.

    Attributes:
        model, tokenizer: a chat model, with the adapter to start from if there is one, and its tokenizer.
        checkpoint: to resume from. None: training starts.
    """

    model: Any
    tokenizer: Any
    checkpoint: Path | None


def load_trained(settings: RewardTrainingSettings) -> LoadedModel:
    """The model that is trained. The checkpoint to resume from is read and checked first.

    Raises:
        ModelError: the model, its tokenizer or the adapter cannot be loaded.
        CheckpointError: the folder holds a training and `resume` is not set, or it holds none to resume.
    """
    checkpoint = last_checkpoint(settings.output, resume=settings.resume, whole=not settings.rank)
    model, tokenizer = load_model(settings.model)
    if settings.start is not None:
        model = with_adapter(model, settings.start, trained=True)
    return LoadedModel(model=model, tokenizer=tokenizer, checkpoint=checkpoint)


def fitting(rows: Rows, loaded: LoadedModel, max_tokens: int) -> list[dict[str, Any]]:
    """The rows whose `prompt`, a chat, leaves room for a completion.

    Raises:
        TrainingError: there is none.
    """
    context, tokenizer = context_tokens(loaded.model), loaded.tokenizer
    shown = [tokenizer.apply_chat_template(row["prompt"], add_generation_prompt=True, tokenize=False) for row in rows]
    lengths = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in shown]
    kept = [dict(row) for row, length in zip(rows, lengths, strict=True) if length + max_tokens <= context]
    if not kept:
        raise TrainingError(
            f"No prompt leaves room for {max_tokens} tokens in the model's context of {context}: lower max_tokens."
        )
    return kept


def train(
    settings: RewardTrainingSettings,
    loaded: LoadedModel,
    rows: Rows,
    tested: Rows,
    judge: Judge,
    report: Report,
    card: Mapping[str, Any],
    check: Callable[[], None] = lambda: None,
) -> Path:
    """Train with TRL, from the last checkpoint if there is one. Returns the folder that a server loads.

    Args:
        settings: of the training.
        loaded: from `load_trained`.
        rows: `prompt`, and what the judge needs.
        tested: held-out rows.
        judge: gives the reward vectors of completions.
        report: gets every update and every test, as in the log, and the time that the rest will take.
        card: of the training, besides its settings.
        check: called after the last update. If it raises, nothing is saved.

    Raises:
        TrainingError: weights diverge, memory runs out, or a tracker or vLLM is not installed.
    """
    checkpoint = loaded.checkpoint
    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / LOG
    log, tests = UpdateLog(path, LOGGED, report), UpdateLog(path, TESTED, report)
    log.keep(updates_of(checkpoint))
    estimate = TimeEstimate(report, settings.test_every)
    callbacks = [estimate.callback(), log.callback(), tests.callback()]
    # An update needs as many rows as prompts; groups of the same prompt stay groups of their own.
    enough = [*rows] * -(-settings.prompts // len(rows))
    trainer = make_trainer(
        settings, loaded.model, loaded.tokenizer, enough, judge, callbacks, tested, first=checkpoint is None
    )
    run_trainer(trainer, checkpoint, CURE)
    check()
    write_card(settings.output, {"settings": settings.describe(), **card})
    if find_spec("matplotlib") is not None:
        draw_updates(
            [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()], path.with_name(CURVES)
        )
    return save_adapter(trainer.model, settings.output) if settings.rank else save_model(trainer, settings.output)


def make_trainer(
    settings: RewardTrainingSettings,
    model: Any,
    tokenizer: Any,
    rows: Rows,
    judge: Judge,
    callbacks: Sequence[Any],
    tested: Rows = (),
    *,
    first: bool = True,
) -> Any:
    """TRL's trainer, with the advantages of a method.

    Args:
        settings: of the training.
        model, tokenizer: a chat model, with an adapter or without.
        rows: `prompt`, and what the judge needs.
        judge: gives the reward vectors of completions.
        callbacks: of the trainer.
        tested: held-out rows.
        first: test before the first update, too.

    Raises:
        TrainingError: a tracker or vLLM is not installed.
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
        save_total_limit=2, disable_tqdm=True, report_to=list(settings.trackers), **generation_options(settings.vllm),
        **(_testing(settings, first=first) if tested else {}),
    )  # fmt: skip
    wanted = settings.rank and settings.start is None
    try:
        trainer = method_trainer(settings.method, judge, settings.weighting, Options(k=settings.k))(
            model=model,
            args=config,
            train_dataset=datasets.Dataset.from_list([*rows]),
            eval_dataset=datasets.Dataset.from_list([*tested]) if tested else None,
            processing_class=tokenizer,
            peft_config=adapter_config(settings.rank) if wanted else None,
            callbacks=[*callbacks, *([_last_test()] if tested else [])],
        )
    except (ImportError, ValueError, RuntimeError) as error:  # how transformers says that a tracker or vLLM is missing
        if not (settings.trackers or settings.vllm):
            raise
        reason = str(error).strip().partition("\n")[0][:200]
        raise TrainingError(f"Training cannot start ({reason}): install it, or train without it.") from error
    trainer.remove_callback(import_module("transformers").PrinterCallback)
    return trainer


def generation_options(vllm: str) -> dict[str, Any]:
    """Options of TRL for generation with vLLM: in this process, or by the server at an address."""
    if not vllm:
        return {}
    if vllm == COLOCATE:
        return {"use_vllm": True, "vllm_mode": COLOCATE}
    return {"use_vllm": True, "vllm_mode": "server", "vllm_server_base_url": vllm}


def _testing(settings: RewardTrainingSettings, *, first: bool) -> dict[str, Any]:
    return {
        "eval_strategy": "steps", "eval_steps": settings.test_every, "eval_on_start": first,
        "per_device_eval_batch_size": settings.group,
    }  # fmt: skip


def _last_test() -> Any:
    """Tests after the last update, too."""
    base = import_module("transformers").TrainerCallback

    class LastTestCallback(base):  # type: ignore[misc, valid-type] # known once transformers is there
        def on_step_end(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step >= state.max_steps:
                control.should_evaluate = True

    return LastTestCallback()
