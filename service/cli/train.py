"""What `evolve train` does: reads the wish, shows the progress, says what came of it."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.cli.terminal import Terminal
from service.errors import ConflictError, UsageError
from service.jsonlines import as_line

if TYPE_CHECKING:
    from evolve.domains.maze import Maze
    from training.maze import Report, TrainingProgress
    from training.policy import TrainedPolicy, TrainingRequest
    from training.recipe import Recipe

NEEDED = ("torch", "safetensors", "matplotlib")
SHOWN = ("best@1", "best@4", "best@16", "best@64", "solved@64", "ew@64", "diversity")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """The words of `evolve train maze`."""

    output: Path
    method: str
    base: Path | None
    seed: int
    warm_steps: int | None
    chain_length: int | None
    steps: int | None
    k: int | None
    alpha: float
    kinds: str
    validated: int
    device: str
    threads: int
    mazes: Path | None = None
    save_every: int = 50


def train_maze(terminal: Terminal, options: TrainOptions) -> None:
    """Train a maze policy.

    Raises:
        UsageError: the frameworks of training are not installed, or a word is off.
        ConflictError: the folder holds the training of another recipe.
        TrainingError: training cannot begin or go on.
    """
    check_frameworks()
    import torch

    from training.errors import OtherRecipeError
    from training.maze import RunFolder
    from training.policy import train_policy

    if options.threads:
        torch.set_num_threads(options.threads)
    wanted = _wanted(options)
    place = RunFolder(
        folder=options.output, device=_device(options.device), save_every=options.save_every, warn=terminal.note
    )
    with _progress(terminal) as report:
        try:
            trained = train_policy(wanted, place, report)
        except OtherRecipeError as error:
            raise ConflictError(str(error)) from error
    _say(terminal, trained)


def check_frameworks() -> None:
    """Refuse to train without the frameworks.

    Raises:
        UsageError: one is not installed.
    """
    from importlib.util import find_spec

    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"training needs {', '.join(missing)}: install evolve-search[training], with a CPU build of torch"
            f" if you have no GPU (docs/how-to/train-a-policy.md)"
        )


def _wanted(options: TrainOptions) -> "TrainingRequest":
    from evolve.domains.maze import KINDS
    from training.policy import TrainingRequest
    from training.recipe import Recipe

    kinds = tuple(kind.strip() for kind in options.kinds.split(","))
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise UsageError(f"there are no {unknown[0]!r} mazes: choose from {', '.join(KINDS)}")
    if len(set(kinds)) < len(kinds):
        raise UsageError(f"--kinds {options.kinds}: name each kind once")
    recipe = _recipe(Recipe(seed=options.seed, kinds=kinds), options)
    command = shlex.join(["evolve", *sys.argv[1:]])
    return TrainingRequest(
        recipe=recipe,
        method=options.method,
        base=options.base,
        command=command,
        mazes=read_mazes(options.mazes) if options.mazes else (),
        validated=options.validated,
        warm=options.warm_steps is not None,
    )


def read_mazes(path: Path) -> "tuple[Maze, ...]":
    """The mazes of a file, a JSON object with the key `maze` a line.

    Raises:
        UsageError: it cannot be read, or holds none.
    """
    from evolve.domains.maze import read
    from evolve.errors import ProblemError

    try:
        found = tuple(read(json.loads(line)["maze"]) for line in path.read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError, KeyError, TypeError, ProblemError) as error:
        raise UsageError(f"the mazes of {path} cannot be read: {error}") from error
    if not found:
        raise UsageError(f"the file {path} holds no maze")
    return found


def _recipe(recipe: "Recipe", options: TrainOptions) -> "Recipe":
    from training.recipe import CHAIN, chain_lengths, reinforcement_of

    length = options.chain_length or CHAIN
    warm = replace(recipe.warm_start, taught=chain_lengths(length))
    warm = warm if options.warm_steps is None else replace(warm, steps=options.warm_steps)
    learnt = replace(reinforcement_of(options.method, length), alpha=options.alpha, k=options.k)
    learnt = learnt if options.steps is None else replace(learnt, steps=options.steps)
    return replace(recipe, warm_start=warm, reinforcement=learnt)


def _device(name: str) -> str:
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name != "cpu" and not (name.partition(":")[0] == "cuda" and torch.cuda.is_available()):
        raise UsageError(f"there is no device {name!r} here: choose cpu, or cuda where torch finds one")
    return name


@contextmanager
def _progress(terminal: Terminal) -> Iterator["Report"]:
    """A bar a stage on a terminal, a line every 50 steps elsewhere, a JSON line a step for programs."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    if terminal.as_json:
        yield lambda progress: print(as_line(_event(progress)), flush=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    watched = terminal.err.is_terminal and terminal.verbosity >= 0
    with Bars(*columns, TextColumn("{task.fields[seen]}"), console=terminal.err, disable=not watched) as bars:
        tasks: dict[str, Any] = {}

        def report(progress: "TrainingProgress") -> None:
            seen = _seen(progress.figures)
            if progress.stage not in tasks:
                tasks[progress.stage] = bars.add_task(progress.stage, total=progress.steps, seen="")
            bars.update(tasks[progress.stage], completed=progress.step, seen=seen)
            if not watched and (progress.step % 50 == 0 or progress.step == progress.steps):
                terminal.note(f"{progress.stage} {progress.step}/{progress.steps}  {seen}")

        yield report


def _seen(figures: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {figures[name]:.3f}" for name in ("loss", "mean", "best", "diversity") if name in figures)


def _event(progress: "TrainingProgress") -> dict[str, Any]:
    return {
        "schema": 1,
        "kind": "training.step",
        "stage": progress.stage,
        "step": progress.step,
        "steps": progress.steps,
        **progress.figures,
    }


def _say(terminal: Terminal, trained: "TrainedPolicy") -> None:
    if terminal.as_json:
        line = {"schema": 1, "kind": "training.summary", "model": str(trained.folder), "figures": trained.figures}
        print(as_line(line))
        return
    from rich.table import Table

    table = Table("mazes", *SHOWN, title="On validation mazes, temperature 1", title_justify="left")
    for kind, found in trained.figures.items():
        table.add_row(kind, *(f"{found[name]:.3f}" for name in SHOWN))
    terminal.show(table, f"The policy is in {trained.folder}.")
    policy = shlex.quote(f"bundled:{trained.folder}")
    terminal.note(f"Search with it: {terminal.command(f'run examples/maze --policy {policy}')}")
