"""A Redis that a test may end and start again."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import redis

from tests.services import find_redis


class Server:
    """A Redis of this test's own, which it may end and start again."""

    def __init__(self, home: Path) -> None:
        self._home, self._socket = home, home / "redis.sock"
        self.url = f"unix://{self._socket}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        binary = find_redis()
        assert binary is not None
        words = [str(binary), "--port", "0", "--unixsocket", str(self._socket), "--save", "", "--dir", str(self._home)]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        with redis.Redis.from_url(self.url) as client:
            until = time.monotonic() + 20
            while time.monotonic() < until:
                with suppress(redis.ConnectionError):
                    client.ping()
                    return
        raise AssertionError("Redis does not start")

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()


@contextmanager
def running() -> Iterator[Server]:
    # Not in the test's own folder: the path of a socket has at most 107 characters.
    with TemporaryDirectory(prefix="evolve-redis-", dir="/tmp") as home:
        server = Server(Path(home))
        try:
            server.start()
            yield server
        finally:
            server.kill()
