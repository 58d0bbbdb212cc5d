"""Ways to a server that can be cut, and that can lose the server without a word."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tests.faults import keeper
from tests.silent_proxy import SilentProxy, silent_proxy


class Way(Protocol):
    """How the processes of an installation reach one server.

    Attributes:
        host, port: where they find it.
    """

    host: str
    port: int

    def cut(self) -> None:
        """Let no byte through; connections stay, and what is sent is sent again."""

    def lose_answers(self) -> None:
        """Let through what clients send, and nothing of what the server answers."""

    def mend(self) -> None:
        """Let everything through again; what was held up is sent again."""

    def move(self) -> None:
        """Have the server at another address: at the old one nobody answers any more, not even to refuse."""


class NetworkWay:
    """A name and an address of the network of this namespace, which the keeper has come and vanish."""

    def __init__(self, network: "Network", number: int, name: str, port: int) -> None:
        self.host, self.port = f"{name}.internal", port
        self._network, self._number, self._moves = network, number, 0
        network.name(self.host, self._address)
        network.ask("have", self._address)

    @property
    def _address(self) -> str:
        return f"{keeper.ADDRESSES}.{self._number}.{1 + self._moves % 200}"

    def cut(self) -> None:
        """Take the server's address out of the network."""
        self._network.ask("lose", self._address)

    def lose_answers(self) -> None:
        """Have the server reached, at an address from which it cannot send."""
        self._network.ask("mute", self._address)

    def mend(self) -> None:
        """Put the server's address back."""
        self._network.ask("have", self._address)

    def move(self) -> None:
        """Give the server another address under its name; the old one is nobody's any more."""
        self.cut()
        self._moves += 1
        self._network.name(self.host, self._address)
        self.mend()


class Network:
    """The network of this namespace, as its keeper makes it."""

    def __init__(self, home: Path) -> None:
        self._control = socket.socket(fileno=int(os.environ[keeper.CONTROL]))
        self._hosts = home / keeper.HOSTS
        self._standing = self._hosts.read_text()
        self._names: dict[str, str] = {}

    def way(self, number: int, name: str, port: int) -> NetworkWay:
        """A way to a server that listens everywhere."""
        return NetworkWay(self, number, name, port)

    def ask(self, verb: str, address: str) -> None:
        """Have the keeper do something."""
        self._control.send(f"{verb} {address}".encode())
        answer = self._control.recv(1024).decode()
        if answer != keeper.OK:
            raise OSError(f"the keeper refuses: {answer}")

    def name(self, name: str, address: str) -> None:
        """Have a name mean an address from now on."""
        self._names[name] = address
        lines = "".join(f"{address} {name}\n" for name, address in self._names.items())
        with self._hosts.open("r+") as file:  # the same file: it is mounted over that of the machine
            file.write(self._standing + lines)
            file.truncate()


class ProxyWay:
    """A proxy, where there is no network of our own: what is cut is held up, and what has moved is swallowed."""

    def __init__(self, proxy: SilentProxy) -> None:
        self.host, self.port = "127.0.0.1", proxy.port
        self._proxy = proxy

    def cut(self) -> None:
        """Hold up what is sent."""
        self._proxy.requests.clear()
        self._proxy.answers.clear()

    def lose_answers(self) -> None:
        """Hold up what the server sends."""
        self._proxy.answers.clear()

    def mend(self) -> None:
        """Hand on what was held up."""
        self._proxy.let_through()

    def move(self) -> None:
        """Swallow for ever what is sent over the connections of now."""
        self._proxy.abandon()


def has_keeper() -> bool:
    """Whether this process has a keeper."""
    return keeper.CONTROL in os.environ


@contextmanager
def proxied(target: str | tuple[str, int]) -> Iterator[ProxyWay]:
    """A way to a server, through a proxy: to the path of its socket, or to its host and port."""
    with silent_proxy(target) as proxy:
        yield ProxyWay(proxy)
