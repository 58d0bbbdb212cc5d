"""How a run goes, for those who wait for its result: a line on stderr, or a bar in a notebook."""

import importlib
import sys
import time
from collections.abc import Callable
from html import escape

from evolve.configuration import BudgetConfig
from evolve.evaluation import Outcome
from evolve.event_types import (
    BestImproved,
    CandidateEvaluated,
    RunUnblocked,
    RunWaiting,
)
from evolve.events import Event, EventKind
from evolve.policy_events import PolicyBecameUnavailable, PolicyRecovered

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
        text = self._text()
        sys.stderr.write(f"\r{text.ljust(self._width)}{end}")
        sys.stderr.flush()
        self._width = len(text)

    def _text(self) -> str:
        of = f"/{self._maximum}" if self._maximum else ""
        best = "none" if self._best is None else f"{self._best:.6g}"
        waiting = f" · waiting: {self._waiting}" if self._waiting else ""
        waiting = waiting or (f" · unavailable: {', '.join(sorted(self._away))}" if self._away else "")
        return f"best {best} · {self._evaluated}{of} evaluated · {self._failed} failed{waiting}"


class ProgressBar(ProgressLine):
    """The same in a notebook: a bar with the line beside it, drawn over itself.

    Args:
        budget: of the run.
        show: shows HTML in place of what it showed before.
    """

    def __init__(self, budget: BudgetConfig, show: Callable[[str], object]) -> None:
        super().__init__(budget)
        self._show = show

    def _write(self, end: str) -> None:
        share = f' value="{min(self._evaluated, self._maximum)}" max="{self._maximum}"' if self._maximum else ""
        done = ' value="1" max="1"' if end else share
        self._show(f'<progress{done} style="width:16em"></progress> {escape(self._text())}')


def progress_watcher(budget: BudgetConfig) -> ProgressLine:
    """A bar in a notebook, elsewhere a line on stderr."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    if type(shell).__name__ != "ZMQInteractiveShell":
        return ProgressLine(budget)
    display = importlib.import_module("IPython.display")
    handle = display.display(display.HTML(""), display_id=True)
    return ProgressBar(budget, lambda html: handle.update(display.HTML(html)))
