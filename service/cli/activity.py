"""The part of the progress line about policies: calls in flight, tokens a second, answers, and what was dropped."""

from collections import Counter, deque
from collections.abc import Callable

from evolve.evaluation import Outcome
from evolve.event_types import (
    CandidateEvaluated,
    ProposalAnswered,
    ProposalCreated,
    ProposalFailed,
    RunPaused,
    RunResumed,
)
from evolve.events import Event
from service.cli.terminal import plain
from service.ports import Activity

RATE_SECONDS = 5.0
MAX_REASON_CHARACTERS = 32

ReadActivity = Callable[[], Activity | None]


def no_activity() -> None:
    """Nothing is known of policies."""


class AnswerTally:
    """Counts proposals, dropped parts of completions and failed evaluations from events.

    Attributes:
        in_flight: numbers of proposals without an answer yet.
        failed: evaluations that failed, by outcome.
    """

    def __init__(self) -> None:
        self.in_flight: set[int] = set()
        self.dropped = 0
        self.failed: Counter[str] = Counter()

    @property
    def failure(self) -> str:
        """The most frequent outcome of failed evaluations, with how often it was; empty: none failed."""
        return " ".join(f"{count} {outcome}" for outcome, count in self.failed.most_common(1))

    def take(self, event: Event) -> None:
        """Count one event."""
        match event.data:
            case ProposalCreated(proposal_number=number):
                self.in_flight.add(number)
            case ProposalAnswered(proposal_number=number, dropped=dropped):
                self.in_flight.discard(number)
                self.dropped += dropped
            case ProposalFailed(proposal_number=number):
                self.in_flight.discard(number)
            case CandidateEvaluated(outcome=outcome) if outcome not in (Outcome.OK, Outcome.CANCELLED):
                self.failed[outcome] += 1
            case RunPaused() | RunResumed():
                self.in_flight.clear()


class TokenRate:
    """Tokens a second over the last seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque()

    def add(self, at: float, tokens: float) -> float:
        """Note how many were received at a time; the rate up to now."""
        self._seen.append((at, tokens))
        while len(self._seen) > 2 and self._seen[1][0] <= at - RATE_SECONDS:
            self._seen.popleft()
        since, before = self._seen[0]
        return (tokens - before) / (at - since) if at > since else 0.0


def activity_parts(activity: Activity | None, tally: AnswerTally, rate: float, answers: int) -> list[str]:
    """The parts of the line about policies; none where no model writes.

    Args:
        activity: of the policies; None: they are elsewhere, or no servers.
        tally: of the events that were seen.
        rate: tokens a second.
        answers: of the run.
    """
    calls = len(tally.in_flight) if activity is None else activity.calls
    parts = [f"{calls} call{'' if calls == 1 else 's'} out"]
    parts += [f"{rate:.0f} tok/s"] if activity is not None else []
    dropped = sum(activity.dropped.values()) if activity is not None else 0
    dropped = max(dropped, tally.dropped)
    return [*parts, f"{answers} answers" + (f", {dropped} dropped{_maximum(activity)}" if dropped else "")]


def _maximum(activity: Activity | None) -> str:
    """The most frequent reason, short."""
    if activity is None or not activity.dropped:
        return ""
    reason, count = Counter(activity.dropped).most_common(1)[0]
    text = plain(reason).removeprefix("the completion ").removeprefix("holds ")
    short = text if len(text) <= MAX_REASON_CHARACTERS else f"{text[: MAX_REASON_CHARACTERS - 1]}…"
    return f" ({count} {short})"
