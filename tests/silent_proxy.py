"""A way to a server that can fall silent: connections stay open and are accepted, and no byte comes through."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SilentProxy:
    """Hands bytes on between its clients and one server, until it is told to swallow them.

    Attributes:
        port: where it listens on 127.0.0.1.
        silent: swallow whatever comes, in both directions.
        swallowed: bytes that went nowhere.
    """

    def __init__(self, target: str | tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        self.silent = False
        self.swallowed = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for end in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX if isinstance(self._target, str) else socket.AF_INET)
                server.connect(self._target)
                self._sockets += [client, server]
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._hand_on, args=(one, other), daemon=True).start()

    def _hand_on(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := one.recv(1 << 16):
                if self.silent:
                    self.swallowed += len(part)
                else:
                    other.sendall(part)
            if not self.silent:
                other.shutdown(socket.SHUT_WR)


@contextmanager
def silent_proxy(target: str | tuple[str, int]) -> Iterator[SilentProxy]:
    """A proxy before a server: the path of its socket, or host and port."""
    proxy = SilentProxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
