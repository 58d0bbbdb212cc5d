"""The command `evolve worker`: evaluates for runs that go on elsewhere, until a signal drains it."""

import asyncio
import os
import signal

from service.bootstrap.workers import TaskSource, open_worker
from service.cli import formatting
from service.cli.exit_codes import INTERRUPTED, OK
from service.cli.terminal import Terminal
from service.config import Settings, load_settings
from service.process.liveness import watched
from service.process.metrics_server import metrics_shown
from service.tracing import traces_sent


def work(
    terminal: Terminal,
    place: TaskSource,
    *,
    pool: str,
    slots: int | None,
    devices: str | None,
    metrics_port: int,
    metrics_host: str,
) -> int:
    """Work until drained, and return the exit code."""
    from service.telemetry import configure_logging

    configure_logging(terminal.verbosity, color=terminal.color)
    with metrics_shown(metrics_port, metrics_host), traces_sent("evolve-worker"):
        return asyncio.run(_work(terminal, _settings(devices), place, pool, slots))


def _settings(devices: str | None) -> Settings:
    settings = load_settings()
    if devices is None:
        return settings
    named = tuple(filter(None, (word.strip() for word in devices.split(","))))
    return settings.model_copy(update={"sandbox": settings.sandbox.model_copy(update={"devices": named})})


async def _work(terminal: Terminal, settings: Settings, place: TaskSource, pool: str, slots: int | None) -> int:
    async with open_worker(settings, place, pool, slots) as worker, watched():
        heartbeat, drain = worker.heartbeat, worker.drain
        loop = asyncio.get_running_loop()

        def hear() -> None:
            if drain.is_set():
                os.write(2, b"\nevolve: quit. Other workers take over the unfinished evaluations\n")
                os._exit(INTERRUPTED)
            drain.set()
            terminal.note(
                "Draining. Started evaluations finish and no new ones are taken. Press Ctrl-C again to quit now."
            )

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, hear)
        runtime = f", in containers of {heartbeat.containers}" if heartbeat.containers else ""
        for device in heartbeat.devices:
            terminal.note(f"device {device.name}: {device}", style="dim")
        terminal.note(
            f"taking evaluations of pool {heartbeat.pool} on {formatting.plural(heartbeat.slots, 'slot')},"
            f" isolation {heartbeat.isolation}{runtime}; worker {heartbeat.worker_id}. Press Ctrl-C to drain",
            style="dim",
        )
        await worker.run()
    return OK
