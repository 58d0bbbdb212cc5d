"""The HTTP server that an API is served by."""

import threading
from collections.abc import Iterator
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


class _Server(uvicorn.Server):
    """A server that leaves signals to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def http_server(app: "ASGIApp", settings: ApiSettings) -> uvicorn.Server:
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
