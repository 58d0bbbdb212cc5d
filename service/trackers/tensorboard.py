"""TensorBoard: an event file for each run, in a folder that `tensorboard --logdir` shows."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evolve.trackers import Parameter, TrackedPoint, TrackedResult, TrackedRun
from evolve.views.candidate_view import PNG, CandidateView
from service.trackers.library import EVALUATIONS, load_library

FOLDER = "runs"  # the default of PyTorch's writer too
MAX_SCALAR = float(np.finfo(np.float32).max)  # TensorBoard's numbers have 32 bits
_PNG_SIZE = slice(16, 24)  # width and height of the IHDR chunk, four bytes each (PNG, 11.2.1)


class TensorBoardTracker:
    """Writes into `FOLDER/PROBLEM/RUN`.

    Args:
        target: the folder; empty: `runs`.

    Raises:
        MissingExtensionError: the package tensorboard is not installed.
    """

    def __init__(self, target: str) -> None:
        self._folder = Path(target or FOLDER).expanduser()
        self._summary = load_library("tensorboard", "tensorboard.compat.proto.summary_pb2")
        self._event = load_library("tensorboard", "tensorboard.compat.proto.event_pb2").Event
        self._scalar = load_library("tensorboard", "tensorboard.plugins.scalar.summary_v2").scalar_pb
        self._text = load_library("tensorboard", "tensorboard.plugins.text.summary_v2").text_pb
        self._reached = 0
        self._writer: Any = None

    def start(self, run: TrackedRun) -> int:
        """Open a file beside those that are there, and find the last point in them."""
        folder = self._folder / re.sub(r"[^\w.-]", "_", run.problem) / run.run_id
        self._reached = _last_step(folder)
        writer = load_library("tensorboard", "tensorboard.summary.writer.event_file_writer")
        self._writer = writer.EventFileWriter(str(folder))
        if not self._reached:
            at = run.started_at.timestamp()
            hparams = load_library("tensorboard", "tensorboard.plugins.hparams.summary_v2")
            self._add(hparams.hparams_pb(dict(run.parameters), trial_id=run.run_id, start_time_secs=at), 0, at)
            about = {"run": run.run_id, "name": run.name, **run.labels}
            self._add(self._text("run", _table(about)), 0, at)
            self._add(self._text("parameters", _table(run.parameters)), 0, at)
            self._writer.flush()
        return self._reached

    def log(self, points: Sequence[TrackedPoint]) -> None:
        """Write the metrics of each point as scalars, at the time at which it was."""
        for point in points:
            self._reached = point.evaluations
            for name, value in {EVALUATIONS: float(point.evaluations), **point.metrics}.items():
                if abs(value) <= MAX_SCALAR:
                    self._add(self._scalar(name, value), point.evaluations, point.at.timestamp())
        self._writer.flush()

    def finish(self, result: TrackedResult) -> None:
        """Write the summary and the best program as texts, and a PNG of it as an image."""
        at = result.ended_at.timestamp()
        self._add(self._text("summary", _table(result.summary)), self._reached, at)
        for path, text in result.files.items():
            indented = "\n".join(f"    {line}" for line in text.splitlines())  # Markdown's form of code
            self._add(self._text(f"best/{path}", indented), self._reached, at)
        if result.view is not None and result.view.media_type == PNG:
            self._add(self._picture(result.view), self._reached, at)
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()

    def _add(self, summary: Any, step: int, at: float) -> None:
        self._writer.add_event(self._event(wall_time=at, step=step, summary=summary))

    def _picture(self, view: CandidateView) -> Any:
        data = view.data
        size = data[_PNG_SIZE]
        image = self._summary.Summary.Image(
            width=int.from_bytes(size[:4]), height=int.from_bytes(size[4:]), colorspace=3, encoded_image_string=data
        )
        return self._summary.Summary(value=[self._summary.Summary.Value(tag="best/view", image=image)])


def _last_step(folder: Path) -> int:
    """After how many evaluations the last point in the files of a folder is; 0: there is none."""
    if not folder.is_dir():
        return 0
    accumulators = load_library("tensorboard", "tensorboard.backend.event_processing.event_accumulator")
    found = accumulators.EventAccumulator(str(folder)).Reload()
    return max((one.step for one in found.Tensors(EVALUATIONS)), default=0) if _has_points(found) else 0


def _has_points(found: Any) -> bool:
    return EVALUATIONS in found.Tags()["tensors"]


def _table(values: Mapping[str, Parameter]) -> str:
    """A table in Markdown, which TensorBoard draws."""
    rows = [f"| {_cell(name)} | {_cell(value)} |" for name, value in values.items()]
    return "\n".join(["| name | value |", "|---|---|", *rows])


def _cell(value: Parameter) -> str:
    return " ".join(str(value).replace("|", r"\|").split())
