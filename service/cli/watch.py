"""The command `evolve watch`: shows how a run goes on that another process drives, from its events."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from evolve.event_types import BestImproved, RunUnblocked, RunWaiting
from evolve.events import Event, EventKind
from service.cli import formatting
from service.cli.end_reason import limit_sources
from service.cli.event_log import EventLog
from service.cli.exit_codes import FAILED, INTERRUPTED, OK, TARGET_MISSED
from service.cli.progress import Goal, LiveLine, PlainLines, limits
from service.cli.records import as_score, find_run
from service.cli.summary import read_outcome, show_summary, summary_json, used_model
from service.cli.terminal import Terminal
from service.jsonlines import as_line
from service.ports import ENDED, PAUSED, RUNNING, LoggedEvent, RunRecord
from service.projections import count, entered
from service.projections.run_site import RunSite
from service.runner.status import RunStatus, away_after

_PAUSE_SECONDS = 0.2  # until a run that has ended and is wanted to go on is looked at again


def watch(terminal: Terminal, site: RunSite, run_id: str, after: int = 0, *, require_target: bool = False) -> int:
    """Watch a run until it ends or is paused, say what came of it, and return the exit code.

    Args:
        terminal: where to.
        site: where the run is.
        run_id: the run.
        after: sequence number behind which events are printed, as JSON.
        require_target: whether another end than by a target is a failure.
    """
    run = find_run(site.reader, run_id)
    try:
        _follow(terminal, site, run, after)
    except KeyboardInterrupt:
        return _detached(terminal, run)
    outcome = read_outcome(site.reader, run.id, site.assessment, site.failures, limit_sources(site.events(run.id, 0)))
    if terminal.as_json:
        terminal.emit(summary_json(outcome))
    else:
        show_summary(terminal, outcome, site.name)
    run = outcome.run
    if run.state == PAUSED:
        terminal.note(f"The run is paused. Resume it with: {terminal.command(f'resume {formatting.short(run.id)}')}")
        return INTERRUPTED
    if run.state != "succeeded":
        if run.failure:
            terminal.note(f"evolve: the run failed: {run.failure}")
        return FAILED
    if require_target and run.reason != "target":
        terminal.note(f"evolve: the target was not reached ({run.reason})")
        return TARGET_MISSED
    return OK


def _follow(terminal: Terminal, site: RunSite, run: RunRecord, after: int) -> None:
    if terminal.as_json:
        for event in _until_rest(site, run, after):
            terminal.write(as_line(event) + "\n")
        return
    if terminal.verbosity > 0:
        EventLog().tell(_until_rest(site, run, run.sequence))
        return
    objective = str(run.objectives[0]["name"]) if len(run.objectives) == 1 else ""
    goal = Goal(budget=limits(run.config.get("budget", {})), objective=objective, model=used_model(run))
    status, began = _status(run, objective), time.monotonic()
    if terminal.err.is_terminal:
        with LiveLine(terminal, goal, time.monotonic) as line:
            line.committed((), status)
            for event in _until_rest(site, run, run.sequence):
                status = _folded(run, status, event, began, objective)
                line.committed(_logged(run, event), status)
        return
    lines = PlainLines(terminal, goal, time.monotonic)
    for event in _until_rest(site, run, run.sequence):
        status = _folded(run, status, event, began, objective)
        lines.committed(_logged(run, event), status)


def _until_rest(site: RunSite, run: RunRecord, after: int) -> Iterator[Mapping[str, Any]]:
    """Events of a run until it has ended, or is paused and nobody wants it to go on."""
    now = run
    while now.sequence > after or not _rests(now):
        for event in site.events(run.id, after):
            yield event
            after = event.get("sequence", after)
            # What is told may be long past; how it stands is only asked where it may rest.
            if event.get("kind") == EventKind.RUN_PAUSED or (after == run.sequence and run.state == PAUSED):
                now = site.reader.run(run.id)
                if now.sequence <= after and _rests(now):
                    return
        # The events of a run end where it has ended, also if it was just wanted to go on.
        now = site.reader.run(run.id)
        if _rests(now):
            return
        time.sleep(_PAUSE_SECONDS)


def _rests(run: RunRecord) -> bool:
    return run.state in ENDED or (run.state == PAUSED and (run.desired_state != RUNNING or run.revision == 0))


def _status(run: RunRecord, objective: str) -> RunStatus:
    """Where a run stands when it begins to be watched."""
    waiting = str((run.waiting or {}).get("reason", ""))
    return RunStatus(
        run_id=run.id,
        state=run.state,
        waiting=waiting,
        counters=run.counters,
        best_fitness=run.best_fitness,
        best_scores=_scores(run, objective, run.best_fitness),
        elapsed_seconds=run.active_seconds,
    )


def _folded(run: RunRecord, status: RunStatus, told: Mapping[str, Any], began: float, objective: str) -> RunStatus:
    """The status after one event; what a later version tells of is passed over."""
    if told.get("kind") not in set(EventKind):
        return status
    event = Event.stored(EventKind(told["kind"]), told)
    status = replace(
        status,
        counters=count(status.counters, event),
        away=away_after(status.away, event),
        state=entered(event) or status.state,
        elapsed_seconds=run.active_seconds + time.monotonic() - began,
    )
    match event.data:
        case RunWaiting(reason=reason):
            return replace(status, waiting=reason)
        case RunUnblocked():
            return replace(status, waiting="")
        case BestImproved(fitness=fitness):
            return replace(status, best_fitness=fitness, best_scores=_scores(run, objective, fitness))
    return status


def _logged(run: RunRecord, told: Mapping[str, Any]) -> list[LoggedEvent]:
    """An event that was told, as a log holds it; none where a later version tells of it."""
    if told.get("kind") not in set(EventKind):
        return []
    event = Event.stored(EventKind(told["kind"]), told)
    return [LoggedEvent(run_id=run.id, sequence=told["sequence"], at=datetime.fromisoformat(told["at"]), event=event)]


def _scores(run: RunRecord, objective: str, fitness: float | None) -> Mapping[str, float]:
    score = as_score(run, fitness)
    return {} if not objective or score is None else {objective: score}


def _detached(terminal: Terminal, run: RunRecord) -> int:
    name = formatting.short(run.id)
    ways = ", ".join(terminal.command(f"{word} {name}") for word in ("watch", "pause", "cancel"))
    terminal.note(f"Stopped watching. The run continues. Next: {ways}")
    return INTERRUPTED
