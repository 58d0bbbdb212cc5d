"""The service as processes: the API alone, or all of it in one process for a laptop."""

import asyncio
import errno
import os
import random
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import structlog
import uvicorn
from prometheus_client import Gauge

from service.api.local_key import LocalKey
from service.api.migration_wait import create_waiting_api
from service.api.one_time_login import OneTimeLogin
from service.api.request_deadlines import deadline_protocol
from service.bootstrap.api import open_parts
from service.bootstrap.evaluators import queue_url
from service.bootstrap.runners import open_runner
from service.bootstrap.storage import open_storage
from service.bootstrap.workers import open_local_worker
from service.client.local_service import announced
from service.config import ApiSettings, Settings
from service.db.secret import open_seal
from service.errors import StorageError, UnreachableError, UsageError
from service.keys import mint
from service.process.supervise import Part, together
from service.queue.memory import MemoryBroker
from service.queue.metrics import read_queue_gauges
from service.timestamps import SystemClock
from service.webhooks.deliver import WebhookDispatcher

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.applications import Starlette

    from service.api.dependencies import ApiDependencies
    from service.ports import Deletions
    from service.runner.runner import Runner
    from service.worker.worker import Worker

GAUGE_SECONDS = 5.0
DELETION_SECONDS = 2.0
QUEUED = Gauge("evolve_runs_queued", "Runs that no runner has taken up yet")
DRAIN_SECONDS = 5
# Longer than clients and proxies keep what they do not use: else a request may meet the end of its connection.
KEEP_ALIVE_SECONDS = 75

# The addresses that mean all of them, and how a browser of this machine names them.
_ON_THIS_MACHINE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - compared, not bound to

