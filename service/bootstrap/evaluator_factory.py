"""What programs are scored with: the sandbox, as far as the operator permits what a problem wants."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from evolve.errors import ExtensionError, MissingExtensionError
from evolve.extensions import Extensions
from evolve.problem import Problem
from evolve.runtimes import with_runtime
from service.config import SandboxSettings
from service.errors import InvalidProblemError, RefusedError, UsageError
from service.ports import Bundle
from service.problems.bundle import unpack
from service.problems.evaluator_environment import with_environment
from service.sandbox import scratch
from service.sandbox.evaluator import SandboxEvaluator, open_evaluator
from service.sandbox.layers import IsolationLevel
from service.sandbox.read_paths import private_places, with_paths
from service.usecases.extensions import refuse_runtime

_BOUNDED = ("wall_seconds", "cpu_seconds", "memory_mb", "processes", "disk_mb", "output_kb")


@asynccontextmanager
async def scoring(
    problem: Problem,
    bundle: Bundle,
    settings: SandboxSettings,
    *,
    slots: int = 0,
    require: str | None = None,
    others: bool = False,
    private: Sequence[Path] | None = None,
    source: str = "",
    allow: Sequence[str] = (),
) -> AsyncIterator[SandboxEvaluator]:
    """The evaluator of a problem, from what is stored of its folder.

    Args:
        problem: what is scored.
        bundle: its folder.
        settings: what the operator allows and requires.
        slots: evaluations at once; 0: as many as this process has cores.
        require: weakest isolation; None: what the settings say.
        others: whether somebody else wrote the problem, so that the operator alone opens paths to it.
        private: places of this installation that no program may read; None: those that it has without any settings.
        source: the folder that the problem was read from, where there is one on this machine.
        allow: runtimes of extensions that problems of others may name.

    Raises:
        RefusedError: the machine offers less isolation, or the problem wants what the operator does not allow.
        InvalidProblemError: the evaluator cannot be used.
    """
    refuse_unpermitted(problem, settings)
    problem = _with_commands(problem, allow if others else None)
    problem = await with_environment(problem, bundle, settings, others=others)
    closed = private_places() if private is None else private
    place = Path(source) if source.startswith("/") else None
    problem = with_paths(problem, settings, private=closed, others=others, source=place)
    level = level_of(require or settings.own)
    slots = slots or len(os.sched_getaffinity(0))
    async with AsyncExitStack() as stack:
        with scratch.folder("problem") as place:  # the evaluator copies it
            unpack(bundle, folder := place / "problem")
            opening = open_evaluator(problem, folder, slots, require=None if level is IsolationLevel.NONE else level)
            try:
                evaluator = await stack.enter_async_context(opening)
            except RefusedError as error:
                advice = "allow a lower level with --require-isolation or --allow-unsandboxed"
                raise RefusedError(f"{error}; {advice}") from error
        yield evaluator


def _with_commands(problem: Problem, allow: Sequence[str] | None) -> Problem:
    """A problem with the commands of its runtime; only an allowed one is imported."""
    if allow is not None:
        refuse_runtime(problem, allow)
    try:
        return with_runtime(problem, Extensions())
    except (ExtensionError, MissingExtensionError) as error:
        raise InvalidProblemError([f"evaluator.runtime: {error}"]) from error


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
    for key, value in asked.items():
        setting = f"max_{key.partition('.')[2]}"
        maximum = getattr(settings, setting)
        if value > maximum:
            raise RefusedError(
                f"the problem asks for {key} = {value:g}, and at most {maximum} is permitted here by the setting"
                f" sandbox.{setting}: EVOLVE_SANDBOX__{setting.upper()} permits more"
            )


def level_of(name: str) -> IsolationLevel:
    """A level of isolation by its name.

    Raises:
        UsageError: that is not a level.
    """
    try:
        return IsolationLevel(name)
    except ValueError:
        levels = ", ".join(level for level in IsolationLevel if level is not IsolationLevel.NONE)
        raise UsageError(f"--require-isolation {name[:40]!r} is not a level: choose one of {levels}") from None
