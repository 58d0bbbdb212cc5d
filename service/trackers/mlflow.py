"""MLflow: a run in the experiment of the problem, with its parameters, metrics and the best program as artifacts."""

import logging
import re
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from evolve.trackers import Parameter, TrackedPoint, TrackedResult, TrackedRun
from evolve.views.candidate_view import FILE_ENDINGS
from service.trackers.library import EVALUATIONS, load_library

RUN_ID, STATE, REASON = "evolve.run_id", "evolve.state", "evolve.reason"
STATUSES = {"succeeded": "FINISHED", "failed": "FAILED", "cancelled": "KILLED"}
# Limits of MLflow's REST interface.
MAX_METRICS, MAX_PARAMETERS, MAX_NAME, MAX_VALUE = 1000, 100, 250, 5000


class MlflowTracker:
    """Writes to a tracking server or store.

    Args:
        target: its URI, such as `http://127.0.0.1:5000` or `sqlite:///mlflow.db`; empty: MLflow's own default.

    Raises:
        MissingExtensionError: MLflow is not installed.
    """

    def __init__(self, target: str) -> None:
        self._entities = load_library("mlflow", "mlflow.entities")
        self._client = load_library("mlflow", "mlflow").MlflowClient(tracking_uri=target or None)
        logging.getLogger("mlflow").setLevel(logging.WARNING)  # it tells of each table that it makes
        self._run_id, self._reached = "", 0

    def start(self, run: TrackedRun) -> int:
        """Create the run, or find it by the id that it has in Evolve."""
        experiment = self._experiment(run.problem)
        found = self._client.search_runs([experiment], f"tags.`{RUN_ID}` = '{run.run_id}'", max_results=1)
        if found:
            (stored,) = found
            self._run_id = stored.info.run_id
            self._client.update_run(self._run_id, status="RUNNING")
            self._reached = int(stored.data.metrics.get(EVALUATIONS, 0))
            return self._reached
        labels = {f"label.{_name(key)}"[:MAX_NAME]: value[:MAX_VALUE] for key, value in run.labels.items()}
        created = self._client.create_run(
            experiment, _milliseconds(run.started_at), {**labels, RUN_ID: run.run_id}, run.name[:MAX_NAME]
        )
        self._run_id = created.info.run_id
        parameters = [self._entities.Param(_name(key), _text(value)) for key, value in run.parameters.items()]
        for portion in _portions(parameters, MAX_PARAMETERS):
            self._client.log_batch(self._run_id, params=portion)
        return 0

    def log(self, points: Sequence[TrackedPoint]) -> None:
        """Send the metrics of the points, with the times at which they were."""
        metrics = [
            self._entities.Metric(_name(name), value, _milliseconds(point.at), point.evaluations)
            for point in points
            for name, value in {EVALUATIONS: float(point.evaluations), **point.metrics}.items()
        ]
        self._reached = points[-1].evaluations if points else self._reached
        for portion in _portions(metrics, MAX_METRICS):
            self._client.log_batch(self._run_id, metrics=portion)

    def finish(self, result: TrackedResult) -> None:
        """Send the summary, the best program with its picture, and the end."""
        at = _milliseconds(result.ended_at)
        numbers = {name: value for name, value in result.summary.items() if not isinstance(value, str)}
        metrics = [
            self._entities.Metric(f"summary/{_name(name)}", float(value), at, self._reached)
            for name, value in numbers.items()
        ]
        tags = {STATE: result.state, REASON: result.reason}
        tags |= {
            f"summary.{_name(name)}": _text(value) for name, value in result.summary.items() if name not in numbers
        }
        self._client.log_batch(
            self._run_id, metrics=metrics, tags=[self._entities.RunTag(key, value) for key, value in tags.items()]
        )
        with tempfile.TemporaryDirectory(prefix="evolve-") as scratch:
            if _write(result, Path(scratch)):
                self._client.log_artifacts(self._run_id, scratch, "best")
        self._client.set_terminated(self._run_id, STATUSES.get(result.state, "FINISHED"), at)

    def close(self) -> None:
        """Nothing is held."""

    def _experiment(self, name: str) -> str:
        errors = load_library("mlflow", "mlflow.exceptions")
        stored = self._client.get_experiment_by_name(name)
        if stored is not None:
            return str(stored.experiment_id)
        try:
            return str(self._client.create_experiment(name))
        except errors.MlflowException:
            stored = self._client.get_experiment_by_name(name)  # another run of the problem was faster
            if stored is None:
                raise
            return str(stored.experiment_id)


def _write(result: TrackedResult, folder: Path) -> bool:
    """Write the best program and its picture into a folder; whether there is something."""
    for path, text in result.files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    view = result.view
    if view is not None and view.media_type:
        (folder / f"view.{FILE_ENDINGS[view.media_type]}").write_bytes(view.data)
    return bool(result.files) or bool(view and view.media_type)


def _name(name: str) -> str:
    """A name that MLflow takes for a parameter, a metric or a tag."""
    return re.sub(r"[^\w\-. :/]", "_", name, flags=re.ASCII)[:MAX_NAME]


def _text(value: Parameter) -> str:
    return str(value)[:MAX_VALUE]


def _milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _portions(values: Sequence[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(values)
    while portion := list(islice(rest, size)):
        yield portion