Create = Callable[["ApiDependencies"], "FastAPI"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the service listens.

    Attributes:
        elsewhere: whether another port will do where this one is taken.
    """

    host: str
    port: int
    elsewhere: bool = False

    @property
    def url(self) -> str:
        """Where a browser of this machine finds it."""
        host = _ON_THIS_MACHINE.get(self.host, self.host)
        return f"http://{host}:{self.port}"

    @property
    def everywhere(self) -> bool:
        """Whether it listens on all addresses of this machine."""
        return self.host in _ON_THIS_MACHINE

    @property
    def url_is_local(self) -> bool:
        """Whether `url` leads to this machine, wherever it is asked from."""
        return self.loopback or self.everywhere

    @property
    def loopback(self) -> bool:
        """Whether nobody but this machine reaches it."""
        return self.host in {"127.0.0.1", "::1", "localhost"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What a process serves, open and ready to run.

    Attributes:
        address: where it listens; with port 0, the port that it was given.
        login: the one-time address for a browser; None: keys open it.
        about: who scores programs, for people; empty: no runs are driven here.
        commands: why commands of this user do not find it on this machine; empty: they do; None: they are not to.
    """

    address: Address
    server: uvicorn.Server
    listener: socket.socket
    login: OneTimeLogin | None = None
    runner: "Runner | None" = None
    worker: "Worker | None" = None
    about: str = ""
    commands: str | None = None

    async def run(self) -> None:
        """Serve until `leave` is called; on return all runs are let go of."""
        parts: list[Part] = [partial(self.server.serve, [self.listener])]
        parts += [self.runner.run] if self.runner else []
        await together(parts, self.worker, self.leave)

    def leave(self) -> None:
        """Let go of all runs as they stand, and end when what is being answered is answered."""
        self.server.should_exit = True
        if self.runner:
            self.runner.leave()


@asynccontextmanager
async def open_api(
    settings: Settings, address: Address, create: Create, db: str | None, queue: str | None
) -> AsyncIterator[Service]:
    """The API alone; runs are driven and programs evaluated by other processes.

    Args:
        settings: of this installation.
        address: where to listen.
        create: makes the application of its parts.
        db: database to use instead of the one of the settings.
        queue: Redis to use instead of the one of the settings.

    Raises:
        UsageError: there is no secret, or the address cannot be had.
        StorageError: the database cannot be opened.
    """
    with _listening(address) as (listener, heard):
        async with open_parts(settings, db, queue=queue) as parts, _beside(parts, settings):
            yield Service(address=heard, server=http_server(create(parts), settings.api), listener=listener)


@asynccontextmanager
async def open_all(
    settings: Settings,
    address: Address,
    create: Create,
    db: str | None,
    queue: str | None,
    *,
    runs: int | None = None,
    slots: int | None = None,
) -> AsyncIterator[Service]:
    """API, runner and a worker in one process; with a queue, its workers evaluate.

    Raises:
        UsageError: the address cannot be had.
        StorageError: the database cannot be opened.
        RefusedError: this machine offers less isolation than is required.
    """
    login = OneTimeLogin() if address.loopback else None
    broker = MemoryBroker(clock=SystemClock()) if queue_url(settings, queue) is None else None
    with _listening(address) as (listener, heard), open_storage(settings, db) as storage:
        local_key = _local_key(settings, db, heard)
        async with AsyncExitStack() as stack:
            parts = await stack.enter_async_context(
                open_parts(settings, db, queue=queue, broker=broker, login=login, local_key=local_key)
            )
            await stack.enter_async_context(_beside(parts, settings))
            worker = None
            if broker is not None:
                worker = await stack.enter_async_context(open_local_worker(settings, broker, slots))
            opened = await stack.enter_async_context(
                open_runner(settings, storage, runs=runs, queue=queue, broker=broker)
            )
            commands = None if local_key is None else stack.enter_context(announced(storage.url, local_key))
            yield Service(
                address=heard,
                server=http_server(create(parts), settings.api),
                listener=listener,
                login=login,
                commands=commands,
                runner=opened.runner,
                worker=worker.worker if worker else None,
                about=opened.evaluates,
            )


def _local_key(settings: Settings, db: str | None, address: Address) -> LocalKey | None:
    """The key for commands of this user; None: nobody on this machine reaches the address by its loopback."""
    if not address.url_is_local:
        return None
    return LocalKey(url=address.url, text=mint(open_seal(settings, db)).text)


@asynccontextmanager
async def _beside(parts: "ApiDependencies", settings: Settings) -> AsyncIterator[None]:
    """What goes on beside the answering of requests: webhooks are told, gauges read, deleted runs removed."""
    dispatcher = WebhookDispatcher(parts.webhooks, parts.clock, draw=random.random, private=settings.webhooks.private)
    works: dict[str, Part] = {
        "webhooks": dispatcher.run,
        "gauges": partial(_read_gauges, parts),
        "deletions": partial(remove_deleted, parts.deletions),
    }
    tasks = [asyncio.create_task(keep_up(name, work)) for name, work in works.items()]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await dispatcher.close()


async def keep_up(name: str, work: Part, pause_seconds: float = GAUGE_SECONDS) -> None:
    """Do work that has no end, and that nobody awaits: what breaks it is told, and it is begun again after a while."""
    while True:
        try:
            await work()
        except Exception as error:  # whatever it is, webhooks shall go on without a restart
            log.error("service.broke", part=name, exc_info=error)
        await asyncio.sleep(pause_seconds)


async def _read_gauges(parts: "ApiDependencies") -> None:
    while True:
        with suppress(UnreachableError):
            await read_queue_gauges(parts.workers)
        with suppress(StorageError):
            QUEUED.set(await asyncio.to_thread(parts.queued))
        await asyncio.sleep(GAUGE_SECONDS)


async def remove_deleted(deletions: "Deletions", pause_seconds: float = DELETION_SECONDS) -> None:
    """Remove what is left of deleted runs, a short transaction at a time, as long as the process is there."""
    while True:
        try:
            while await asyncio.to_thread(deletions.advance):
                pass
        except StorageError as error:  # it is begun anew where it was broken off
            log.warning("deletion.broke_off", error=str(error))
        await asyncio.sleep(pause_seconds)


class _Server(uvicorn.Server):
    """A server that leaves signals to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def http_server(app: "Starlette", settings: ApiSettings) -> uvicorn.Server:
    """What serves the API over HTTP, with the deadlines and limits of an installation."""
    config = uvicorn.Config(
        app,
        http=deadline_protocol(settings.head_seconds, settings.body_seconds),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=DRAIN_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        h11_max_incomplete_event_size=64 * 1024,
    )
    return _Server(config)


@contextmanager
def answering_probes(settings: Settings, address: Address) -> Iterator[None]:
    """Answer `/healthz` and `/readyz` from a thread, for a process that waits for its schema.

    Raises:
        UsageError: the address cannot be had.
    """
    with _listening(address) as (listener, _):
        server = http_server(create_waiting_api(), settings.api)
        thread = threading.Thread(target=server.run, args=([listener],), name="probes")
        thread.start()
        try:
            yield
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def _listening(address: Address) -> Iterator[tuple[socket.socket, Address]]:
    """A socket at an address, so that a taken port is told before anything else is begun."""
    try:
        listener = _bound(address)
    except (OSError, OverflowError) as error:
        # Python adds the address to the words of the system.
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number and number > 0 else "unknown address"
        other = "--port" if number in (errno.EADDRINUSE, errno.EACCES) else "--host"
        raise UsageError(
            f"cannot listen on {address.host}:{address.port} ({reason}): choose another {other}"
        ) from error
    # Connections take it over. Else the second piece of an answer waits for the reader to confirm the first, which on a
    # connection that is kept takes it 40 ms; asyncio sees to that only for sockets that name their protocol.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with listener:
        yield listener, Address(host=address.host, port=listener.getsockname()[1])


def _bound(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, backlog=2048)
    except OSError as error:
        if not address.elsewhere or error.errno != errno.EADDRINUSE:
            raise
        return socket.create_server((address.host, 0), family=family, backlog=2048)
