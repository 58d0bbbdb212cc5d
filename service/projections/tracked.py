"""A run in the form in which trackers are sent it: its parameters, its points and its result."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from evolve.money import Money
from evolve.trackers import Parameter, TrackedPoint, TrackedResult, TrackedRun
from evolve.version import __version__
from service.errors import NotFoundError
from service.ports import ResultReader, RunRecord
from service.schemas.series import SeriesPoint

NAME = "name"
_POINT = (
    "best_fitness", "valid_share", "duplicate_share", "rejected_share", "hypervolume", "cells", "qd_score",
    "tokens_input", "tokens_cached", "tokens_output", "distinct_share", "reward_distance", "island_entropy",
    "outcome_entropy",
)  # fmt: skip
_COUNTERS = ("evaluations", "answers", "valid", "failed", "duplicates", "rejected", "tokens_input", "tokens_output")


def tracked_run(run: RunRecord) -> TrackedRun:
    """A run with its configuration and its problem as flat parameters."""
    labels = dict(run.labels)
    return TrackedRun(
        run_id=run.id,
        name=labels.pop(NAME, "") or f"{run.problem_name} {run.id[4:12]}",
        problem=run.problem_name,
        started_at=run.started_at or run.created_at,
        parameters=dict(_parameters(run)),
        labels=labels,
    )


def tracked_point(point: SeriesPoint) -> TrackedPoint:
    """A point with the numbers that are known; the best score of each objective is `best/NAME`."""
    values = {name: getattr(point, name) for name in _POINT}
    values |= {f"best/{name}": score for name, score in point.best_scores.items()}
    values["cost"] = _amount(point.cost)
    metrics = {name: float(value) for name, value in values.items() if value is not None}
    return TrackedPoint(evaluations=point.evaluations, at=point.at, metrics=metrics)


def tracked_result(run: RunRecord, reader: ResultReader) -> TrackedResult:
    """The result of a run that has ended, with its best program and the picture of that."""
    files: Mapping[str, str] = {}
    view = None
    if run.best_candidate_id:
        try:
            files = dict(reader.program(run.best_candidate_id).files)
            view = reader.view(run.best_candidate_id)
            view = None if view is not None and view.on_demand else view
        except NotFoundError:  # the run was pruned meanwhile
            files = {}
    return TrackedResult(
        state=run.state,
        reason=run.reason,
        ended_at=run.finished_at or datetime.now(UTC),
        summary={name: value for name, value in _summary(run) if value is not None},
        files=files,
        view=view,
    )


def _parameters(run: RunRecord) -> Iterator[tuple[str, Parameter]]:
    yield from _flat("config", run.config)
    yield "problem.name", run.problem_name
    yield "problem.bundle_hash", run.bundle_hash
    yield "problem.integrity", run.integrity
    if run.known_best is not None:
        yield "problem.known_best", run.known_best
    for objective in run.objectives:
        for key, value in objective.items():
            if key != NAME:
                yield from _flat(f"problem.objectives.{objective[NAME]}.{key}", value)
    for number, policy in enumerate(run.policies):
        yield from _flat(f"policies.{number}", policy)
    yield "isolation", run.isolation
    yield "evolve_version", __version__


def _flat(name: str, value: Any) -> Iterator[tuple[str, Parameter]]:
    """A value under names with dots; lists as JSON, and nothing for null and for what is empty."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _flat(f"{name}.{key}", part)
    elif isinstance(value, list | tuple):
        if value:
            yield name, json.dumps(value, ensure_ascii=False)
    elif isinstance(value, str | int | float | bool) and value != "":
        yield name, value


def _summary(run: RunRecord) -> Iterator[tuple[str, Parameter | None]]:
    counters = run.counters
    yield "state", run.state
    yield "reason", run.reason
    yield "best_fitness", run.best_fitness
    yield "best_candidate_id", run.best_candidate_id
    yield "seed_fitness", run.seed_fitness
    for name in _COUNTERS:
        yield name, getattr(counters, name)
    yield "cost", _amount(counters.cost)
    yield "active_seconds", run.active_seconds


def _amount(cost: str | None) -> float | None:
    """An amount of money as trackers draw it: a number. Its currency is that of the policies' prices."""
    return None if cost is None else float(Money.read(cost).amount)
