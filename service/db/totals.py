"""The row of a run as the fold of its events: state, times and running totals."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from evolve.event_types import BestImproved, RunFinished, RunWaiting
from evolve.events import EventKind
from service.db.models import RunRow
from service.ports import Counters, LoggedEvent
from service.projections import count, entered
from service.timestamps import rfc3339

COUNTERS = tuple(Counters.__dataclass_fields__)
FOLDED = (
    RunRow.sequence,
    RunRow.last_at,
    RunRow.state,
    RunRow.reason,
    RunRow.waiting,
    RunRow.started_at,
    RunRow.finished_at,
    RunRow.paused_at,
    RunRow.active_seconds,
    RunRow.best_candidate_id,
    RunRow.best_fitness,
    *(getattr(RunRow, name) for name in COUNTERS),
)
_AT_WORK = {"running", "pausing", "cancelling"}
_TAKEN_UP = {EventKind.RUN_STARTED, EventKind.RUN_RESUMED}

_Row = dict[str, Any]


def fold(row: Mapping[str, Any], events: Iterable[LoggedEvent]) -> dict[str, Any]:
    """The folded columns after some events; `row` holds them as they are before, by name."""
    totals = dict(row)
    counters = Counters(**{name: row[name] for name in COUNTERS})
    for logged in events:
        counters = count(counters, logged.event)
        kind = logged.event.kind
        # What lies before the taking up of a run is no work: its process had ended or it was paused.
        if totals["state"] in _AT_WORK and kind not in _TAKEN_UP:
            totals["active_seconds"] += max(0.0, (logged.at - totals["last_at"]).total_seconds())
        state = entered(logged.event)
        if state is not None:
            _enter(totals, state, logged)
        step = _STEPS.get(kind)
        if step is not None:
            step(totals, logged)
        totals["sequence"], totals["last_at"] = logged.sequence, logged.at
    return totals | {name: getattr(counters, name) for name in COUNTERS}


def _enter(totals: _Row, state: str, logged: LoggedEvent) -> None:
    totals["state"] = state
    # Of a run that failed the column keeps why: it waits for nothing any more.
    data = logged.event.data
    detail = data.detail if isinstance(data, RunFinished) else ""
    totals["waiting"] = {"detail": detail} if detail and state == "failed" else None
    totals["reason"] = data.reason if isinstance(data, RunFinished) else ""
    ended = state in {"succeeded", "failed", "cancelled"}
    totals["finished_at"] = logged.at if ended else None
    if state == "running" and totals["started_at"] is None:
        totals["started_at"] = logged.at
    if state == "paused":
        totals["paused_at"] = logged.at


def _wait(totals: _Row, logged: LoggedEvent) -> None:
    data = logged.event.data
    assert isinstance(data, RunWaiting), "the table of steps names its kind"
    since = data.since or rfc3339(logged.at)
    totals["waiting"] = {"reason": data.reason, "since": since, "retry_at": data.retry_at}


def _go_on(totals: _Row, logged: LoggedEvent) -> None:  # noqa: ARG001 -- every step has the same signature
    totals["waiting"] = None


def _improve(totals: _Row, logged: LoggedEvent) -> None:
    data = logged.event.data
    if isinstance(data, BestImproved) and data.objective is None:
        totals["best_candidate_id"], totals["best_fitness"] = data.candidate_id, data.fitness


_STEPS: dict[EventKind, Callable[[_Row, LoggedEvent], None]] = {
    EventKind.RUN_WAITING: _wait,
    EventKind.RUN_UNBLOCKED: _go_on,
    EventKind.BEST_IMPROVED: _improve,
}
