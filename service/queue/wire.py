"""Tasks and evaluations as JSON; what comes back is read as a stranger's word."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from evolve.errors import EvolveError
from evolve.evaluation import ANSWER_CHARACTERS, MAX_TRACE_CHARACTERS, Evaluation, Outcome, ScoringRequest, Trace
from evolve.problem import MAX_MAGNITUDE
from evolve.program import Program
from evolve.views.candidate_view import CandidateView, stored_view
from service.errors import UsageError
from service.ports import DeviceState, EvaluationTask, RunningTask, WorkerHeartbeat, WorkerState

SCHEMA = 1
# Of a task that is more than scoring: a worker of before there were such must not take it for one.
CLOSING_SCHEMA = 2
RENDER_SCHEMA = 3
MAX_CONTAINERS = 100
MAX_DEVICES, MAX_DEVICE_TEXT = 64, 100
MAX_TRACEPARENT = 55  # of version 00 (W3C Trace Context, 3.2)
_NUMBERS = ("scores", "measures", "cases", "spread")
_TOO_OFTEN = 1 << 31
_DEVICE_TEXTS = ("name", "model", "driver")
_DEVICE_COUNTS = ("clock_mhz", "min_reading_mhz", "max_reading_mhz", "max_clock_mhz", "readings")
_TRACED = ("printed", "artifacts")
_TEXTS = ("reason", "feedback", "worker", "isolation")


def task_to_json(task: EvaluationTask) -> str:
    """A task as JSON."""
    scoring = task.scoring
    return json.dumps(
        {
            "schema": _schema_of(scoring),
            "evaluation_id": task.evaluation_id,
            "bundle_hash": task.bundle_hash,
            "pool": task.pool,
            "files": dict(task.program.files),
            "early_stop_threshold": scoring.early_stop_threshold,
            "holdout": scoring.holdout,
            "draw": scoring.draw,
            "traced": scoring.traced,
            "render": scoring.render,
            **({"traceparent": task.traceparent} if task.traceparent else {}),
        }
    )


def _schema_of(scoring: ScoringRequest) -> int:
    if scoring.render:
        return RENDER_SCHEMA
    return CLOSING_SCHEMA if scoring.holdout or scoring.draw else SCHEMA


def task_from_json(text: str | bytes) -> EvaluationTask:
    """A task from JSON.

    Raises:
        UsageError: it is none.
    """
    raw = _object(text, RENDER_SCHEMA)
    try:
        return EvaluationTask(
            evaluation_id=_text(raw, "evaluation_id"),
            bundle_hash=_text(raw, "bundle_hash"),
            pool=_text(raw, "pool"),
            program=Program.of({str(path): _text(raw["files"], path) for path in raw["files"]}),
            scoring=ScoringRequest(
                early_stop_threshold=None
                if raw.get("early_stop_threshold") is None
                else _number(raw["early_stop_threshold"]),
                holdout=raw.get("holdout") is True,
                draw=_count(raw.get("draw", 0)),
                traced=raw.get("traced") is True,
                render=raw.get("render") is True,
            ),
            traceparent=_text(raw, "traceparent")[:MAX_TRACEPARENT] if "traceparent" in raw else "",
        )
    except (KeyError, TypeError, ValueError, EvolveError) as error:
        raise UsageError(f"this is no evaluation task: {error}") from error


def evaluation_to_json(evaluation: Evaluation) -> str:
    """An evaluation as JSON."""
    return json.dumps({"schema": SCHEMA, **asdict(evaluation)}, allow_nan=False)


def evaluation_from_json(text: str | bytes) -> Evaluation:
    """An evaluation from JSON; one that cannot be read has the outcome `lost`, and the reason says why."""
    try:
        raw = _object(text)
        values: dict[str, Any] = {name: _text(raw, name) for name in _TEXTS}
        values |= {name: {str(key): _number(value) for key, value in raw[name].items()} for name in _NUMBERS}
        # A worker of an earlier version says nothing of these.
        values |= {"repeats": _count(raw.get("repeats", 0)), "answer": _answer(raw), "trace": _trace(raw)}
        values["view"] = _view(raw)
        return Evaluation(outcome=Outcome(_text(raw, "outcome")), seconds=_number(raw["seconds"]), **values)
    except (KeyError, TypeError, ValueError, AttributeError, UsageError) as error:
        return Evaluation(outcome=Outcome.LOST, reason=f"the worker's answer cannot be read: {error}")


def heartbeat_to_json(heartbeat: WorkerHeartbeat) -> str:
    """What a worker says of itself, as JSON."""
    said = {**asdict(heartbeat), "started_at": heartbeat.started_at.isoformat()}
    return json.dumps({"schema": SCHEMA, **{name: value for name, value in said.items() if name != "seen_at"}})


def heartbeat_from_json(text: str | bytes, seen_at: datetime | None = None) -> WorkerHeartbeat | None:
    """What a worker said of itself; None where it said nothing that can be read."""
    try:
        raw = _object(text)
        values: dict[str, Any] = {name: _text(raw, name) for name in ("worker_id", "pool", "isolation", "version")}
        values |= {name: int(_number(raw[name])) for name in ("slots", "busy", "evaluations")}
        started_at = datetime.fromisoformat(_text(raw, "started_at"))
        tasks = tuple(map(_running_task, raw.get("tasks", ())))
        state = WorkerState(_text(raw, "state"))
        values["devices"] = tuple(map(_device, raw.get("devices", ())))[:MAX_DEVICES]
        values["containers"] = _text(raw, "containers")[:MAX_CONTAINERS] if "containers" in raw else ""
        return WorkerHeartbeat(state=state, started_at=started_at, tasks=tasks, seen_at=seen_at, **values)
    except (KeyError, TypeError, ValueError, UsageError):
        return None


def _running_task(raw: Mapping[str, Any]) -> RunningTask:
    return RunningTask(evaluation_id=_text(raw, "evaluation_id"), seconds=max(0.0, _number(raw["seconds"])))


def _device(raw: Mapping[str, Any]) -> DeviceState:
    values: dict[str, Any] = {name: _text(raw, name)[:MAX_DEVICE_TEXT] for name in _DEVICE_TEXTS}
    return DeviceState(**values | {name: _count(raw[name]) for name in _DEVICE_COUNTS})


def _object(text: str | bytes, latest: int = SCHEMA) -> Mapping[str, Any]:
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"this is not JSON: {error}") from error
    if not isinstance(raw, dict) or raw.get("schema") not in range(SCHEMA, latest + 1):
        raise UsageError(f"this is no object of schema {latest}")
    return raw


def _text(raw: Mapping[str, Any], name: str) -> str:
    if not isinstance(raw[name], str):
        raise TypeError(f"{name} is not text")
    return str(raw[name])


def _answer(raw: Mapping[str, Any]) -> str | None:
    if raw.get("answer") is None:
        return None
    answer = _text(raw, "answer")
    if not 0 < len(answer) <= ANSWER_CHARACTERS:
        raise ValueError(f"an answer has 1 to {ANSWER_CHARACTERS} characters, not {len(answer)}")
    return answer


def _view(raw: Mapping[str, Any]) -> CandidateView | None:
    return None if (said := raw.get("view")) is None else stored_view(said)


def _trace(raw: Mapping[str, Any]) -> Trace | None:
    if (said := raw.get("trace")) is None:
        return None
    texts = {name: {key: _text(said[name], key)[:MAX_TRACE_CHARACTERS] for key in said[name]} for name in _TRACED}
    imports = {str(key): _number(value) for key, value in said["imports"].items()}
    return Trace(feedback=_text(said, "feedback"), imports=imports, **texts)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _TOO_OFTEN:
        raise TypeError(f"{str(value)[:40]!r} is no count")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{str(value)[:40]!r} is not a number")
    if not math.isfinite(value) or abs(value) > MAX_MAGNITUDE:
        raise ValueError(f"the number {value:g} is beyond what can be compared")
    return float(value)
