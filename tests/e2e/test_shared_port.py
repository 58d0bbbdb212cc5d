"""Several processes of `evolve api` listen at one port."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from tests.e2e.evolving import Evolve
from tests.patience import PATIENCE_SECONDS
from tests.services import PostgresServer, free_port


@pytest.fixture
def evolve(tmp_path: Path) -> Evolve:
    made = Evolve(tmp_path)
    made.environment["EVOLVE_API__SECRET"] = "s" * 40
    made.call("db", "upgrade")
    return made


@contextmanager
def api(evolve: Evolve, port: int, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A process that listens at a port already."""
    process = evolve.start("api", "--port", str(port), "--json", *words)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        assert json.loads(line)["url"] == f"http://127.0.0.1:{port}"
        yield process
    finally:
        process.kill()
        process.communicate()


def ask(port: int, times: int) -> None:
    """Make so many requests, each over a connection of its own."""
    for _ in range(times):
        assert status(port) == 200


def status(port: int) -> int:
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)) as connection:
        connection.request("GET", "/healthz")
        return connection.getresponse().status


def answered(metrics_port: int) -> float:
    """Requests that a process has answered."""
    text = httpx.get(f"http://127.0.0.1:{metrics_port}/metrics", timeout=PATIENCE_SECONDS).text
    return sum(float(found) for found in re.findall(r"^evolve_http_requests_total\{.*\} (\S+)$", text, re.MULTILINE))


def test_two_processes_share_the_requests_of_a_port_and_one_goes_on_alone(evolve: Evolve) -> None:
    port, first_metrics, second_metrics = free_port(), free_port(), free_port()
    shared = ("--share-port", "--metrics-port")
    with (
        api(evolve, port, *shared, str(first_metrics)) as first,
        api(evolve, port, *shared, str(second_metrics)),
    ):
        ask(port, 64)
        assert answered(first_metrics) + answered(second_metrics) == 64
        assert min(answered(first_metrics), answered(second_metrics)) > 0
        first.kill()
        first.wait(PATIENCE_SECONDS)
        before = answered(second_metrics)
        ask(port, 16)
        assert answered(second_metrics) == before + 16


def test_a_process_that_waits_for_its_schema_leaves_a_shared_port_to_the_others(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    name, port = f"empty_shared_{os.getpid()}", free_port()
    evolve = Evolve(tmp_path)
    evolve.environment["EVOLVE_DATABASE__URL"] = postgres_server.create_database(name)
    evolve.environment["EVOLVE_API__SECRET"] = "s" * 40
    waiting = evolve.start("api", "--port", str(port), "--share-port")
    try:
        assert waiting.stderr is not None
        assert "evolve db upgrade" in waiting.stderr.readline()
        with pytest.raises(ConnectionRefusedError):
            status(port)
        evolve.call("db", "upgrade")
        assert any("serving at" in line for line in iter(waiting.stderr.readline, ""))
        assert status(port) == 200
    finally:
        waiting.kill()
        waiting.communicate()
        postgres_server.drop_database(name)
