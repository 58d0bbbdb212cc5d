"""The command `evolve trainer`: takes the training jobs of a database until a signal has it let go of them."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from service.bootstrap.storage import open_storage
from service.bootstrap.trainers import make_backends, make_trainer
from service.cli import formatting
from service.cli.exit_codes import INTERRUPTED, OK
from service.cli.terminal import Terminal, plain
from service.cli.training_events import event_text
from service.config import database_url, load_settings
from service.db.schema_upgrade import wait_for_schema
from service.ports import TrainingJob
from service.trainer.job_lease import TrainerObserver

# Between two lines of a kind that a job repeats.
REPEAT_SECONDS = 30.0
_REPEATED = ("training.progress", "training.checkpoint")


def serve_jobs(terminal: Terminal, *, folder: Path | None, threads: int, save_every: int | None, db: str | None) -> int:
    """Train until told to leave, and return the exit code."""
    from service.telemetry import configure_logging

    configure_logging(terminal.verbosity, color=terminal.color)
    settings = load_settings()
    wait_for_schema(database_url(settings, db))
    with open_storage(settings, db) as storage:
        backends = make_backends(settings, threads=threads, save_every=save_every)
        trainer = make_trainer(settings, storage, folder=folder, backends=backends, observer=JobLines(terminal))
        heard: list[int] = []

        def hear(number: int, _: FrameType | None) -> None:
            if heard:
                os.write(2, b"\nevolve: quit. Another trainer takes over the job when the lease expires\n")
                os._exit(INTERRUPTED)
            heard.append(number)
            trainer.leave()
            job = " Another trainer continues the job from its checkpoint." if trainer.busy else ""
            terminal.note(f"Stopping.{job} Press Ctrl-C to quit now.")

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, hear)
        for name, reason in trainer.reasons.items():
            terminal.note(f"no jobs of the back end {plain(name)}: {plain(reason)}", style="yellow")
        names = ", ".join(map(plain, trainer.able)) or "none"
        terminal.note(f"taking training jobs of the back ends: {names}. Press Ctrl-C to stop", style="dim")
        trainer.run()
    return OK


class JobLines(TrainerObserver):
    """Prints a line for each event of the jobs that a trainer works on, and repeated kinds of events less often.

    Args:
        terminal: where lines go, unless it is quiet.
        clock: seconds.
    """

    def __init__(self, terminal: Terminal, clock: Callable[[], float] = time.monotonic) -> None:
        self._terminal, self._clock = terminal, clock
        self._printed: dict[str, float] = {}

    def event(self, job: TrainingJob, kind: str, payload: Mapping[str, Any]) -> None:
        """Print an event. Steps and checkpoints are printed at most every 30 seconds each."""
        if kind == "training.started":
            self._printed.clear()
        now = self._clock()
        if kind in _REPEATED:
            if now - self._printed.get(kind, -REPEAT_SECONDS) < REPEAT_SECONDS:
                return
            self._printed[kind] = now
        self._terminal.note(
            f"{time.strftime('%H:%M:%S')} {formatting.short(job.id)} {plain(job.policy)} {event_text(kind, payload)}"
        )

    def waiting(self) -> None:
        """Say that no further job is queued."""
        self._terminal.note("no further job is queued. Waiting for one", style="dim")
