"""A way to a server that can fall silent: connections stay open and are accepted, and no byte comes through."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SilentProxy:
    """Hands bytes on between its clients and one server, until it is told to swallow them.

    Attributes:
        target: the server of new connections.
        port: where it listens on 127.0.0.1.
        silent: swallow whatever comes, in both directions.
        requests, answers: while it is not set, hold up what comes from clients, or from the server.
        swallowed: bytes that went nowhere.
    """

    def __init__(self, target: str | tuple[str, int]) -> None:
        self.target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        self._abandoned: set[socket.socket] = set()
        self.silent = False
        self.requests, self.answers = threading.Event(), threading.Event()
        self.let_through()
        self.swallowed = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.let_through()
        for end in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def let_through(self) -> None:
        """Hand on what was held up."""
        self.requests.set()
        self.answers.set()

    def abandon(self) -> None:
        """Swallow for ever what comes over the connections of now, and their ends; new ones are served."""
        self._abandoned.update(self._sockets)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX if isinstance(self.target, str) else socket.AF_INET)
                self._sockets += [client, server]
                try:
                    server.connect(self.target)
                except OSError:  # the server is away: its client hears so
                    client.close()
                    continue
                for one, other, passing in ((client, server, self.requests), (server, client, self.answers)):
                    threading.Thread(target=self._hand_on, args=(one, other, passing), daemon=True).start()

    def _hand_on(self, one: socket.socket, other: socket.socket, passing: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while part := one.recv(1 << 16):
                passing.wait()
                if self._swallows(one):
                    self.swallowed += len(part)
                else:
                    other.sendall(part)
        with contextlib.suppress(OSError):
            if not self._swallows(one):
                other.shutdown(socket.SHUT_WR)

    def _swallows(self, end: socket.socket) -> bool:
        return self.silent or end in self._abandoned


@contextmanager
def silent_proxy(target: str | tuple[str, int]) -> Iterator[SilentProxy]:
    """A proxy before a server: the path of its socket, or host and port."""
    proxy = SilentProxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
