"""The command `evolve runner`: drives the runs of a database until a signal has it let go of them."""

import asyncio
import os
import signal
from typing import TYPE_CHECKING

from service.bootstrap.runners import open_runner
from service.bootstrap.storage import open_storage
from service.cli import formatting
from service.cli.exit_codes import INTERRUPTED, OK
from service.cli.terminal import Terminal
from service.config import Settings, database_url, load_settings
from service.db.schema_upgrade import wait_for_schema
from service.process.liveness import leave_within, watched
from service.process.metrics_server import metrics_shown
from service.tracing import traces_sent

if TYPE_CHECKING:
    from service.db.storage import SqlStorage


def serve_runs(
    terminal: Terminal, *, runs: int | None, queue: str | None, db: str | None, metrics: tuple[int | None, str]
) -> int:
    """Drive runs until told to leave, with metrics at a port of an address, and return the exit code."""
    from service.telemetry import configure_logging

    configure_logging(terminal.verbosity, color=terminal.color)
    settings = load_settings()
    with metrics_shown(*metrics), traces_sent("evolve-runner"):
        wait_for_schema(database_url(settings, db))
        with open_storage(settings, db) as storage:
            return asyncio.run(_serve(terminal, settings, storage, runs, queue))


async def _serve(
    terminal: Terminal, settings: Settings, storage: "SqlStorage", runs: int | None, queue: str | None
) -> int:
    async with open_runner(settings, storage, runs=runs, queue=queue) as opened, watched():
        loop, leaving = asyncio.get_running_loop(), asyncio.Event()

        def hear() -> None:
            if leaving.is_set():
                os.write(2, b"\nevolve: quit. Other runners take over the runs when the leases expire\n")
                os._exit(INTERRUPTED)
            leaving.set()
            leave_within(words="quit without releasing all runs. Other runners take over when the leases expire")
            opened.runner.leave()
            terminal.note(
                "Stopping. The runs are released and other runners continue them. Press Ctrl-C again to quit now."
            )

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, hear)
        maximum = formatting.plural(opened.maximum, "run")
        terminal.note(
            f"driving up to {maximum} at once, evaluated by {opened.evaluates}. Press Ctrl-C to stop", style="dim"
        )
        await opened.run()
    return OK
