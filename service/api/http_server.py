"""The HTTP server that an API is served by."""

import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from service.api.migration_wait import create_waiting_api
from service.api.request_deadlines import deadline_protocol
from service.config import ApiSettings
from service.net.listening import Address, listening

if TYPE_CHECKING:
    from starlette.types import ASGIApp

DRAIN_SECONDS = 5
# Longer than clients and proxies keep what they do not use: else a request may meet the end of its connection.
KEEP_ALIVE_SECONDS = 75
EndWaits = Callable[[], Awaitable[None]]


class _Server(uvicorn.Server):
    """A server that leaves signals to whoever runs it.

    Args:
        config: of it.
        end_waits: ends the answers that stay open. It is called when the server shuts down.
    """

    def __init__(self, config: uvicorn.Config, end_waits: EndWaits | None) -> None:
        super().__init__(config)
        self._end_waits = end_waits

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._end_waits is not None:
            await self._end_waits()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def http_server(app: "ASGIApp", settings: ApiSettings, end_waits: EndWaits | None = None) -> uvicorn.Server:
    """What serves an application over HTTP, with the deadlines and limits of an installation.

    Args:
        app: what answers.
        settings: the deadlines and limits.
        end_waits: ends the answers of the application that stay open. None: all of its answers end by themselves.
    """
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
    return _Server(config, end_waits)


@contextmanager
def answering_probes(settings: ApiSettings, address: Address) -> Iterator[None]:
    """Answer `/healthz` and `/readyz` from a thread, for a process that waits for its schema.

    Raises:
        UsageError: the address cannot be had.
    """
    with listening(address) as (listener, _):
        server = http_server(create_waiting_api(), settings)
        thread = threading.Thread(target=server.run, args=([listener],), name="probes")
        thread.start()
        try:
            yield
        finally:
            server.should_exit = True
            thread.join()
