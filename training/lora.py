"""A policy for programs: Vector Policy Optimization of a model that the user brings, with TRL and a LoRA adapter.

The prompts are those that the user's own runs asked; what new completions are worth, the problem's evaluator says.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evolve.problem import Problem
from evolve.statistics import collinearity_warning
from training.adapters.trl import set_reward_function
from training.adapters.weighting import Weighting
from training.errors import CheckpointError, ModelError, TrainingError
from training.programs import COLUMN, Evaluate, ProgramJudge
from training.records import Record, read_records

ADAPTER, CHECKPOINTS, LOG, CARD = "adapter", "checkpoints", "log.jsonl", "training.json"
_WEIGHTS, _CONFIG = "adapter_model.safetensors", "adapter_config.json"
_LOGGED = {
    "vpo/set_reward": "set_reward", "vpo/group_std": "group_std", "vpo/pool_size": "pool_size", "vpo/unread": "unread",
    "kl": "kl", "entropy": "entropy", "loss": "loss", "completions/mean_length": "tokens",
    "completions/clipped_ratio": "cut", "step_time": "seconds",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraSettings:
    """What is trained, on what, and how.

    Attributes:
        model: a folder of a model with a chat template, or its name on the hub.
        records: files that `evolve export --training` wrote, all of one problem.
        output: folder that is made; it gets the adapter, checkpoints, a log and what was trained how.
        steps: updates.
        prompts, group: prompts of an update, and completions to each of them.
        rate: learning rate, constant; ten times what is published for all weights at once.
        rank: of the adapter; a server must allow it (vLLM: 16 unless told).
        longest: tokens of a completion at most.
        temperature: of sampling.
        divergence: weight of the penalty for leaving the model that training began with.
        weighting: of the objectives; its seed is the run's.
        save_every: updates between two checkpoints.
        resume: go on from the last checkpoint in the output folder.
    """

    model: str
    records: tuple[Path, ...]
    output: Path
    steps: int = 200
    prompts: int = 8
    group: int = 8
    rate: float = 1e-5
    rank: int = 16
    longest: int = 2048
    temperature: float = 1.0
    divergence: float = 1e-3
    weighting: Weighting = field(default_factory=Weighting)
    save_every: int = 20
    resume: bool = False

    def __post_init__(self) -> None:
        for name in ("steps", "prompts", "rank", "longest", "save_every"):
            if getattr(self, name) < 1:
                raise TrainingError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if self.group < 2:
            raise TrainingError(
                f"group must be at least 2, not {self.group}: completions are compared with each other."
            )
        if not (self.rate > 0 and self.temperature > 0 and self.divergence >= 0):
            raise TrainingError("rate and temperature must be above 0, and divergence at least 0.")


Report = Callable[[Mapping[str, Any]], None]


def train_lora(settings: LoraSettings, problem: Problem, evaluate: Evaluate, report: Report = lambda _: None) -> Path:
    """Train an adapter; give the folder that a server loads it from.

    Args:
        settings: what is trained, on what, and how.
        problem: of the records.
        evaluate: scores programs, in order.
        report: hears of every update: step, set_reward, group_std, unread and more, as they stand in the log; and once
            of a warning.

    Raises:
        TrainingError: the records cannot be used, the extra `trl` is not installed, weights blow up or memory runs out.
        ModelError: the model cannot be loaded, or is none to talk to.
        CheckpointError: the folder holds a training that was not to be resumed, or none that can be.
    """
    require_frameworks()
    records = read_records(settings.records)
    judge = ProgramJudge(problem, evaluate, records)
    if len(records.rewards) > 1 and (warning := collinearity_warning(records.rewards)):
        report({"warning": warning})
    last = _last_checkpoint(settings)
    model, tokenizer = _load(settings.model)
    rows = _rows(records.usable, tokenizer, model, settings)
    settings.output.mkdir(parents=True, exist_ok=True)
    log = _Log(settings.output / LOG, report)
    log.keep(int(last.name.split("-")[1]) if last else 0)
    trainer = _trainer(settings, model, tokenizer, rows, judge, log)
    _train(trainer, last)
    card = {"settings": asdict(settings), "prompts": len(rows), "passed_over": records.passed_over}
    (settings.output / CARD).write_text(json.dumps(card, indent=1, default=str) + "\n", encoding="utf-8")
    return _save(trainer.model, settings.output / ADAPTER)


def require_frameworks() -> None:
    """Say what is missing before anything is done.

    Raises:
        TrainingError: the extra `trl` is not installed.
    """
    missing = [name for name in ("torch", "transformers", "trl", "peft", "datasets") if find_spec(name) is None]
    if missing:
        raise TrainingError(
            f"{', '.join(missing)} is not installed: install the extra trl (docs/how-to/train-a-policy.md says how, and"
            " how to ask for a build of torch without CUDA)."
        )


def check_adapter(folder: Path) -> None:
    """Read an adapter whole.

    Raises:
        CheckpointError: a file of it is missing, cut off or not of its kind, or weights are not finite.
    """
    from safetensors import SafetensorError, safe_open

    torch = import_module("torch")
    try:
        json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
        with safe_open(folder / _WEIGHTS, framework="pt") as weights:
            broken = [name for name in weights.keys() if not torch.isfinite(weights.get_tensor(name)).all()]  # noqa: SIM118 - no mapping
    except (OSError, ValueError, SafetensorError) as error:
        raise CheckpointError(f"{folder} holds no whole adapter: remove it, and train or resume again.") from error
    if broken:
        raise CheckpointError(f"{folder}: {broken[0]} holds numbers that are not finite: lower the learning rate.")


def _last_checkpoint(settings: LoraSettings) -> Path | None:
    found = sorted((settings.output / CHECKPOINTS).glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
    if settings.resume and not found:
        raise CheckpointError(f"There is no checkpoint in {settings.output / CHECKPOINTS} to resume from.")
    if not settings.resume:
        if found or (settings.output / ADAPTER).exists():
            raise CheckpointError(f"{settings.output} holds a training: resume it, or name another folder.")
        return None
    check_adapter(found[-1])
    return found[-1]


def _load(name: str) -> tuple[Any, Any]:
    transformers, torch = import_module("transformers"), import_module("torch")
    kind = torch.bfloat16 if torch.cuda.is_available() else torch.float32
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
        model = transformers.AutoModelForCausalLM.from_pretrained(name, dtype=kind)
    except Exception as error:  # a damaged or foreign folder fails in as many ways as there are readers
        reason = str(error).strip().partition("\n")[0][:200]
        raise ModelError(f"The model {name} cannot be loaded: {reason}") from error
    if not tokenizer.chat_template:
        raise ModelError(f"The tokenizer of {name} has no chat template: take a model that is made for instructions.")
    fits = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > fits:
        raise ModelError(
            f"The vocabulary of {name} does not fit: the tokenizer has {len(tokenizer)}, the model {fits}."
        )
    return model, tokenizer


def _rows(records: Sequence[Record], tokenizer: Any, model: Any, settings: LoraSettings) -> list[dict[str, Any]]:
    """A row for each record whose prompt leaves room for a completion."""
    context = getattr(model.config, "max_position_embeddings", None) or 1 << 30
    rows = []
    for number, record in enumerate(records):
        messages = [dict(message) for message in record.messages]
        shown = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        if len(tokenizer(shown, add_special_tokens=False)["input_ids"]) + settings.longest <= context:
            rows.append({"prompt": messages, COLUMN: number})
    if not rows:
        raise TrainingError(
            f"No prompt leaves room for {settings.longest} tokens in the model's context of {context}: lower longest."
        )
    return rows


def _trainer(
    settings: LoraSettings, model: Any, tokenizer: Any, rows: list[dict[str, Any]], judge: ProgramJudge, log: "_Log"
) -> Any:
    datasets, peft, trl = import_module("datasets"), import_module("peft"), import_module("trl")
    cpu = not import_module("torch").cuda.is_available()
    config = trl.GRPOConfig(
        output_dir=str(settings.output / CHECKPOINTS), use_cpu=cpu, bf16=not cpu, seed=settings.weighting.seed,
        max_steps=settings.steps, per_device_train_batch_size=settings.group,
        gradient_accumulation_steps=settings.prompts, num_generations=settings.group,
        max_completion_length=settings.longest, temperature=settings.temperature, learning_rate=settings.rate,
        lr_scheduler_type="constant", max_grad_norm=1.0, beta=settings.divergence, scale_rewards="group",
        logging_steps=1, save_strategy="steps", save_steps=settings.save_every, save_total_limit=2,
        report_to=[], disable_tqdm=True,
    )  # fmt: skip
    adapter = peft.LoraConfig(
        r=settings.rank, lora_alpha=2 * settings.rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    trainer = trl.GRPOTrainer(
        model=model,
        reward_funcs=set_reward_function(judge, settings.weighting, settings.longest),
        args=config,
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=adapter,
        callbacks=[log.callback()],
    )
    trainer.remove_callback(import_module("transformers").PrinterCallback)
    return trainer


@dataclass(frozen=True, slots=True)
class _Log:
    """Writes every update as a JSON line, and reports it."""

    path: Path
    report: Report

    def keep(self, steps: int) -> None:
        """Drop what was written of later updates, which will be done again."""
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True) if self.path.exists() else []
        self.path.write_text("".join(line for line in lines if json.loads(line)["step"] <= steps), encoding="utf-8")

    def callback(self) -> Any:
        log, base = self, import_module("transformers").TrainerCallback

        class Callback(base):  # type: ignore[misc, valid-type] # known once transformers is there
            def on_log(self, _args: Any, state: Any, _control: Any, logs: Mapping[str, Any], **_: Any) -> None:
                log.write(state.global_step, logs)

        return Callback()

    def write(self, step: int, logs: Mapping[str, Any]) -> None:
        line = {"step": step} | {short: logs[name] for name, short in _LOGGED.items() if name in logs}
        if "set_reward" not in line:
            return
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
        self.report(line)


def _train(trainer: Any, last: Path | None) -> None:
    try:
        trainer.train(resume_from_checkpoint=str(last) if last else None)
    except RuntimeError as error:  # torch's word for numbers that are none and for memory that is gone
        reason = str(error).strip().partition("\n")[0][:200]
        raise TrainingError(
            f"Training stopped after {trainer.state.global_step} updates ({reason}): lower the rate where weights blow"
            " up, longest or group where memory runs out."
        ) from error


def _save(model: Any, folder: Path) -> Path:
    """Write the adapter beside its place, read it back, and only then put it there."""
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    model.save_pretrained(partial)
    check_adapter(partial)
    shutil.rmtree(folder, ignore_errors=True)
    partial.replace(folder)
    return folder
