"""What `evolve train task` and `evolve train data` do: a domain in, trained weights or rows of a data set out."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from service.cli.terminal import Terminal
from service.cli.training_report import hide_library_warnings, show_line, tracker_names
from service.errors import InvalidProblemError, UsageError
from service.jsonlines import as_line

SPLITS = ("train", "test")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions:
    """The words of `evolve train task`; `numbers` are settings of `training.task.TaskSettings`, None: its default."""

    domain: str
    model: str
    output: Path
    method: str
    seed: int
    alpha: float
    resume: bool
    start: Path | None
    vllm: str
    trackers: str
    numbers: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions:
    """The words of `evolve train data`; `data` are the files of a published data set by split."""

    domain: str
    output: Path
    m: int
    weights: bool
    alpha: float
    limit: int | None
    seed: int
    data: Mapping[str, Path]


def train_on_task(terminal: Terminal, options: TaskOptions) -> None:
    """Train a model on the questions of a domain.

    Raises:
        TrainingError: training cannot begin or go on.
        ExtensionError: the domain cannot be loaded.
        RewardError: the method does not exist, or a number is out of its range.
    """
    from training.adapters.weighting import Weighting
    from training.task import TaskSettings, train_task

    look_here()
    hide_library_warnings()
    numbers: dict[str, Any] = {name: value for name, value in options.numbers.items() if value is not None}
    settings = TaskSettings(
        domain=options.domain,
        model=options.model,
        output=options.output,
        method=options.method,
        weighting=Weighting(seed=options.seed, alpha=options.alpha),
        resume=options.resume,
        vllm=options.vllm,
        trackers=tracker_names(options.trackers),
        start=options.start,
        **numbers,
    )

    folder = train_task(settings, lambda line: show_line(terminal, settings.steps, line))
    if terminal.as_json:
        print(as_line({"schema": 1, "kind": "training.summary", "model": str(folder)}))
        return
    terminal.show(f"The {'adapter' if settings.rank else 'model'} is in {folder}.")


def write_data(terminal: Terminal, options: DataOptions) -> None:
    """Write the questions of a domain as rows for TRL and veRL.

    Raises:
        TrainingError: the domain brings no questions, or the folder holds something else.
        InvalidProblemError: a row of the data set is not a question.
        ExtensionError: the domain cannot be loaded.
    """
    from training.task_data import DataSettings, questions_of, rows_of, write_rows

    look_here()
    settings = DataSettings(
        domain=options.domain,
        m=options.m,
        weights=options.weights,
        alpha=options.alpha,
        limit=options.limit,
        seed=options.seed,
    )
    if options.data and set(options.data) != set(SPLITS):
        raise UsageError("name both files of the data set: --data for training, and --test for testing")
    rows = {}
    for split in SPLITS:
        found = (
            published_questions(options.domain, options.data[split], options.limit, options.seed)
            if options.data
            else questions_of(options.domain, split, options.limit)
        )
        rows[split] = rows_of(settings, split, found)
    source = ", ".join(str(path) for path in options.data.values()) or "the questions of the domain"
    write_rows(options.output, settings, rows, source)
    counts = {split: len(found) for split, found in rows.items()}
    if terminal.as_json:
        print(as_line({"schema": 1, "kind": "training.data", "folder": str(options.output), "rows": counts}))
        return
    terminal.show(f"{counts['train']} training and {counts['test']} test questions are in {options.output}.")


def show_presets(terminal: Terminal, name: str | None) -> None:
    """Show the published settings: all as they are written down, or those of a task with what all tasks share.

    Raises:
        UsageError: there is no such task.
    """
    import tomllib
    from importlib.resources import files

    from service.problems.toml_writer import toml_text

    text = files("training").joinpath("presets.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)
    tasks = [task for task in found if task != "common"]
    if name is not None and name not in tasks:
        raise UsageError(f"there are no settings for {name[:80]!r}: choose {', '.join(tasks)}")
    chosen = found if name is None else {name: found[name]} if name == "smaller" else preset_of(found, name)
    if terminal.as_json:
        print(as_line({"schema": 1, "kind": "training.presets", "settings": chosen}))
    else:
        print(text if name is None else toml_text(chosen), end="")


def preset_of(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The settings of a task over those that all share."""
    common, own = found["common"], found[name]
    return {**common, **own, "evaluation": {**common["evaluation"], **own.get("evaluation", {})}}


def look_here() -> None:
    """Let Python find a domain in the working folder, as `python -m` does."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def published_questions(domain: str, path: Path, limit: int | None, seed: int = 0) -> list[Any]:
    """The questions of a published data set.

    Raises:
        UsageError: the domain brings its own questions.
        InvalidProblemError: the file holds none, or a row is not a question.
    """
    from service.problems.domains.published import FIELDS, read_question
    from service.problems.domains.rows import read_rows
    from training.task_data import limited

    if domain not in FIELDS:
        raise UsageError(f"--data is for {', '.join(FIELDS)}: {domain} brings its own questions")
    # A draw needs all questions. Others are the first of the file.
    rows = islice(read_rows(path), None if domain == "musique" else limit)
    found = [read_question(domain, row, f"{path}, question {number}") for number, row in enumerate(rows)]
    if not found:
        raise InvalidProblemError([f"{path} holds no questions"])
    return limited(domain, found, limit, seed)
