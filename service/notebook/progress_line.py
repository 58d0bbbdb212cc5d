"""One line on stderr that says how a run goes, for those who wait for its result."""

import sys
import time

from evolve.configuration import BudgetConfig
from evolve.evaluation import Outcome
from evolve.event_types import (
    BestImproved,
    CandidateEvaluated,
    PolicyBecameUnavailable,
    PolicyRecovered,
    RunUnblocked,
    RunWaiting,
)
from evolve.events import Event, EventKind

SECONDS = 0.2
_ENDS = {EventKind.RUN_FINISHED, EventKind.RUN_CANCELLED}


class ProgressLine:
    """Writes the line over itself, at most five times a second, and once more at the end."""

    def __init__(self, budget: BudgetConfig) -> None:
        self._maximum = budget.evaluations
        self._evaluated = self._failed = self._width = 0
        self._best: float | None = None
        self._waiting = ""
        self._away: set[str] = set()
        self._shown = 0.0

    def __call__(self, event: Event) -> None:
        """Take the next event."""
        match event.data:
            case CandidateEvaluated(outcome=outcome, fitness=fitness) if outcome != Outcome.CANCELLED:
                self._evaluated += 1
                self._failed += fitness is None
            case BestImproved(fitness=fitness):
                self._best = fitness
            case RunWaiting(reason=reason) | RunUnblocked(reason=reason):
                self._waiting = reason
            case PolicyBecameUnavailable(policy=policy):
                self._away.add(policy)
            case PolicyRecovered(policy=policy):
                self._away.discard(policy)
        ended = event.kind in _ENDS
        if ended or time.monotonic() - self._shown >= SECONDS:
            self._shown = time.monotonic()
            self._write("\n" if ended else "")

    def _write(self, end: str) -> None:
        of = f"/{self._maximum}" if self._maximum else ""
        best = "none" if self._best is None else f"{self._best:.6g}"
        waiting = f" · waiting: {self._waiting}" if self._waiting else ""
        waiting = waiting or (f" · unavailable: {', '.join(sorted(self._away))}" if self._away else "")
        text = f"best {best} · {self._evaluated}{of} evaluated · {self._failed} failed{waiting}"
        sys.stderr.write(f"\r{text.ljust(self._width)}{end}")
        sys.stderr.flush()
        self._width = len(text)
