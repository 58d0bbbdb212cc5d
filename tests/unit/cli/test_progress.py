import io
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from rich.console import Console

from evolve.event_types import RunResumed, RunStarted
from evolve.events import Event
from evolve.payloads import describe_completion, describe_proposal
from evolve.policy_events import PolicyBecameUnavailable, PolicyRecovered
from evolve.proposal import CompletedReply, Proposal, RejectedText
from service.cli.progress import (
    EvaluationRate,
    EventLines,
    Goal,
    LiveLine,
    PlainLines,
    pieces,
)
from service.cli.terminal import OutputClosed, Terminal
from service.ports import Activity, Counters, LoggedEvent
from service.runner.status import RunStatus, StatusFold
from tests.unit.cli.recording import RUN
from tests.unit.individuals import individual

BUDGET = {"evaluations": 200, "answers": None, "tokens": None, "wall_seconds": None}
STATUS = RunStatus(
    run_id=RUN,
    state="running",
    counters=Counters(evaluations=50, valid=40, failed=10, duplicates=7, answers=60),
    best_fitness=-2.5,
    best_scores={"loss": 2.5},
    elapsed_seconds=10.0,
)
EVENT = LoggedEvent(
    run_id=RUN,
    sequence=2,
    at=datetime(2026, 1, 1, tzinfo=UTC),
    event=Event(RunStarted(by="x")),
)


class Ticking:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_pace_is_that_of_the_last_seconds() -> None:
    pace = EvaluationRate(window_seconds=10)
    for second in range(21):
        pace.add(float(second), 0 if second < 10 else 5 * (second - 10))
    assert pace.rate(20.0) == pytest.approx(5.0)


def test_the_pace_falls_while_nothing_comes() -> None:
    pace = EvaluationRate(window_seconds=10)
    pace.add(0.0, 0)
    pace.add(5.0, 50)
    assert pace.rate(5.0) == pytest.approx(10.0)
    assert pace.rate(50.0) == pytest.approx(1.0)


def test_no_pace_without_time() -> None:
    pace = EvaluationRate()
    assert pace.rate(1.0) == 0.0
    pace.add(1.0, 3)
    assert pace.rate(1.0) == 0.0


def test_the_line_says_best_pace_outcomes_budget_and_time_left() -> None:
    goal = Goal(budget=BUDGET, objective="loss")
    assert pieces(STATUS, goal, 5.0, left=30.0) == [
        "best 2.5", "5/s", "40 valid 10 failed 7 dup", "50/200", "0:30 left",
    ]  # fmt: skip


def test_without_an_objective_the_fitness_is_shown() -> None:
    assert pieces(STATUS, Goal(budget=BUDGET), 0.0)[0] == "best -2.5"


def test_the_line_names_the_most_frequent_failure_where_many_fail() -> None:
    shown = " · ".join(pieces(STATUS, Goal(budget=BUDGET), 5.0, failure="8 timeout"))
    assert "40 valid 10 failed (8 timeout) 7 dup" in shown
    few = replace(STATUS, counters=replace(STATUS.counters, failed=9))
    assert "40 valid 9 failed 7 dup" in " · ".join(pieces(few, Goal(budget=BUDGET), 5.0, failure="8 timeout"))


def test_the_line_fits_eighty_columns() -> None:
    busy = replace(
        STATUS,
        best_scores={"radii": 2.6359830849},
        counters=Counters(evaluations=2345, valid=2000, failed=1345, duplicates=2345, answers=15000),
    )
    goal = Goal(budget={**BUDGET, "evaluations": 20000}, objective="radii")
    assert len(" · ".join(pieces(busy, goal, 123.4, left=143.0))) <= 80


def test_a_waiting_run_says_why() -> None:
    waiting = replace(STATUS, waiting="the server is away\x1b[2J")
    parts = pieces(waiting, Goal(budget=BUDGET), 5.0)
    assert any(part.startswith("waiting: the server is away") for part in parts)
    assert "\x1b" not in "".join(parts)
    assert not any("left" in part for part in parts)


class Listening(Terminal):
    """A terminal whose messages are kept."""

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "notes", [])

    def note(self, text: str, style: str = "") -> None:
        self.notes.append(text)  # type: ignore[attr-defined]  # set around the frozen dataclass

    @property
    def kept(self) -> list[str]:
        return list(self.notes)  # type: ignore[attr-defined]  # as above


def test_plain_lines_come_now_and_then() -> None:
    terminal, clock = Listening(), Ticking()
    lines = PlainLines(terminal, Goal(budget=BUDGET), clock)
    for seconds in (1.0, 4.5, 1.0, 1.0, 5.0):
        clock.now += seconds
        lines.committed([EVENT], STATUS)
    assert len(terminal.kept) == 2


def test_a_log_is_told_at_once_what_a_run_waits_for_and_that_it_goes_on() -> None:
    terminal = Listening()
    lines = PlainLines(terminal, Goal(budget=BUDGET), Ticking())
    for reason in ("", "the server is away", "the server is away", ""):
        lines.committed([EVENT], replace(STATUS, waiting=reason))
    assert ["waiting: the server is away" in line for line in terminal.kept] == [True, False]


