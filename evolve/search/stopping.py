"""Stopping rules: ends of a run that a user brings, and how many answers the budget still leaves a proposal."""

import inspect
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from evolve.budget import SHARE_IN_FLIGHT, expected, paced, room
from evolve.configuration import RunConfig
from evolve.errors import ExtensionError
from evolve.extensions import Extension, ExtensionKind, Extensions, guarded
from evolve.search.state import SearchState

STOPPING_RULE = "stopping_rule"  # the reason of a run that one has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is.

    Attributes:
        evaluations: candidates evaluated, seeds included.
        answers: answers taken from policies.
        tokens: input and output tokens of the policies.
        seconds: time at work.
        best: the highest fitness; None: nothing could be scored.
        since_best: evaluations since that was found.
        improvements: each time that the best improved: the evaluations by then, and the fitness.
    """

    evaluations: int
    answers: int
    tokens: int
    seconds: float
    best: float | None
    since_best: int
    improvements: tuple[tuple[int, float], ...]


class StoppingRule(Protocol):
    """Decides whether a run ends, from its progress alone: a run that is resumed asks again."""

    def __call__(self, progress: Progress, /) -> bool:
        """Whether the run ends now."""


Stops = Callable[[SearchState, float], str | None]


def open_stopping_rule(config: RunConfig, extensions: Extensions) -> Stops:
    """What gives the reason `stopping_rule` where the rule of a configuration ends the run, and None before.

    Raises:
        MissingExtensionError, ExtensionError: it names an extension that is not there, or cannot be made.
    """
    if not config.stopping_rule:
        return _never
    return _GuardedRule(*extensions.resolve(ExtensionKind.STOPPING_RULE, config.stopping_rule))


def progress_of(state: SearchState, seconds: float) -> Progress:
    """How far a run is by its state, after so much time at work."""
    account = state.account
    return Progress(
        evaluations=account.evaluations,
        answers=account.answers,
        tokens=account.tokens,
        seconds=seconds,
        best=state.best.fitness if state.best else None,
        since_best=account.since_best,
        improvements=tuple(state.improvements),
    )


def _never(state: SearchState, seconds: float) -> None:
    """No rule ends the run."""
    del state, seconds


class _GuardedRule:
    def __init__(self, extension: Extension, found: object) -> None:
        self._extension = extension
        with guarded(extension, "could not be made"):
            made = found() if inspect.isclass(found) else found
        if not callable(made):
            raise self._broken(f"a value of type {type(made).__name__} cannot be called")
        self._rule = made

    def __call__(self, state: SearchState, seconds: float) -> str | None:
        with guarded(self._extension):
            stops = self._rule(progress_of(state, seconds))
        if not isinstance(stops, bool):
            raise self._broken(f"it returned a value of type {type(stops).__name__}, not a bool")
        return STOPPING_RULE if stops else None

    def _broken(self, what: str) -> ExtensionError:
        return ExtensionError(f"{self._extension} breaks the contract of stopping rules: {what}")


def answer_limit(state: SearchState, away: Collection[str], maximum: int) -> int:
    """How many answers the next proposal may bring.

    Args:
        state: of the search.
        away: policies that cannot be asked.
        maximum: as many as it would ask for.
    """
    config, pending = state.config, len(state.pending)
    free = room(state.budget, state.account, state.outstanding, pending)
    limit = maximum if free is None else min(maximum, free)
    if config.concurrency.policy or config.strategy == "best_of_n":
        return limit
    remaining = expected(state.budget, state.account, room(state.budget, state.account, 0, pending))
    if remaining is None:
        return limit
    tenth = math.ceil((state.account.answers + remaining) / SHARE_IN_FLIGHT)
    minimum = max((config.answers or 1) * (config.samples or 1), min(maximum, tenth))
    # What a policy that is away was asked for holds nobody up.
    return min(limit, paced(remaining, state.outstanding_of_others(away), maximum, minimum))
