"""The address that a process listens on, and a socket there."""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from service.errors import UsageError

BACKLOG = 2048
# The addresses that mean all of them, and how a browser of this machine names them.
_ON_THIS_MACHINE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - compared, not bound to


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the service listens.

    Attributes:
        elsewhere: whether another port will do where this one is taken.
        shared: whether other processes of this user may listen there too, if each of them says so. The system spreads
            the connections over them.
    """

    host: str
    port: int
    elsewhere: bool = False
    shared: bool = False

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


@contextmanager
def listening(address: Address) -> Iterator[tuple[socket.socket, Address]]:
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
    bound = partial(socket.create_server, family=family, backlog=BACKLOG, reuse_port=address.shared)
    try:
        return bound((address.host, address.port))
    except OSError as error:
        if not address.elsewhere or error.errno != errno.EADDRINUSE:
            raise
        return bound((address.host, 0))
