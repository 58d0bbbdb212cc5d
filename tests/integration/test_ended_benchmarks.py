"""A benchmark that is ended takes the processes that it started with it."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

BENCHMARK = """
import sys
from pathlib import Path

from benchmarks.harness import arguments
from benchmarks.peers import run_peer
from benchmarks.policy_server import policy_server

folder = Path(sys.argv[1])
arguments("")
with policy_server() as url:
    print(url, flush=True)
    run_peer(["sh", "-c", f"echo $$ > {folder / 'peer'}; exec sleep 600"], folder / "log", 600.0)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_benchmark_that_is_ended_leaves_no_process(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-c", BENCHMARK, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as benchmark:
        assert benchmark.stdout is not None
        address = urlsplit(benchmark.stdout.readline().strip())
        peer = _peer(tmp_path / "peer")
        benchmark.send_signal(getattr(signal, name))
        benchmark.wait(60.0)
    with pytest.raises(ProcessLookupError):
        os.kill(peer, 0)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address.hostname or "", address.port or 0))


def test_a_policy_server_ends_without_a_trace_when_its_benchmark_is_killed(tmp_path: Path) -> None:
    with (tmp_path / "errors").open("w") as errors:
        command = [sys.executable, "-c", BENCHMARK, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as benchmark:
            assert benchmark.stdout is not None
            benchmark.stdout.readline()
            peer = _peer(tmp_path / "peer")
            benchmark.kill()
            benchmark.stdout.read()  # ends when the server, which has it too, has ended
    os.killpg(peer, signal.SIGKILL)
    assert (tmp_path / "errors").read_text() == ""


def _peer(path: Path) -> int:
    for _ in range(600):
        if path.exists() and (text := path.read_text()):
            return int(text)
        time.sleep(0.1)
    raise AssertionError("no peer within a minute")
