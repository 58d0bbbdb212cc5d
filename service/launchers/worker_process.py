"""A worker on a machine of Ray or Dask: a process of `evolve worker`, which dies with the process that started it."""

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass

from pydantic import SecretStr

from service.launchers.worker_command import WorkerCommand
from service.process.bound_child import bound_command

LOG_LINES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEnd:
    """How a worker's process ended.

    Attributes:
        exit_code: of `evolve worker`; below 0: the signal that killed it.
        log: the last lines of its log.
    """

    exit_code: int
    log: tuple[str, ...]


class WorkerProcess:
    """A worker that Ray or Dask keeps as an actor. When the actor is released, its worker drains.

    The process is a child of a thread that waits for its end: the kernel kills it when that thread dies, and so when
    the machine's process of Ray or Dask does. The key reaches it through a pipe, and lies in no file.

    Args:
        command: the worker.
        key: of the scope `evaluations:lease`.
    """

    def __init__(self, command: WorkerCommand, key: SecretStr) -> None:
        self._log: deque[str] = deque(maxlen=LOG_LINES)
        started: Future[subprocess.Popen[str]] = Future()
        self._thread = threading.Thread(target=_work, args=(command, key, started, self._log), daemon=True)
        self._thread.start()
        self._process = started.result()

    def ending(self) -> WorkerEnd | None:
        """How the worker ended; None while it lives."""
        if self._thread.is_alive() or self._process.returncode is None:
            return None
        return WorkerEnd(exit_code=self._process.returncode, log=tuple(self._log))

    def drain(self) -> None:
        """Have it finish what it has, and end."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def __del__(self) -> None:
        if hasattr(self, "_process"):
            self.drain()


def _work(command: WorkerCommand, key: SecretStr, started: "Future[subprocess.Popen[str]]", log: "deque[str]") -> None:
    """Run a worker to its end. Its log goes on to this process's, where Ray and Dask show it."""
    try:
        process = _start(command, key)
    except OSError as error:
        started.set_exception(error)
        return
    started.set_result(process)
    with process:
        for line in process.stderr or ():
            log.append(line.rstrip("\n"))
            with suppress(OSError, ValueError):
                print(line, end="", file=sys.stderr, flush=True)  # noqa: T201 - a log, as the worker wrote it


def _start(command: WorkerCommand, key: SecretStr) -> subprocess.Popen[str]:
    reading, writing = os.pipe()
    try:
        with open(writing, "w", encoding="ascii") as pipe:
            pipe.write(key.get_secret_value())  # shorter than a pipe is deep
        words = command.words(f"/dev/fd/{reading}")
        return subprocess.Popen(
            bound_command([sys.executable, "-P", "-m", "service.cli.main", *words]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            pass_fds=(reading,),
        )
    finally:
        os.close(reading)
