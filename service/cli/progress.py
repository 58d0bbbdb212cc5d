"""The progress of a run while it goes on: one live line on a terminal, plain lines elsewhere, events for programs."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evolve.money import Money
from service.cli import formatting
from service.cli.activity import AnswerTally, ReadActivity, TokenRate, activity_parts, no_activity
from service.cli.records import budget_used
from service.cli.terminal import OutputClosed, Terminal, plain
from service.cli.time_left import TimeLeft, UsageWindow, seconds_left
from service.jsonlines import as_line

if TYPE_CHECKING:
    from typing import Self

    from rich.text import Text

    from service.ports import LoggedEvent
    from service.runner.status import RunStatus

PACE_SECONDS = 10.0
PLAIN_SECONDS = 5.0
QUIET_SECONDS = 15.0
MIN_FAILED_SHARE = 0.2  # of evaluations, from which on the line names the most frequent failure


class EvaluationRate:
    """Candidates a second over the last seconds."""

    def __init__(self, window_seconds: float = PACE_SECONDS) -> None:
        self._window = window_seconds
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, at: float, evaluated: int) -> None:
        """Note how many were evaluated at a time."""
        self._seen.append((at, evaluated))
        while len(self._seen) > 2 and self._seen[1][0] <= at - self._window:
            self._seen.popleft()

    def rate(self, at: float) -> float:
        """Candidates a second up to now; 0 when nothing can be said."""
        if not self._seen or at <= self._seen[0][0]:
            return 0.0
        since, before = self._seen[0]
        return (self._seen[-1][1] - before) / (at - since)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What the progress is held against.

    Attributes:
        budget: the limits by key.
        objective: the objective whose score is shown; empty: the fitness is shown.
        model: whether a model writes, elsewhere perhaps.
    """

    budget: Mapping[str, Any]
    objective: str = ""
    model: bool = False


def limits(budget: Mapping[str, Any]) -> dict[str, Any]:
    """The limits of a run's budget that can be used up, as numbers, from its configuration as JSON."""
    found = {key: budget.get(key) for key in ("evaluations", "answers", "tokens", "money", "wall_seconds")}
    return found | {"money": None if found["money"] is None else amount(found["money"])}


def amount(money: str | None) -> float:
    """An amount of money as a line shows it; 0 where it is not known."""
    return 0.0 if money is None else float(Money.read(money).amount)


def used(status: "RunStatus") -> dict[str, float]:
    """What of each budget key is used up."""
    counters = status.counters
    return {
        "evaluations": counters.evaluations,
        "answers": counters.answers,
        "tokens": counters.tokens_input + counters.tokens_output,
        "money": amount(counters.cost),
        "wall_seconds": status.elapsed_seconds,
    }


class ProgressReading:
    """What the lines show: the last status, brought forward to now, and what policies do meanwhile."""

    def __init__(self, goal: Goal, read: ReadActivity) -> None:
        self._goal, self._read = goal, read
        self._pace, self._rate = EvaluationRate(), TokenRate()
        self._usage, self._left = UsageWindow(), TimeLeft()
        self.tally = AnswerTally()
        self.status: RunStatus | None = None
        self._told_at = 0.0

    def take(self, events: Sequence["LoggedEvent"], status: "RunStatus", at: float) -> None:
        """Take in what is durable at a time."""
        for entry in events:
            self.tally.take(entry.event)
        self.status, self._told_at = status, at
        self._pace.add(at, status.counters.evaluations)
        self._usage.add(at, used(status))

    def parts(self, at: float) -> list[str]:
        """The parts of the line at a time; none before anything is known."""
        if self.status is None:
            return []
        running = self.status.state == "running"
        elapsed = self.status.elapsed_seconds + (at - self._told_at if running else 0.0)
        status, rate = replace(self.status, elapsed_seconds=elapsed), self._pace.rate(at)
        estimate = seconds_left(self._goal.budget, used(status), self._usage.rates(at))
        left = self._left.smooth(estimate, at)
        policies = self._policies(status, at)
        return pieces(status, self._goal, rate, left=left, policies=policies, failure=self.tally.failure)

    def _policies(self, status: "RunStatus", at: float) -> list[str]:
        activity = self._read()
        if activity is None and not self._goal.model:
            return []
        rate = self._rate.add(at, activity.tokens if activity else 0.0)
        return activity_parts(activity, self.tally, rate, status.counters.answers)


