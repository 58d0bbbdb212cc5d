"""The lines of `evolve trainer`: steps and checkpoints of a job are printed now and then."""

from datetime import UTC, datetime

import pytest

from service.cli.terminal import Terminal
from service.cli.trainer import REPEAT_SECONDS, JobLines
from service.ports import TrainingJob


def test_steps_and_checkpoints_are_printed_at_most_every_30_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    job = TrainingJob(id="trn_1", tenant="default", policy="walker", request={}, runs=[], created_by="", created_at=now)
    seconds = 0.0
    lines = JobLines(Terminal(), clock=lambda: seconds)
    for step in range(121):
        seconds = float(step)
        progress = {"stage": "count", "step": step, "steps": 120, "figures": {"loss": 0.5}}
        lines.event(job, "training.checkpoint", {"stage": "count", "step": step})
        lines.event(job, "training.progress", progress)
    printed = [line.split(" walker ")[1] for line in capsys.readouterr().err.splitlines()]
    shown = range(0, 121, int(REPEAT_SECONDS))
    assert REPEAT_SECONDS == 30
    assert [line for line in printed if line.startswith("checkpoint")] == [f"checkpoint: count {n}" for n in shown]
    assert [line.split()[2] for line in printed if line.startswith("progress")] == [f"{n}/120" for n in shown]
    lines.event(job, "training.started", {"checkpoint": {}})
    lines.event(job, "training.checkpoint", {"stage": "count", "step": 1})
    assert len(capsys.readouterr().err.splitlines()) == 2
