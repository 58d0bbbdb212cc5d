"""What `evolve study` does: reads the wish, shows the progress, says what came of it."""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.cli.terminal import Terminal
from service.errors import ConflictError, NotFoundError, UsageError

if TYPE_CHECKING:
    from evolve.problem import Problem
    from training.study.findings import Findings
    from training.study.plan import StudyScope
    from training.study.work import Told

_PROBLEM = """\
schema = 1

[domain]
name = "maze"
kind = "{kind}"
split = "{split}"
number = {number}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """The words of `evolve study`; None: as the study itself has it."""

    models: Path
    output: Path
    report: Path | None
    stage: str | None
    quick: bool
    mazes: int | None
    search_seeds: int | None
    own_temperatures: bool
    workers: int | None


def study(terminal: Terminal, options: StudyOptions) -> None:
    """Compare trained policies.

    Raises:
        UsageError: a word is off, a model cannot be used, or what draws pictures is not installed.
        NotFoundError: there are no models.
        ConflictError: a file stands where a folder is to be, or a folder where the report is to be.
        StudyError: a measurement is damaged.
    """
    from training.study.campaign import Campaign
    from training.study.conduct import STAGES, StudyRunner
    from training.study.contenders import find_contenders
    from training.study.raw import Store

    if options.stage is not None and options.stage not in STAGES:
        raise UsageError(f"there is no stage {options.stage!r}: choose {', '.join(STAGES)}")
    path = _place(options)
    scope = _scope(options)
    contenders = find_contenders(options.models)
    if options.quick:
        first = min(contender.seed for contender in contenders)
        contenders = tuple(contender for contender in contenders if contender.seed == first)
    conduct = StudyRunner(
        campaign=Campaign(contenders=contenders, scope=scope, store=Store(folder=options.output / "raw")),
        problems=problem_of,
        workers=options.workers or len(os.sched_getaffinity(0)),
        watch=lambda title, total: _progress(terminal, title, total),
        path=path,
        command=_command(options),
    )
    try:
        found = conduct.go([options.stage] if options.stage else STAGES)
    except KeyboardInterrupt:
        terminal.note("Stopped. Run the same command to continue.")
        raise
    _say(terminal, found, path)


@lru_cache(maxsize=1024)
def problem_of(kind: str, split: str, number: int) -> "Problem":
    """The problem that `evolve run` searches on for a maze."""
    from service.problems.folder import Folder
    from service.problems.load import load_files

    text = _PROBLEM.format(kind=kind, split=split, number=number)
    return load_files(Folder(files={"problem.toml": text.encode()}), "maze", "the study").problem


def _scope(options: StudyOptions) -> "StudyScope":
    from training.study.plan import FULL, QUICK

    scope = QUICK if options.quick else FULL
    scope = scope if options.mazes is None else scope.at_most(options.mazes)
    scope = scope if options.search_seeds is None else replace(scope, search_seeds=options.search_seeds)
    return replace(scope, own_temperatures=options.own_temperatures)


def _place(options: StudyOptions) -> Path:
    """Where the report goes; folders are made."""
    path = options.report or options.output / "study.md"
    if path.is_dir():
        raise ConflictError(f"{path} is a folder: name a file with --report")
    if options.report is not None and not path.parent.is_dir():
        raise NotFoundError(f"there is no folder {path.parent}: make it, or name another with --report")
    for folder in (options.output, options.output / "raw"):
        if folder.exists() and not folder.is_dir():
            raise ConflictError(f"{folder} is not a folder: name another with -o")
    if not options.models.is_dir():
        raise NotFoundError(f"there is no folder {options.models}: name one that holds trained models")
    options.output.mkdir(parents=True, exist_ok=True)
    return path


def _command(options: StudyOptions) -> str:
    """The command, without the folders of this machine."""
    words = ["evolve", "study", options.models.resolve().name, "-o", options.output.resolve().name]
    words += ["--quick"] if options.quick else []
    words += ["--mazes", str(options.mazes)] if options.mazes is not None else []
    words += ["--search-seeds", str(options.search_seeds)] if options.search_seeds is not None else []
    words += [] if options.own_temperatures else ["--plain-searches"]
    return shlex.join(words)


@contextmanager
def _progress(terminal: Terminal, title: str, total: int) -> Iterator["Told"]:
    """A bar on a terminal, a line for each task elsewhere, a JSON line for each task for programs."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    watched = terminal.err.is_terminal and terminal.verbosity >= 0 and not terminal.as_json
    with Progress(*columns, TextColumn("{task.fields[last]}"), console=terminal.err, disable=not watched) as bar:
        shown, done = bar.add_task(title, total=total, last=""), 0

        def told(task: Any) -> None:
            nonlocal done
            done += task.size
            bar.update(shown, completed=done, last=task.key.title)
            if terminal.as_json:
                terminal.emit({"kind": "study.task", "stage": title, "task": task.key.title, "done": done / total})
            elif not watched:
                terminal.note(f"{title}: {done / total:.0%}  {task.key.title}")

        yield told


def _say(terminal: Terminal, found: "Findings | None", path: Path) -> None:
    from training.study.targets import targets

    judged = targets(found) if found is not None else []
    if terminal.as_json:
        listed = [{"target": one.name, "met": one.met, "seen": one.seen} for one in judged]
        terminal.emit({"kind": "study.summary", "report": str(path) if found is not None else None, "targets": listed})
        return
    for target in judged:
        terminal.show(f"{target.verdict}: {target.name}" + (f" ({target.seen})" if target.seen else ""))
    if found is not None:
        terminal.show(f"The report is in {path}.")
    else:
        terminal.note("Measured. The report is written by `evolve study` without --stage, or with --stage report.")