def pieces(
    status: "RunStatus",
    goal: Goal,
    rate: float,
    *,
    left: float | None = None,
    policies: Sequence[str] = (),
    failure: str = "",
) -> list[str]:
    """The parts of the progress line.

    Args:
        status: where the run stands.
        goal: what it is held against.
        rate: candidates a second.
        left: seconds left; None: not known.
        policies: parts about policies.
        failure: the most frequent failure, with how often it was.
    """
    counters = status.counters
    score = status.best_scores.get(goal.objective, status.best_fitness)
    best, pace = f"best {formatting.number(score)}", f"{formatting.number(rate, 3)}/s"
    often = counters.failed >= MIN_FAILED_SHARE * max(1, counters.evaluations)
    kind = f" ({plain(failure)})" if failure and often else ""
    outcomes = f"{counters.valid} valid {counters.failed} failed{kind} {counters.duplicates} dup"
    amounts = [_amount(key, entry) for key, entry in budget_used(goal.budget, used(status)).items()]
    if status.waiting:
        state = [f"waiting: {plain(status.waiting)}"]
    else:
        state = [f"unavailable: {plain(', '.join(status.away))}"] if status.away else []
    left = None if status.waiting else left
    if policies:  # a narrow terminal shows what changes while a model writes
        return [best, *state, *policies, *amounts, *_clocks(status, goal, left), outcomes]
    paces = [] if status.waiting else [pace]
    clocks = _clocks(status, goal, left)[-1:]  # one of the two, to fit 80 columns
    return [best, *state, *paces, outcomes, *amounts, *clocks]


def _clocks(status: "RunStatus", goal: Goal, left: float | None) -> list[str]:
    """The time at work, where no limit shows it, and the time left."""
    elapsed = [] if goal.budget.get("wall_seconds") is not None else [_clock(status.elapsed_seconds)]
    return elapsed if left is None else [*elapsed, f"{_clock(left)} left"]


def _amount(key: str, entry: Mapping[str, float]) -> str:
    if key == "wall_seconds":
        return f"{_clock(entry['used'])} of {_clock(entry['limit'])}"
    if key == "money":
        return f"{entry['used']:.4g} of {entry['limit']:.4g} spent"
    unit = "" if key == "evaluations" else f" {key}"
    return f"{entry['used']:.0f}/{entry['limit']:.0f}{unit}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class LiveLine:
    """One line on a terminal that is drawn anew while the run goes on."""

    def __init__(
        self, terminal: Terminal, goal: Goal, monotonic: Callable[[], float], read: ReadActivity = no_activity
    ) -> None:
        from rich.live import Live

        self._monotonic = monotonic
        self._reading = ProgressReading(goal, read)
        self._live = Live(
            console=terminal.err,
            get_renderable=self.render,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
        )

    def __enter__(self) -> "Self":
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def committed(self, events: Sequence["LoggedEvent"], status: "RunStatus") -> None:
        """Take in what is durable now; the line is drawn by its own clock."""
        self._reading.take(events, status, self._monotonic())

    def render(self) -> "Text":
        """The line as of now."""
        from rich.text import Text

        parts, status = self._reading.parts(self._monotonic()), self._reading.status
        if status is None:
            return Text("starting …", style="dim")
        rest = " · ".join(["", *parts[1:]])
        colour = "yellow" if status.waiting or status.away else ""
        return Text.assemble((parts[0], "bold green"), (rest, colour), no_wrap=True, overflow="ellipsis")


class PlainLines:
    """A line now and then, for logs."""

    def __init__(
        self, terminal: Terminal, goal: Goal, monotonic: Callable[[], float], read: ReadActivity = no_activity
    ) -> None:
        self._terminal, self._monotonic, self._read = terminal, monotonic, read
        self._reading = ProgressReading(goal, read)
        self._next_at = monotonic() + PLAIN_SECONDS
        self._held_up: tuple[str, tuple[str, ...]] = "", ()

    def committed(self, events: Sequence["LoggedEvent"], status: "RunStatus") -> None:
        """Say how it stands every few seconds, and at once what it waits for and which policy is away."""
        now = self._monotonic()
        self._reading.take(events, status, now)
        held_up = status.waiting, status.away
        if now >= self._next_at or held_up != self._held_up:
            self._held_up = held_up
            self._say(now)

    def tick(self) -> None:
        """Say how it stands where nothing is committed for long because a model writes."""
        now = self._monotonic()
        if now >= self._next_at + QUIET_SECONDS - PLAIN_SECONDS and self._read() is not None:
            self._say(now)

    def _say(self, now: float) -> None:
        self._next_at = now + PLAIN_SECONDS
        if parts := self._reading.parts(now):
            self._terminal.note(" · ".join(parts))


class EventLines:
    """Every committed event as a JSON line on stdout; when nobody reads on, the run is asked to stop."""

    def __init__(self, terminal: Terminal, ask_to_stop: Callable[[], None]) -> None:
        self._terminal, self._ask_to_stop = terminal, ask_to_stop
        self.closed = False

    def committed(
        self,
        events: Sequence["LoggedEvent"],
        status: "RunStatus | None" = None,  # noqa: ARG002 - the observer's signature
    ) -> None:
        """Print what is durable now."""
        if self.closed or not events:
            return
        try:
            self._terminal.write("".join(as_event_line(event) for event in events))
        except OutputClosed:
            self.closed = True
            self._ask_to_stop()


def as_event_line(event: "LoggedEvent") -> str:
    """An event as one JSON line."""
    return as_line(event.as_json()) + "\n"
