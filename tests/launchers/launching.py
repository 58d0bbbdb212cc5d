"""`evolve workers launch` as a process that keeps workers alive, and its workers, wherever they are on this machine."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.command_line import EVOLVE
from tests.launchers.service import WorkerService
from tests.patience import PATIENCE_SECONDS


class Launch:
    """A launcher that runs, and what it says."""

    def __init__(self, service: WorkerService, words: Sequence[str], environment: dict[str, str]) -> None:
        self._service = service
        self.process = subprocess.Popen(
            [EVOLVE, "workers", "launch", *words], env={**os.environ, **environment}, cwd=service.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.log: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        self.log.extend(self.process.stderr or ())

    def workers(self) -> list[int]:
        """The processes of its workers: they name its service, whoever their parents are."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_text().split("\0")
                except OSError:
                    continue
                if "service.cli.main" in words and "worker" in words and self._service.url in words:
                    found.append(int(entry.name))
        return sorted(found)

    def wait_for_workers(self, count: int, besides: Sequence[int] = ()) -> list[int]:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(found := [pid for pid in self.workers() if pid not in besides]) != count:
            assert time.monotonic() < deadline, "".join(self.log)
            assert self.process.poll() is None or not count, "".join(self.log)
            time.sleep(0.2)
        return found

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        code = self.process.wait(PATIENCE_SECONDS)
        self._reader.join(PATIENCE_SECONDS)
        return code


@contextmanager
def launching(service: WorkerService, *words: str, environment: dict[str, str] | None = None) -> Iterator[Launch]:
    """A launcher; whatever becomes of it, neither it nor a worker of its is left."""
    launch = Launch(service, [*words, *service.words], environment or {})
    try:
        yield launch
    finally:
        launch.process.kill()
        launch.wait()
        launch.wait_for_workers(0)