def test_a_log_is_told_at_once_which_policy_is_away_and_that_it_is_back() -> None:
    terminal = Listening()
    lines = PlainLines(terminal, Goal(budget=BUDGET), Ticking())
    for away in ((), ("large",), ("large",), ("large", "small\x1b"), ()):
        lines.committed([EVENT], replace(STATUS, away=away))
    assert [line.partition("unavailable: ")[2].partition(" ·")[0] for line in terminal.kept] == [
        "large",
        "large, small\N{REPLACEMENT CHARACTER}",
        "",
    ]


def test_policies_are_away_from_one_event_to_another() -> None:
    events = [
        Event(PolicyBecameUnavailable(policy="a", reason="x")),
        Event(PolicyBecameUnavailable(policy="b", reason="x")),
        Event(PolicyRecovered(policy="a")),
        Event(RunResumed(by="another")),
    ]
    fold, seen = StatusFold(RUN), []
    for event in events:
        fold.apply(event)
        seen.append(fold.status.away)
    assert seen == [("a",), ("a", "b"), ("b",), ()]


def test_the_live_line_is_drawn_from_the_last_commit() -> None:
    screen = io.StringIO()
    terminal = Terminal()
    terminal.__dict__["err"] = Console(file=screen, force_terminal=True, width=80, legacy_windows=False)
    live = LiveLine(terminal, Goal(budget=BUDGET), Ticking())
    assert live.render().plain == "starting …"
    with live:
        live.committed([EVENT], STATUS)
    assert "40 valid 10 failed 7 dup" in live.render().plain
    hidden, shown = screen.getvalue().rfind("\x1b[?25l"), screen.getvalue().rfind("\x1b[?25h")
    assert 0 <= hidden < shown


def test_events_are_streamed_as_they_are_logged(capsys: pytest.CaptureFixture[str]) -> None:
    EventLines(Terminal(as_json=True), lambda: None).committed([EVENT], STATUS)
    assert capsys.readouterr().out == (
        f'{{"schema": 1, "run_id": "{RUN}", "sequence": 2, "kind": "run.started", "at": "2026-01-01T00:00:00Z",'
        ' "by": "x"}\n'
    )


def test_a_reader_that_leaves_stops_the_run_once() -> None:
    asked = []

    class Gone(Terminal):
        def write(self, text: str) -> None:
            raise OutputClosed

    lines = EventLines(Gone(as_json=True), lambda: asked.append(1))
    lines.committed([EVENT], STATUS)
    lines.committed([EVENT], STATUS)
    assert asked == [1]


def test_the_line_moves_between_commits_while_a_model_writes() -> None:
    clock, now = Ticking(), {"tokens": 0.0}
    terminal = Terminal()
    live = LiveLine(
        terminal,
        Goal(budget=BUDGET),
        clock,
        lambda: Activity(calls=3, tokens=now["tokens"], dropped={"no program": 7, "empty": 2}),
    )
    live.committed([EVENT], STATUS)
    first = live.render().plain
    clock.now, now["tokens"] = clock.now + 2.0, 122.0
    assert first.startswith("best -2.5 · 3 calls out · 0 tok/s · 60 answers, 9 dropped (7 no program) · 50/200 · 0:10")
    assert "3 calls out · 61 tok/s" in live.render().plain
    assert " · 0:12 · " in live.render().plain


def test_the_clock_of_a_paused_run_stands() -> None:
    clock = Ticking()
    live = LiveLine(Terminal(), Goal(budget=BUDGET), clock)
    live.committed([EVENT], replace(STATUS, state="paused"))
    clock.now += 30.0
    assert live.render().plain.endswith("· 0:10")


def test_a_log_shows_what_a_model_does_while_nothing_is_committed() -> None:
    terminal, clock = Listening(), Ticking()
    lines = PlainLines(terminal, Goal(budget=BUDGET), clock, lambda: Activity(calls=1, tokens=9.0))
    lines.committed([EVENT], STATUS)
    for _ in range(40):
        clock.now += 1.0
        lines.tick()
    assert ["1 call out" in line for line in terminal.kept] == [True, True]


def asked(number: int) -> Proposal:
    return Proposal(id=f"prp_{number}", number=number, island=0, operator="mutate", parent=individual("parent", 1.0))


def test_where_only_events_are_known_proposals_without_an_answer_are_calls() -> None:
    live = LiveLine(Terminal(), Goal(budget=BUDGET, model=True), Ticking())
    told = [
        *(Event(describe_proposal(asked(number))) for number in (1, 2)),
        Event(
            describe_completion(
                1, 1, CompletedReply(completions=(), dropped=(RejectedText(chain=0, reason="x"),) * 4), {}
            )
        ),
    ]
    live.committed([replace(EVENT, event=event) for event in told], STATUS)
    assert "· 1 call out · 60 answers, 4 dropped ·" in live.render().plain
