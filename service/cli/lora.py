"""What `evolve train lora` does: the records of runs and the evaluator of their problem in, an adapter out."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.cli.terminal import Terminal
from service.cli.training_report import hide_library_warnings, show_line, tracker_names
from service.config import load_settings
from service.errors import UsageError
from service.jsonlines import as_line

if TYPE_CHECKING:
    from training.lora import LoraSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraOptions:
    """The words of `evolve train lora`; `numbers` are settings of `training.lora.LoraSettings`, None: its default."""

    problem: Path
    output: Path
    model: str
    records: tuple[Path, ...]
    method: str
    seed: int
    alpha: float
    resume: bool
    keep_going: bool
    slots: int
    require_isolation: str | None
    start: Path | None
    vllm: str
    trackers: str
    numbers: Mapping[str, float | None]


def train_on_records(terminal: Terminal, options: LoraOptions) -> None:
    """Train an adapter for a model that the user brings, on the prompts of the user's own runs.

    Raises:
        TrainingError: training cannot begin or go on.
        InvalidProblemError, RefusedError: the problem's programs cannot be scored here.
        RewardError: alpha is out of its range.
    """
    from service.bootstrap.evaluators import choose_evaluators
    from service.usecases.sync_scoring import open_sync_scoring
    from training.base_model import require_frameworks
    from training.lora import train_lora

    require_frameworks()
    hide_library_warnings()
    settings = _settings(options)
    evaluators = choose_evaluators(load_settings(), queue="", require=options.require_isolation)
    with open_sync_scoring(options.problem, evaluators, slots=options.slots) as (
        problem,
        evaluate,
    ):
        adapter = train_lora(settings, problem, evaluate, lambda line: show_line(terminal, settings.steps, line))
    if terminal.as_json:
        print(as_line({"schema": 1, "kind": "training.summary", "adapter" if settings.rank else "model": str(adapter)}))
        return
    terminal.show(f"The {'adapter' if settings.rank else 'model'} is in {adapter}.")
    if not settings.rank:
        terminal.note(f"Serve it with vLLM, then: {_next(terminal, options)}")
        return
    terminal.note(
        f"Load it into a running vLLM as docs/how-to/train-a-policy.md says, then: {_next(terminal, options)}"
    )


def _settings(options: LoraOptions) -> "LoraSettings":
    from training.adapters.weighting import Weighting
    from training.lora import LoraSettings

    if not options.records:
        raise UsageError("name records: --records FILE, written with evolve export RUN --training -o FILE")
    numbers: dict[str, Any] = {name: value for name, value in options.numbers.items() if value is not None}
    return LoraSettings(
        model=options.model,
        records=options.records,
        output=options.output,
        method=options.method,
        weighting=Weighting(seed=options.seed, alpha=options.alpha),
        resume=options.resume,
        keep_going=options.keep_going,
        start=options.start,
        vllm=options.vllm,
        trackers=tracker_names(options.trackers),
        **numbers,
    )


def _next(terminal: Terminal, options: LoraOptions) -> str:
    return terminal.command(f"run {options.problem} --policy http://localhost:8000/v1 --model NAME")
