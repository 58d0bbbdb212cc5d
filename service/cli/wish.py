"""The words of one `evolve run`, and who follows them: this process, or a service."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from service.bootstrap.labels import read_labels
from service.bootstrap.site import Where, server_of
from service.cli.terminal import Terminal
from service.cli.words import named_project
from service.config import load_settings
from service.errors import UsageError
from service.problems.project import Project

DETERMINISTIC_WINDOW = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The words of one `evolve run`.

    Attributes:
        params: `KEY=VALUE` each, of the policy.
        flags: configuration keys with a flag of their own; None where it was not given.
        settings: the `--set` words as they stand.
        detach: whether not to follow a run of a service.
        labels: of a new run; its name is one of them.
    """

    problem: Project | None
    policies: tuple[str, ...]
    model: str | None
    resume: str | None
    config: Path | None
    settings: tuple[str, ...]
    flags: Mapping[str, Any]
    deterministic: bool
    db: str | None
    require_target: bool
    require_isolation: str | None
    params: tuple[str, ...] = ()
    queue: str | None = None
    detach: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)


def named_for_run(
    problem: Path | None, evaluator: Path | None, config: Path | None, python: str | None
) -> tuple[Project | None, Path | None]:
    """The problem that the words of `evolve run` name, and the configuration of the run.

    A YAML file is an OpenEvolve project's own configuration where the evaluator is named, whose command takes no other,
    and where its keys say so.
    """
    from service.problems.openevolve import is_config

    document = config is not None and config.suffix.lower() in (".yaml", ".yml")
    theirs = config if config is not None and document and (evaluator is not None or is_config(config)) else None
    project = named_project(problem, evaluator, theirs, python) if problem is not None else None
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


def run_anywhere(terminal: Terminal, wish: Wish, where: Where) -> int:
    """Run the search here, or have a service run it, and return the exit code."""
    if server_of(load_settings(), where):
        from service.cli.submit import run_there

        return run_there(terminal, wish, where)
    if wish.detach:
        raise UsageError("--detach is for a service: name it with --server; here the run ends with this process")
    from service.cli.run import run_search

    return run_search(terminal, wish)
