"""Budgets: what a run has used, what it may still ask for, and which limit ended it."""

import math
from dataclasses import dataclass, replace

from evolve.configuration import BudgetConfig
from evolve.errors import ConfigurationError


@dataclass(slots=True, kw_only=True)
class Account:
    """What a run has used so far; a fold of its events.

    Attributes:
        evaluations: candidates evaluated, whatever the outcome, cancelled ones excepted.
        since_best: evaluations since the best improved.
        barren: proposals in a row that brought no candidate to evaluate.
    """

    evaluations: int = 0
    answers: int = 0
    tokens: int = 0
    since_best: int = 0
    barren: int = 0


EXHAUSTED_AFTER = 100
_FRACTIONAL = frozenset({"wall_seconds", "target"})


def extended(budget: BudgetConfig, key: str, value: object) -> BudgetConfig:
    """A budget in which one key has another value; None: no limit.

    Raises:
        ConfigurationError: there is no such key, or it cannot have this value.
    """
    keys = tuple(BudgetConfig.__dataclass_fields__)
    if key not in keys:
        raise ConfigurationError(f"budget.{key[:40]} is unknown: choose one of {', '.join(keys)}")
    if value is not None and not _fits(key, value):
        what = "a finite number" if key in _FRACTIONAL else "a whole number"
        raise ConfigurationError(f"budget.{key} must be {what}, or nothing for no limit")
    # The check of the type stands above; a mapping cannot tell mypy which key it holds.
    return replace(budget, **{key: value})  # type: ignore[arg-type]


def _fits(key: str, value: object) -> bool:
    if isinstance(value, float):
        return key in _FRACTIONAL and math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def ended_by(budget: BudgetConfig, used: Account, best: float | None, elapsed_seconds: float) -> str | None:
    """The reason to end a run, or None while it may go on.

    `exhausted`: a hundred proposals in a row brought nothing new.
    """
    if best is not None and budget.target is not None and best >= budget.target:
        return "target"
    spent = {
        "evaluations": used.evaluations,
        "answers": used.answers,
        "tokens": used.tokens,
        "wall_seconds": elapsed_seconds,
        "patience": used.since_best,
    }
    for key, amount in spent.items():
        limit = getattr(budget, key)
        if limit is not None and amount >= limit:
            return key
    return "exhausted" if used.barren >= EXHAUSTED_AFTER else None


def room(budget: BudgetConfig, used: Account, outstanding: int, pending: int) -> int | None:
    """How many more answers may be asked for; None: no limit.

    Args:
        outstanding: answers asked for that have not come yet.
        pending: candidates that wait for their evaluation.
    """
    rooms = []
    if budget.evaluations is not None:
        rooms.append(budget.evaluations - used.evaluations - pending - outstanding)
    if budget.answers is not None:
        rooms.append(budget.answers - used.answers - outstanding)
    return min(rooms) if rooms else None
