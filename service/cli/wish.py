"""The words of one `evolve run`, and who follows them: this process, or a service."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.bootstrap.site import Where, server_of
from service.cli.terminal import Terminal
from service.config import load_settings
from service.errors import UsageError

DETERMINISTIC_WINDOW = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The words of one `evolve run`.

    Attributes:
        params: `KEY=VALUE` each, of the policy.
        flags: configuration keys with a flag of their own; None where it was not given.
        settings: the `--set` words as they stand.
        detach: whether not to follow a run of a service.
    """

    problem: Path | None
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
