"""What the suite of faults stands on: namespaces that leave nothing behind, ways that swallow, and wrong clocks."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests import services
from tests.e2e.evolving import descendants_of
from tests.faults.clocks import Clock, compiled
from tests.faults.isolation import isolated, refusal
from tests.faults.network import proxied
from tests.patience import PATIENCE_SECONDS

SWALLOWED = """
import socket, sys
from pathlib import Path
from tests.faults.network import Network
way = Network(Path(sys.argv[1])).way(1, "server", 7000)
with socket.create_server(("0.0.0.0", 7000)) as listener:
    client = socket.create_connection((way.host, way.port))
    server, _ = listener.accept()
    way.cut()
    server.settimeout(0.5)
    try:
        client.sendall(b"question")
        raise SystemExit(server.recv(99))
    except TimeoutError:
        pass
    try:
        socket.create_connection((way.host, way.port), timeout=0.5)
        raise SystemExit("connected")
    except TimeoutError:
        pass
    way.mend()
    server.settimeout(60)
    assert server.recv(99) == b"question"
    way.lose_answers()
    client.sendall(b"another")
    assert server.recv(99) == b"another"
    client.settimeout(0.5)
    try:
        server.sendall(b"lost")
        raise SystemExit(client.recv(99))
    except TimeoutError:
        pass
    way.mend()
    client.settimeout(60)
    assert client.recv(99) == b"lost"
    way.move()
    client.settimeout(0.5)
    try:
        server.sendall(b"answer")
        raise SystemExit(client.recv(99))
    except TimeoutError:
        pass
    socket.create_connection((way.host, way.port), timeout=60)
"""
FILLED = """
import errno, os, sys
from pathlib import Path
from tests.faults.keeper import DATABASE_FOLDER, DATABASE_MEGABYTES
path = Path(sys.argv[1]) / DATABASE_FOLDER / "file"
with path.open("wb", buffering=0) as file:
    try:
        for _ in range(2 * DATABASE_MEGABYTES):
            file.write(bytes(1 << 20))
    except OSError as error:
        raise SystemExit(error.errno != errno.ENOSPC)
raise SystemExit("it has no end")
"""
OWNER = """
import subprocess, sys
from pathlib import Path
from tests.faults.isolation import isolated
command = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"]
with isolated(command, Path(sys.argv[1])) as process:
    process.wait()
"""


@pytest.fixture
def home() -> Iterator[Path]:
    """An empty folder for namespaces, where they can be had."""
    if why := refusal():
        pytest.skip(f"no namespaces here: {why}")
    with services.scratch("evolve-faults-") as home:
        yield home


def said_in_namespaces(program: str, home: Path) -> str:
    """The errors of a program that was run in namespaces; empty: there was none."""
    with isolated([sys.executable, "-c", program, str(home)], home, subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.read().decode()
        return said if process.wait(PATIENCE_SECONDS) else ""


def test_a_way_that_is_cut_swallows_and_one_that_moves_leaves_its_connections_without_a_word(home: Path) -> None:
    assert said_in_namespaces(SWALLOWED, home) == ""


def test_the_database_has_a_disk_of_its_own_that_gets_full(home: Path) -> None:
    assert said_in_namespaces(FILLED, home) == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_namespaces_and_all_that_is_in_them_end_with_whoever_made_them(number: signal.Signals, home: Path) -> None:
    mounts = Path("/proc/self/mountinfo").read_text()
    with subprocess.Popen([sys.executable, "-c", OWNER, str(home)], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.read(1) == b"1"
        below = {pid: started(pid) for pid in descendants_of(owner.pid)}
        assert len(below) >= 3
        owner.send_signal(number)
        owner.wait(PATIENCE_SECONDS)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (left := [pid for pid, at in below.items() if at and started(pid) == at]) and time.monotonic() < deadline:
        time.sleep(0.05)  # what other processes do is only seen by looking
    assert left == []
    assert Path("/proc/self/mountinfo").read_text() == mounts
    assert list(home.iterdir()) == []


def started(pid: int) -> str:
    """When a living process began; empty: it has ended."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[19] if fields[0] != "Z" else ""
    return ""


def test_a_proxy_that_is_cut_holds_up_and_one_that_moves_swallows_for_ever(tmp_path: Path) -> None:
    with services.scratch("evolve-way-") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen()
        with proxied(str(folder / "socket")) as way, socket.create_connection((way.host, way.port)) as client:
            server, _ = listener.accept()
            way.cut()
            client.sendall(b"question")
            server.settimeout(0.5)
            with pytest.raises(TimeoutError):
                server.recv(99)
            way.mend()
            server.settimeout(PATIENCE_SECONDS)
            assert server.recv(99) == b"question"
            way.lose_answers()
            client.sendall(b"another")
            assert server.recv(99) == b"another"
            server.sendall(b"late")
            client.settimeout(0.5)
            with pytest.raises(TimeoutError):
                client.recv(99)
            way.mend()
            client.settimeout(PATIENCE_SECONDS)
            assert client.recv(99) == b"late"
            way.move()
            server.sendall(b"answer")
            server.close()
            client.settimeout(0.5)
            with pytest.raises(TimeoutError):
                client.recv(99)
            with socket.create_connection((way.host, way.port)) as another:
                accepted, _ = listener.accept()
                accepted.sendall(b"hello")
                assert another.recv(99) == b"hello"
                accepted.close()


def test_a_clock_of_a_process_is_set_while_it_runs(tmp_path: Path) -> None:
    library = compiled(tmp_path)
    if library is None:
        pytest.skip("there is no C compiler")
    clock = Clock(library, tmp_path / "clock")
    program = "import time\nwhile input() == 'tell': print(time.time(), flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, **clock.environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        for offset in (0, 3600, -3600, 0):
            clock.set(offset)
            began = time.time()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("tell\n")
            process.stdin.flush()
            told = float(process.stdout.readline())
            assert began - 1 <= told - offset <= time.time() + 1
        process.communicate("enough\n")
