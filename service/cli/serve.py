"""The commands `evolve serve` and `evolve api`."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial

from service.api.http_server import answering_probes
from service.app import create_app
from service.bootstrap.serving import Service, open_all, open_api
from service.cli.exit_codes import INTERRUPTED, OK
from service.cli.terminal import Terminal
from service.config import database_url, load_settings
from service.db.schema_upgrade import wait_for_schema
from service.net.listening import Address
from service.process.liveness import leave_within, watched
from service.process.metrics_server import metrics_shown
from service.tracing import traces_sent


def serve_all(
    terminal: Terminal,
    address: Address,
    *,
    db: str | None,
    queue: str | None,
    runs: int | None,
    slots: int | None,
    metrics_port: int | None,
) -> int:
    """Serve everything from this process until told to leave, and return the exit code."""
    settings = load_settings()
    service = open_all(settings, address, create_app, db, queue, runs=runs, slots=slots)
    return _run(
        terminal,
        service,
        address,
        "evolve",
        metrics_port,
        partial(wait_for_schema, database_url(settings, db), partial(answering_probes, settings.api, address)),
    )


def serve_api(
    terminal: Terminal, address: Address, *, db: str | None, queue: str | None, metrics_port: int | None
) -> int:
    """Serve the API until told to leave, and return the exit code."""
    settings = load_settings()
    service = open_api(settings, address, create_app, db, queue)
    # At a shared port, it would take requests from those that can answer them.
    meanwhile = nullcontext if address.shared else partial(answering_probes, settings.api, address)
    wait = partial(wait_for_schema, database_url(settings, db), meanwhile)
    return _run(terminal, service, address, "evolve-api", metrics_port, wait)


def _run(
    terminal: Terminal,
    service: AbstractAsyncContextManager[Service],
    address: Address,
    part: str,
    metrics_port: int | None,
    wait: Callable[[], None],
) -> int:
    from service.telemetry import configure_logging

    configure_logging(terminal.verbosity, color=terminal.color)
    with metrics_shown(metrics_port, address.host), traces_sent(part):
        wait()
        return asyncio.run(_serve(terminal, service, address))


async def _serve(terminal: Terminal, opening: AbstractAsyncContextManager[Service], asked: Address) -> int:
    async with opening as service, watched():
        loop, leaving = asyncio.get_running_loop(), asyncio.Event()

        def hear() -> None:
            if leaving.is_set():
                os.write(2, b"\nevolve: quit. The runs continue at the next start\n")
                os._exit(INTERRUPTED)
            leaving.set()
            leave_within(words="quit with work in progress. The runs continue at the next start")
            service.leave()
            terminal.note("Stopping. The runs continue at the next start. Press Ctrl-C again to quit now.")

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, hear)
        if asked.elsewhere and service.address.port != asked.port:
            terminal.note(f"port {asked.port} is in use", style="dim")
        _announce(terminal, service)
        await service.run()
    return OK


def _announce(terminal: Terminal, service: Service) -> None:
    url = service.address.url
    if terminal.as_json:
        login = f"{url}/login?token={service.login.token}" if service.login else None
        terminal.emit({"kind": "service.started", "url": url, "login": login})
        return
    where = f" and every other address, at port {service.address.port}" if service.address.everywhere else ""
    terminal.note(f"serving at {url}{where} (press Ctrl-C to stop)", style="dim")
    if service.about:
        terminal.note(f"this process drives runs, evaluated by {service.about}", style="dim")
    if service.login:
        terminal.note(f"Sign in once at: {url}/login?token={service.login.token}")
    if service.commands is not None:
        words = service.commands and f"Commands need --server and a key: {service.commands}"
        terminal.note(words or "Your commands on this machine use this service automatically", style="dim")
    terminal.note(f"Make a key for programs with: {terminal.command('keys create')}", style="dim")
