"""Shows Prometheus what a process counts."""

from collections.abc import Iterator
from contextlib import contextmanager

from service.errors import UsageError

LOOPBACK = "127.0.0.1"


@contextmanager
def metrics_shown(port: int | None, host: str = LOOPBACK) -> Iterator[None]:
    """Serve `/metrics` at a port of an address; None or 0: nowhere.

    Raises:
        UsageError: the port cannot be had there.
    """
    if not port:
        yield
        return
    from prometheus_client import start_http_server

    try:
        server, thread = start_http_server(port, host)
    except OSError as error:
        reason = error.strerror or "unknown address"
        raise UsageError(f"metrics cannot be served at {host}:{port} ({reason}): name another port") from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
