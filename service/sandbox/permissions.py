"""Limits that the operator sets on the problems of an installation."""

from evolve.problem import Problem
from service.config import SandboxSettings
from service.errors import RefusedError, UsageError
from service.sandbox.layers import IsolationLevel

_BOUNDED = ("wall_seconds", "cpu_seconds", "memory_mb", "processes", "disk_mb", "output_kb")


def refuse_unpermitted(problem: Problem, settings: SandboxSettings) -> None:
    """Refuse a problem that wants what the operator does not allow.

    Raises:
        RefusedError: it does.
    """
    for name, permitted in (("network", settings.network), ("gpu", settings.gpu)):
        if getattr(problem.limits, name) and not permitted:
            raise RefusedError(
                f"the problem asks for limits.{name}, which is not permitted: set"
                f" EVOLVE_SANDBOX__{name.upper()}=true to permit it"
            )
    refuse_too_much(problem, settings)


def refuse_too_much(problem: Problem, settings: SandboxSettings) -> None:
    """Refuse a problem whose evaluations may use more than the operator allows, whoever scores.

    Raises:
        RefusedError: they may; the text names the setting.
    """
    asked = {f"limits.{name}": getattr(problem.limits, name) for name in _BOUNDED}
    asked["evaluator.repeats"] = problem.evaluator.repeats
    asked["evaluator.warmups"] = problem.evaluator.warmups
    for key, value in asked.items():
        setting = "max_repeats" if key == "evaluator.warmups" else f"max_{key.partition('.')[2]}"
        maximum = getattr(settings, setting)
        if value > maximum:
            raise RefusedError(
                f"the problem asks for {key} = {value:g}, and at most {maximum} is permitted here by the setting"
                f" sandbox.{setting}: EVOLVE_SANDBOX__{setting.upper()} permits more"
            )


def read_level(name: str) -> IsolationLevel:
    """A level of isolation by its name.

    Raises:
        UsageError: that is not a level.
    """
    try:
        return IsolationLevel(name)
    except ValueError:
        levels = ", ".join(level for level in IsolationLevel if level is not IsolationLevel.NONE)
        raise UsageError(f"--require-isolation {name[:40]!r} is not a level: choose one of {levels}") from None
