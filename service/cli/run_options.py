"""The words of one `evolve run`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from service.cli import formatting
from service.cli.options import named_project
from service.cli.terminal import Terminal
from service.errors import UsageError
from service.ports import Bundle, RunRecord
from service.problems.project import Project
from service.usecases.labels import read_labels

DETERMINISTIC_WINDOW = 8
BUDGET, SLOTS = "budget.", "concurrency.evaluations"
# Options that are not called as the configuration key is.
WORDS = {SLOTS: "workers"}


@dataclass(frozen=True, slots=True)
class PolicyWords:
    """Who is asked: policies as they were named, the model of a single one, and its `KEY=VALUE` parameters."""

    names: tuple[str, ...] = ()
    model: str | None = None
    params: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The words of one `evolve run`.

    Attributes:
        flags: configuration keys with a flag of their own; None where it was not given.
        settings: the `--set` words as they stand.
        detach: whether not to follow a run of a service.
        labels: of a new run; its name is one of them.
        yes: whether to install what the problem asks for without a question.
        track: trackers that the run is sent to, as words.
    """

    problem: Project | None
    asked: PolicyWords
    resume: str | None
    config: Path | None
    settings: tuple[str, ...]
    flags: Mapping[str, Any]
    deterministic: bool
    db: str | None
    require_target: bool
    require_isolation: str | None
    queue: str | None = None
    detach: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    yes: bool = False
    track: tuple[str, ...] = ()

    @property
    def given(self) -> dict[str, Any]:
        """The flags that were given, by configuration key."""
        given = {key: value for key, value in self.flags.items() if value is not None}
        if self.deterministic and not any(word.startswith("deterministic") for word in self.settings):
            given["deterministic.window"] = DETERMINISTIC_WINDOW
        return given

    def require_sense(self, *, workers: bool) -> None:
        """Refuse a command line that names nothing to search on, or of a run to continue what it keeps.

        Args:
            workers: whether the evaluations at once may change.

        Raises:
            UsageError: it does.
        """
        if self.resume is None:
            if self.problem is None:
                raise UsageError(
                    "name a problem folder, such as examples/circle_packing, or a run to continue with --resume"
                )
            return
        named = {
            "--policy": self.asked.names,
            "--model": self.asked.model,
            "--config": self.config,
            "--param": self.asked.params,
            "--set": self.settings,
            "--name, --label": self.labels,
            "--deterministic": self.deterministic,
        }
        changed = [word for word, value in named.items() if value]
        for key, value in self.flags.items():
            may_change = key.startswith(BUDGET) or (workers and key == SLOTS)
            if value is not None and not may_change:
                changed.append(f"--{WORDS.get(key, key)}")
        if changed:
            raise UsageError(f"a resumed run keeps its configuration and labels: leave out {', '.join(changed)}")


def require_own_problem(terminal: Terminal, options: RunOptions, run: RunRecord, stored: Callable[[], Bundle]) -> None:
    """Refuse a problem that a run to continue does not have; where its files have changed, say that they do not count.

    Args:
        terminal: where that is said.
        options: the words of the command.
        run: to continue.
        stored: reads the problem of the run.

    Raises:
        UsageError: the problem is another one.
        InvalidProblemError: it cannot be read.
    """
    if options.problem is None:
        return
    from service.problems.bundle import open_bundle
    from service.problems.load import load_problem
    from service.problems.population import population_files

    named = load_problem(options.problem)
    if named.problem.name != run.problem_name:
        raise UsageError(
            f"{formatting.short(run.id)} is a run of {run.problem_name}, not of {named.problem.name}:"
            " leave out PROBLEM, or leave out --resume for a new run"
        )
    if named.bundle.hash == run.bundle_hash:
        return
    population = population_files(open_bundle(stored()).files)
    if not population or load_problem(replace(options.problem, population=population)).bundle.hash != run.bundle_hash:
        terminal.note(
            f"warning: {options.problem.folder} has changed since the run began, but the run keeps the problem"
            f" as it was",
            style="yellow",
        )


def named_for_run(
    problem: Path | None,
    evaluator: Path | None,
    config: Path | None,
    python: str | None,
    form: str | None = None,
    root: Path | None = None,
) -> tuple[Project | None, Path | None]:
    """The problem that the words of `evolve run` name, and the configuration of the run.

    A YAML file is the configuration of an OpenEvolve project where the evaluator is named, whose command takes no
    other. It is one of another project where its keys say so.
    """
    from service.problems.recognition import is_project_config

    document = config is not None and config.suffix.lower() in (".yaml", ".yml")
    theirs = (
        config if config is not None and document and (evaluator is not None or is_project_config(config)) else None
    )
    project = named_project(problem, evaluator, theirs, python, form, root) if problem is not None else None
    return project, None if theirs else config


def run_labels(name: str | None, words: list[str] | None) -> Mapping[str, str]:
    """The labels of `--name` and `--label`."""
    return read_labels(name, words or ())


def budget_flags(
    evaluations: int | None,
    tokens: int | None,
    money: str | None,
    wall_seconds: float | None,
    target: float | None,
    patience: int | None,
) -> dict[str, Any]:
    """The limits of a budget by their configuration keys."""
    return {
        "budget.evaluations": evaluations,
        "budget.tokens": tokens,
        "budget.money": money,
        "budget.wall_seconds": wall_seconds,
        "budget.target": target,
        "budget.patience": patience,
    }


def search_flags(
    answers: int | None, samples: int | None, islands: int | None, seed: int | None, workers: int | None
) -> dict[str, Any]:
    """What shapes the search, by its configuration keys."""
    return {
        "answers": answers,
        "samples": samples,
        "islands": islands,
        "seed": seed,
        "concurrency.evaluations": workers,
    }
