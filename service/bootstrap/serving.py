"""The service as processes: the API alone, or all of it in one process for a laptop."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import structlog
import uvicorn

from service.api.connection_limits import end_waits
from service.api.http_server import http_server
from service.api.local_key import LocalKey
from service.api.one_time_login import OneTimeLogin
from service.bootstrap.api import open_parts
from service.bootstrap.evaluators import queue_url
from service.bootstrap.runners import open_runner
from service.bootstrap.storage import open_storage
from service.bootstrap.workers import open_local_worker
from service.client.local_service import announced
from service.config import Settings
from service.db.secret import open_seal
from service.keys import mint
from service.net.listening import Address, listening
from service.process.supervise import Part, keep_up, together
from service.queue.memory import MemoryBroker
from service.queue.metrics import keep_gauges
from service.timestamps import SystemClock
from service.usecases.maintenance import keep_partitions, remove_deleted
from service.webhooks.deliver import WebhookDispatcher

if TYPE_CHECKING:
    from fastapi import FastAPI

    from service.api.dependencies import ApiDependencies
    from service.runner.runner import Runner
    from service.worker.worker import Worker

GAUGE_SECONDS = 5.0
Create = Callable[["ApiDependencies"], "FastAPI"]

log = structlog.get_logger(__name__)


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
    with listening(address) as (listener, heard):
        async with open_parts(settings, db, queue=queue) as parts, _beside(parts, settings):
            yield Service(address=heard, server=_server(create(parts), settings), listener=listener)


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
    with listening(address) as (listener, heard), open_storage(settings, db) as storage:
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
                server=_server(create(parts), settings),
                listener=listener,
                login=login,
                commands=commands,
                runner=opened.runner,
                worker=worker,
                about=opened.evaluates,
            )


def _server(app: "FastAPI", settings: Settings) -> uvicorn.Server:
    return http_server(app, settings.api, partial(end_waits, app))


def _local_key(settings: Settings, db: str | None, address: Address) -> LocalKey | None:
    """The key for commands of this user; None: nobody on this machine reaches the address by its loopback."""
    if not address.url_is_local:
        return None
    return LocalKey(url=address.url, text=mint(open_seal(settings, db)).text)


@asynccontextmanager
async def _beside(parts: "ApiDependencies", settings: Settings) -> AsyncIterator[None]:
    """What goes on beside the answering of requests: webhooks, gauges, what deleted runs leave, partitions."""
    dispatcher = WebhookDispatcher(parts.webhooks, parts.clock, draw=random.random, private=settings.webhooks.private)
    works: dict[str, Part] = {
        "webhooks": dispatcher.run,
        "gauges": partial(keep_gauges, parts.workers, parts.queued, GAUGE_SECONDS),
        "deletions": partial(remove_deleted, parts.deletions),
        "partitions": partial(keep_partitions, parts.partitions),
    }
    tasks = [asyncio.create_task(keep_up(name, work, GAUGE_SECONDS)) for name, work in works.items()]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await dispatcher.close()
