"""Weights & Biases: a run in a project, online or offline, with the best program as an artifact."""

import html
import re
from collections.abc import Sequence
from typing import Any

from evolve.errors import ConfigurationError
from evolve.trackers import TrackedPoint, TrackedResult, TrackedRun
from evolve.views.candidate_view import FILE_ENDINGS, HTML, CandidateView
from service.trackers.library import EVALUATIONS, load_library

PROJECT = "evolve"
MAX_NAME = 128


class WandbTracker:
    """Writes into a project. `WANDB_MODE=offline` keeps the run in a folder, for `wandb sync`.

    Args:
        target: `PROJECT` or `ENTITY/PROJECT`; empty: `evolve`.

    Raises:
        MissingExtensionError: wandb is not installed.
        ConfigurationError: it has no API key, and is not offline.
    """

    def __init__(self, target: str) -> None:
        entity, _, project = (target or PROJECT).rpartition("/")
        self._entity, self._project = entity or None, project
        self._wandb = load_library("wandb", "wandb")
        self._run: Any = None
        self._name, self._reached, self._at = "", 0, 0.0
        online = self._wandb.setup().settings.mode not in ("offline", "disabled", "dryrun")
        if online and not self._wandb.login(prompt=False):
            raise ConfigurationError(
                "the tracker wandb has no API key: run wandb login, set WANDB_API_KEY, or write to a folder with"
                " WANDB_MODE=offline"
            )

    def start(self, run: TrackedRun) -> int:
        """Create the run, or continue it: it has the same id there."""
        problem = re.sub(r"[^\w.-]", "_", run.problem, flags=re.ASCII)[:60]
        self._name = f"{problem}-{run.run_id}"
        settings = self._wandb.Settings(
            console="off", disable_code=True, disable_git=True, silent=True, x_disable_stats=True
        )
        self._run = self._wandb.init(
            entity=self._entity,
            project=self._project,
            id=run.run_id,
            name=run.name[:MAX_NAME],
            config={**run.parameters, **{f"label.{key}": value for key, value in run.labels.items()}},
            reinit="create_new",
            resume="allow",
            settings=settings,
        )
        self._reached = int(self._run.summary.get(EVALUATIONS) or 0)
        return self._reached

    def log(self, points: Sequence[TrackedPoint]) -> None:
        """Send the metrics of each point, with the time at which it was."""
        for point in points:
            self._reached, self._at = point.evaluations, point.at.timestamp()
            row = {EVALUATIONS: point.evaluations, **point.metrics, "_timestamp": self._at}
            self._run.log(row, step=point.evaluations)

    def finish(self, result: TrackedResult) -> None:
        """Send the summary, the best program as an artifact, and its picture as a panel."""
        self._run.summary.update({"state": result.state, **{f"summary/{k}": v for k, v in result.summary.items()}})
        view = result.view if result.view and result.view.media_type else None
        if view is not None:
            # A row that joins the last point's must keep its time.
            at = self._at or result.ended_at.timestamp()
            picture = self._wandb.Html(_page(view), inject=False)
            self._run.log({"best/view": picture, "_timestamp": at}, step=self._reached)
        if result.files:
            artifact = self._wandb.Artifact(self._name[:MAX_NAME], type="program", metadata=dict(result.summary))
            for path, text in result.files.items():
                with artifact.new_file(path, mode="w", encoding="utf-8") as file:
                    file.write(text)
            if view is not None:
                with artifact.new_file(f"view.{FILE_ENDINGS[view.media_type]}", mode="wb") as file:
                    file.write(view.data)
            self._run.log_artifact(artifact)

    def close(self) -> None:
        """Send what waits. The run may be continued under its id."""
        if self._run is not None:
            self._run.finish()


def _page(view: CandidateView) -> str:
    if view.media_type == HTML:
        return view.data.decode()
    return f'<img alt="the best program" src="{html.escape(view.picture)}">'
