"""A worker's process on a machine of a cluster: its key lies in no file, its end is told, and it outlives nobody."""

import os
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pydantic import SecretStr

from service.launchers.worker_command import WorkerCommand
from service.launchers.worker_process import WorkerEnd, WorkerProcess
from tests.patience import PATIENCE_SECONDS
from tests.services import free_port

KEY = SecretStr("evo_of_nobody")
PARENT = """
import sys, time
from pydantic import SecretStr
from service.launchers.worker_command import WorkerCommand
from service.launchers.worker_process import WorkerProcess
worker = WorkerProcess(WorkerCommand(server=sys.argv[1], slots=1, pool="cpu"), SecretStr("evo_of_nobody"))
print(worker._process.pid, flush=True)
time.sleep(600)
"""


def command(port: int) -> WorkerCommand:
    return WorkerCommand(server=f"http://127.0.0.1:{port}", slots=1, pool="cpu")


def ending(worker: WorkerProcess) -> WorkerEnd:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (end := worker.ending()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return end


def test_the_end_of_a_worker_is_told_with_its_last_words() -> None:
    end = ending(WorkerProcess(command(free_port()), KEY))
    assert end.exit_code == 6
    assert "the service does not answer" in end.log[-1]
    assert pickle.loads(pickle.dumps(end)) == end


def test_a_worker_that_is_drained_or_released_ends() -> None:
    worker = WorkerProcess(command(free_port()), KEY)
    worker.drain()
    assert ending(worker).exit_code != 0  # it had not begun to work
    worker.drain()  # once more, after its end
    released = WorkerProcess(command(free_port()), KEY)
    process = released._process
    del released
    assert process.wait(PATIENCE_SECONDS) != 0


def test_the_key_is_neither_among_the_words_nor_in_the_environment() -> None:
    worker = WorkerProcess(command(free_port()), KEY)
    for name in ("cmdline", "environ"):
        assert KEY.get_secret_value() not in Path(f"/proc/{worker._process.pid}/{name}").read_text()
    assert KEY.get_secret_value() not in repr(KEY)
    ending(worker)


def test_a_worker_dies_with_the_process_that_started_it() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, f"http://127.0.0.1:{free_port()}"], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    with parent:
        pid = int(parent.stdout.readline())
        waited = time.monotonic() + PATIENCE_SECONDS
        while not re.search(r"-m\0service.cli.main\0worker", words := Path(f"/proc/{pid}/cmdline").read_text()) or (
            "bound_child" in words
        ):
            assert time.monotonic() < waited
        os.kill(pid, signal.SIGSTOP)  # so that it does not end by itself
        parent.kill()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while Path(f"/proc/{pid}").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_process_that_cannot_be_started_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(FileNotFoundError):
        WorkerProcess(command(free_port()), KEY)
