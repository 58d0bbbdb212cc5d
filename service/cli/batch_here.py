"""A batch in this process: its runs driven side by side until they rest, or a signal pauses them."""

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from service.bootstrap.evaluators import queue_url
from service.bootstrap.runners import open_batch_runner
from service.bootstrap.sites import BatchSite
from service.cli import formatting
from service.cli.batch_progress import BatchProgress, opening, rests
from service.cli.exit_codes import INTERRUPTED
from service.cli.own_trainer import trainer_here
from service.cli.problem import show_warnings
from service.cli.terminal import Terminal
from service.config import load_settings
from service.errors import RefusedError, StorageError, UsageError
from service.ports import ENDED, PAUSED, RUNNING
from service.process.liveness import watched
from service.sandbox.examination import require_sandbox
from service.sandbox.permissions import read_level
from service.tracing import traces_sent
from service.usecases.batches import StoredBatches
from service.usecases.run_learning import backends_of

if TYPE_CHECKING:
    from service.db.storage import SqlStorage
    from service.schemas.batches import Batch

POLL_SECONDS = 0.5
RESERVE_EVERY = 8  # polls: three times before others may take a run


def refuse_weak_isolation(require_isolation: str | None) -> None:
    """Refuse to make runs of which none could run here.

    Raises:
        RefusedError: this machine offers less isolation than is required.
        UsageError: that is not a level.
    """
    settings = load_settings()
    if queue_url(settings, None) is not None:
        if require_isolation is not None:
            raise UsageError("workers set their own isolation: set sandbox.require where you start them")
        return
    required = {"require": read_level(require_isolation or settings.sandbox.own)}
    try:
        asyncio.run(require_sandbox(settings.sandbox.model_copy(update=required)))
    except RefusedError as error:
        advice = "allow a lower level with --require-isolation or --allow-unsandboxed"
        raise RefusedError(f"{error}; {advice}") from error


def drive_batch(
    terminal: Terminal, site: BatchSite, batch: "Batch", parallel: int | None, require_isolation: str | None
) -> bool:
    """Drive the runs of a batch until none goes on; whether a signal ended that.

    Runs that were paused go on, whoever paused them.
    """
    from service.telemetry import configure_logging

    assert site.storage is not None
    assert isinstance(site.batches, StoredBatches)
    configure_logging(terminal.verbosity, color=terminal.color)
    if all(run.state in ENDED for run in site.batches.runs(batch.id)):
        return False
    site.batches.reserve(batch.id)
    try:
        site.batches.tell_drivers(batch.id, RUNNING)
        learns = backends_of(site.batches.runs(batch.id))
        with traces_sent("evolve"), trainer_here(terminal, load_settings(), site.storage, wanted=learns):
            drive = _Drive(terminal, site.batches, batch)
            return asyncio.run(drive.until_rest(site.storage, parallel, require_isolation))
    finally:
        with suppress(StorageError):
            site.batches.give_back(batch.id)


class _Drive:
    """One sitting at a batch."""

    def __init__(self, terminal: Terminal, batches: StoredBatches, batch: "Batch") -> None:
        self._terminal, self._batches, self._batch = terminal, batches, batch
        self._stopping = asyncio.Event()
        self._warned: set[str] = set()

    async def until_rest(self, storage: "SqlStorage", parallel: int | None, require_isolation: str | None) -> bool:
        settings = load_settings()
        runs = await asyncio.to_thread(self._batches.runs, self._batch.id)
        going = max(1, sum(run.state not in ENDED for run in runs))
        maximum = min(going, parallel or min(len(os.sched_getaffinity(0)), settings.runner.runs))
        opening_runner = open_batch_runner(
            settings, storage, self._batch.id, runs=maximum, require_isolation=require_isolation, warn=self._warn
        )
        async with opening_runner as opened, watched():
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self._hear)
            self._terminal.note(
                f"{opening(self._batch, runs)}, {maximum} at once in this process. Press Ctrl-C to stop", style="dim"
            )
            driving = asyncio.create_task(opened.run())
            watching = asyncio.create_task(self._watch(BatchProgress(self._terminal, runs)))
            try:
                await asyncio.wait([driving, watching], return_when=asyncio.FIRST_COMPLETED)
            finally:
                opened.runner.leave()
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
            await driving
            if not watching.cancelled():
                watching.result()
        return self._stopping.is_set()

    async def _watch(self, progress: BatchProgress) -> None:
        """Say how far the runs are, until none goes on; once it is to stop, until all are paused."""
        told, looks = False, 0
        while True:
            with suppress(StorageError):  # the runner waits for the database as well, and says so
                if looks % RESERVE_EVERY == 0:
                    await asyncio.to_thread(self._batches.reserve, self._batch.id)
                if self._stopping.is_set() and not told:
                    await asyncio.to_thread(self._batches.tell_drivers, self._batch.id, PAUSED)
                    told = True
                runs = await asyncio.to_thread(self._batches.runs, self._batch.id)
                progress.show(runs)
                if all(map(rests, runs)):
                    return
            looks += 1
            await asyncio.sleep(POLL_SECONDS)

    def _hear(self) -> None:
        """The first signal has all runs paused, the second leaves at once; all that was shown is stored."""
        if self._stopping.is_set():
            again = self._terminal.command(f"batch {formatting.short(self._batch.id)}")
            os.write(2, f"\nevolve: quit. Continue with: {again}\n".encode())
            os._exit(INTERRUPTED)
        self._stopping.set()
        self._terminal.note(
            "Stopping. All runs are paused and results so far are saved. Press Ctrl-C again to quit now."
        )

    def _warn(self, warnings: Sequence[str]) -> None:
        fresh = [warning for warning in warnings if warning not in self._warned]
        self._warned.update(fresh)
        show_warnings(self._terminal, fresh)
