"""Continuing a run that has ended: whether it can go on, and why not."""

from collections.abc import Mapping
from typing import Any

from evolve.budget import Account, ended_by, extended
from evolve.configuration import BudgetConfig
from evolve.credit.yields import EXTENSION_FAILED
from evolve.money import Money
from service.ports.intents import CANCELLED
from service.ports.values import RunRecord

RECORDED = "recorded"  # the reason of a run that `evolve observe` recorded


def refusal(run: RunRecord, budget: Mapping[str, Any]) -> str:
    """Why a run that has ended cannot be continued, with what to do instead; empty: it can.

    Args:
        run: that has ended.
        budget: keys of the budget with the values that they shall have.

    Raises:
        ConfigurationError: there is no such key, or it cannot have this value.
    """
    if run.reason == RECORDED:
        return (
            f"run {run.id} was recorded from another loop, and has no evaluator: start a run of your own from its"
            f" programs, with --seeds-from {run.id}:10"
        )
    limits = _limits({**run.config.get("budget", {}), **budget})
    if run.state == CANCELLED:
        return f"run {run.id} has ended, it is cancelled: fork it, or start another"
    if run.best_fitness is None and run.reason == EXTENSION_FAILED:
        return f"run {run.id} has ended, and its extension kept no seed: correct the extension, and start another"
    if run.best_fitness is None:
        return f"run {run.id} has ended, and no seed of it could be scored: mend the problem, and start another"
    if limit := ended_by(limits, _used(run), run.best_fitness, run.active_seconds):
        told = f"run {run.id} has ended, it is {run.state}, and its budget.{limit} is used up"
        return f"{told}: extend it with a larger one"
    if run.reason == "target" and run.config.get("budget", {}).get("target") is None:
        return f"run {run.id} has reached the targets of its objectives: fork it, or start another"
    return ""


def _limits(budget: Mapping[str, Any]) -> BudgetConfig:
    limits = BudgetConfig()
    for key, value in budget.items():
        limits = extended(limits, key, value)
    return limits


def _used(run: RunRecord) -> Account:
    """What the run has used. How long it has not improved is not stored: where that ended it, as long as it might."""
    counters = run.counters
    patience = run.config.get("budget", {}).get("patience") if run.reason == "patience" else None
    return Account(
        evaluations=counters.evaluations,
        answers=counters.answers,
        tokens=counters.tokens_input + counters.tokens_output,
        money=None if counters.cost is None else Money.read(counters.cost),
        since_best=patience or 0,
    )
