"""Trackers: where runs are followed beside Evolve, such as TensorBoard, MLflow or Weights & Biases.

A tracker is sent what has been committed of a run. It never decides anything, and a run never waits for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, Self

from evolve.errors import ConfigurationError, MissingExtensionError
from evolve.extensions import Extension, ExtensionKind, Extensions, guarded, is_known, is_reference, known_names
from evolve.views.candidate_view import CandidateView

Parameter = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedRun:
    """A run, as it begins.

    Attributes:
        name: for people.
        parameters: configuration and problem, by flat names such as `config.archive.kind`.
        labels: that its owner gave it.
    """

    run_id: str
    name: str
    problem: str
    started_at: datetime
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedPoint:
    """A run after some evaluations.

    Attributes:
        evaluations: the step of all its metrics.
        at: when the last of these evaluations was stored.
        metrics: finite numbers by name. A metric that is not known then is missing.
    """

    evaluations: int
    at: datetime
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedResult:
    """A run at its end.

    Attributes:
        state: succeeded, failed or cancelled.
        reason: why it ended.
        summary: its results, by name.
        files: the best program, by path; empty: there is none.
        view: what the best looks like; None: its evaluator drew nothing.
    """

    state: str
    reason: str
    ended_at: datetime
    summary: Mapping[str, Parameter] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    view: CandidateView | None = None


class Tracker(Protocol):
    """Follows one run. All calls come from one thread, one after the other."""

    def start(self, run: TrackedRun) -> int:
        """Start to follow a run, or continue one that was followed before.

        Returns:
            After how many evaluations its last point is that is there already; 0: none is, or it is not known.
        """

    def log(self, points: Sequence[TrackedPoint]) -> None:
        """Add points, each behind all earlier ones."""

    def finish(self, result: TrackedResult) -> None:
        """Receive the result of the run. A run may be continued and finished again."""

    def close(self) -> None:
        """Close the run, finished or not. This is the last call."""


class TrackerFactory(Protocol):
    """Makes a tracker, often its class."""

    def __call__(self, target: str) -> Tracker:
        """Make a tracker that writes to a target. Empty: its own default."""


@dataclass(frozen=True, slots=True)
class TrackerChoice:
    """A tracker by its name, and where it writes.

    Attributes:
        name: as a registry knows it.
        target: a folder, an address or a project; empty: the tracker's own default.
    """

    name: str
    target: str = ""

    def __str__(self) -> str:
        return f"{self.name}:{self.target}" if self.target else self.name

    @classmethod
    def read(cls, text: str) -> Self:
        """The choice that `NAME`, `NAME:TARGET` or `module:Class:TARGET` makes; nothing is imported.

        Raises:
            ConfigurationError: there is no tracker of the name.
        """
        name, _, target = text.strip().partition(":")
        if not is_known(ExtensionKind.TRACKER, name):
            attribute, _, target = target.partition(":")
            name = f"{name}:{attribute}"
            if not is_reference(name):
                known = ", ".join(known_names(ExtensionKind.TRACKER))
                raise ConfigurationError(
                    f"{text[:80]!r} names no tracker: write one as NAME:TARGET, with a name of {known}"
                )
        return cls(name, target)


class GuardedTracker:
    """A tracker whose mistakes become one sentence that names it.

    Args:
        extension: what its name stands for.
        tracker: the tracker itself.
    """

    def __init__(self, extension: Extension, tracker: Tracker) -> None:
        self._extension, self._tracker = extension, tracker

    def start(self, run: TrackedRun) -> int:
        """As the tracker's own.

        Raises:
            ExtensionError: it raised something, as the other calls may.
        """
        with guarded(self._extension):
            return self._tracker.start(run)

    def log(self, points: Sequence[TrackedPoint]) -> None:
        """As the tracker's own."""
        with guarded(self._extension):
            self._tracker.log(points)

    def finish(self, result: TrackedResult) -> None:
        """As the tracker's own."""
        with guarded(self._extension):
            self._tracker.finish(result)

    def close(self) -> None:
        """As the tracker's own."""
        with guarded(self._extension):
            self._tracker.close()


def open_tracker(choice: TrackerChoice, extensions: Extensions) -> GuardedTracker:
    """The tracker of a choice, for one run; nothing is sent yet.

    Raises:
        MissingExtensionError: it is not there, or a package that it needs is not.
        ExtensionError: it cannot be made.
    """
    try:
        extension, make = extensions.resolve(ExtensionKind.TRACKER, choice.name)
    except MissingExtensionError as error:
        known = ", ".join(known_names(ExtensionKind.TRACKER))
        raise MissingExtensionError(f"{error}. Trackers that have a name: {known}") from error
    try:
        return GuardedTracker(extension, make(choice.target))
    except ConfigurationError:
        raise
    except Exception as error:
        with guarded(extension):
            raise error
