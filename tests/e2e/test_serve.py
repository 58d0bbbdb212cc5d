"""The service in one process, as `evolve serve` starts it."""

import json
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.evolving import Evolve, EvolveHere, make_problem
from tests.patience import PATIENCE_SECONDS

FIRST_PORT = 8000


@pytest.fixture
def evolve(tmp_path: Path) -> Evolve:
    return EvolveHere(tmp_path)


@contextmanager
def taken(port: int) -> Iterator[int]:
    """A port that somebody has, this test or anybody else."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            holder.bind(("127.0.0.1", port))
            holder.listen()
        except OSError:
            assert port, "any port can be had"
        yield holder.getsockname()[1] or port


@contextmanager
def serving(evolve: Evolve, *words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    process = evolve.start("serve", "--json", *words)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        yield json.loads(line)["url"], process
    finally:
        process.kill()
        process.communicate()


def test_where_no_port_is_named_and_the_usual_one_is_taken_a_free_one_is_served_and_named(evolve: Evolve) -> None:
    with taken(FIRST_PORT), serving(evolve) as (url, process):
        assert not url.endswith(f":{FIRST_PORT}")
        assert httpx.get(f"{url}/readyz", timeout=PATIENCE_SECONDS).status_code == 200
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0
        assert f"port {FIRST_PORT} is in use" in err


def test_a_port_that_was_named_and_is_taken_is_refused_in_a_sentence(evolve: Evolve) -> None:
    with taken(0) as port:
        said = evolve.said("serve", "--port", str(port))
    assert said.code == 2
    assert said.err == f"evolve: cannot listen on 127.0.0.1:{port} (Address already in use): choose another --port\n"


def test_an_address_that_is_not_of_this_machine_is_refused_in_a_sentence(evolve: Evolve) -> None:
    said = evolve.said("serve", "--host", "203.0.113.7")
    assert said.code == 2
    assert (
        said.err
        == "evolve: cannot listen on 203.0.113.7:8000 (Cannot assign requested address): choose another --host\n"
    )


def test_a_worker_that_is_drained_ends_no_service(evolve: Evolve, tmp_path: Path) -> None:
    key = with_key(evolve, tmp_path / "key")
    problem = make_problem(tmp_path / "toy")
    with serving(evolve) as (url, process), httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as client:
        client.headers["Authorization"] = f"Bearer {key}"
        (worker,) = until(lambda: client.get("/v1/workers").json()["items"])
        assert client.post(f"/v1/workers/{worker['worker_id']}/drain").status_code == 202
        until(lambda: client.get("/v1/workers").json()["items"] == [])
        words = ("run", str(problem), "--policy", "syntax", "--detach", "--server", url)
        run = evolve.call(*words, "--api-key-file", str(tmp_path / "key")).strip()
        until(lambda: "no worker takes" in str(client.get(f"/v1/runs/{run}").json()["waiting"]))
        assert process.poll() is None
        assert client.get("/readyz").status_code == 200
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0


def test_streams_and_waits_end_with_the_service(evolve: Evolve, tmp_path: Path) -> None:
    key = with_key(evolve, tmp_path / "key")
    problem = make_problem(tmp_path / "toy")
    with (
        serving(evolve) as (url, process),
        httpx.Client(base_url=url, timeout=PATIENCE_SECONDS, headers={"Authorization": f"Bearer {key}"}) as client,
        ThreadPoolExecutor() as threads,
    ):
        words = ("run", str(problem), "--policy", "syntax", "--evaluations", "1000000", "--detach", "--server", url)
        run = evolve.call(*words, "--api-key-file", str(tmp_path / "key")).strip()
        until(lambda: client.get(f"/v1/runs/{run}").json()["state"] == "running")
        waiting = threads.submit(client.get, f"/v1/runs/{run}", headers={"Prefer": "wait=60"})
        events = {"Accept": "text/event-stream"}
        with client.stream("GET", "/v1/events", headers=events) as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith("retry:")
            process.send_signal(signal.SIGTERM)
            list(lines)  # it ends as it should, which is no break
        assert waiting.result().json()["state"] in {"running", "queued"}
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert "Traceback" not in err


def with_key(evolve: Evolve, file: Path) -> str:
    """The key of an owner in a new database. It stands in the file, too."""
    evolve.environment["EVOLVE_API__SECRET"] = "s" * 40
    evolve.call("db", "upgrade")
    evolve.call("keys", "create", "owner", "-o", str(file))
    return file.read_text().strip()


def until(holds: Callable[[], Any]) -> Any:
    """What at last was found."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (held := holds()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return held
