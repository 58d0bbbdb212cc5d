"""Processes of an installation that can be killed, stalled and started again; the roles of Evolve are such."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from tests import services
from tests.command_line import EVOLVE
from tests.e2e.evolving import children_of, descendants_of
from tests.faults.clocks import Clock
from tests.faults.network import Way

START_SECONDS = 60.0
POLL_SECONDS = 0.05


class Victim(Protocol):
    """Something that a fault befalls.

    Attributes:
        kind: what it is, as the report counts it.
        pid: its process; 0: it has none.
        idle: whether it is down or stalled because of a fault.
    """

    kind: str
    idle: bool

    @property
    def pid(self) -> int: ...

    def kill(self) -> None:
        """End it and all that is its own, as a loss of power would."""

    def start(self) -> None:
        """Start it on what it left."""


def pids_of(victim: Victim) -> list[int]:
    """Every process of its own, the first of them first."""
    return [victim.pid, *sorted(descendants_of(victim.pid))] if victim.pid else []


def send(pids: Sequence[int], number: signal.Signals) -> None:
    """Send processes a signal; those that are gone need none."""
    for pid in filter(None, pids):  # 0 would be this process and all around it
        with suppress(ProcessLookupError):
            os.kill(pid, number)


class Role:
    """A command of Evolve that goes on until it is told to end, and is started again whenever it has ended.

    Attributes:
        clock: its own, where it has one that can be wrong.
        way: on which some others reach it; it can be cut.
        starts: how often it was started.
        complaints: what it must not have done, a line each.
        refusals: why it did not start, one line each time: what it stands on was away.

    Args:
        prefix: words of a command that starts it as its only child.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        words: Sequence[str],
        ready: str,
        environment: Mapping[str, str],
        folder: Path,
        prefix: Sequence[str] = (),
        clock: Clock | None = None,
        way: Way | None = None,
    ) -> None:
        self.kind, self.name = kind, name
        self.idle = False
        self.clock, self.way = clock, way
        self.starts = 0
        self.complaints: list[str] = []
        self.refusals: list[str] = []
        self.log = folder / f"{name}.log"
        self._words, self._ready, self._environment, self._prefix = words, ready, environment, prefix
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0
        self._is_ready, self._whole = False, True
        self._again = 0.0

    @property
    def pid(self) -> int:
        if self._process is None or not self._prefix:
            return self._process.pid if self._process else 0
        return next(iter(children_of(self._process.pid)), 0)

    @property
    def ready(self) -> bool:
        """Whether it has said since its start that it is at work."""
        if self._process is not None and not self._is_ready:
            self._is_ready = self._ready in self.said()
        return self._is_ready

    def said(self) -> str:
        """What it has written since its start."""
        with self.log.open(encoding="utf-8", errors="replace") as file:
            file.seek(self._began)
            return file.read()

    def start(self) -> None:
        with self.log.open("ab") as file:
            self._began, self._is_ready = file.tell(), False
            self._process = subprocess.Popen(
                [*services.ending_with_us(signal.SIGKILL), *self._prefix, EVOLVE, "-v", *self._words],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env={**self._environment, **(self.clock.environment if self.clock else {})},
                start_new_session=True,
            )
        self.starts += 1

    def kill(self) -> None:
        # Alone, as for want of memory, and with all below it, as at the end of a container, in turn.
        send(pids_of(self) if self._whole else [self.pid], signal.SIGKILL)
        self._whole = not self._whole
        close(self._process)
        self._process = None

    def look_after(self) -> None:
        """Start it again when it has ended by itself, as a supervisor does."""
        if self.idle or (self._process is not None and self._process.poll() is None):
            return
        if self._process is not None:
            self._note_end(self._process.returncode)
            self._process, self._again = None, time.monotonic() + 0.5
        elif time.monotonic() >= self._again:
            self.start()

    def _note_end(self, code: int) -> None:
        lines = self.said().strip().splitlines() or ["nothing"]
        if self.ready or "Traceback" in self.said():
            self.complaints.append(f"{self.name} ended by itself with {code}, and said: {lines[-1]}")
        else:
            self.refusals.append(f"{self.name}: {lines[-1]}")

    def await_ready(self) -> None:
        """Wait until it is at work, however often it must be started for that."""
        deadline = time.monotonic() + START_SECONDS
        while not self.ready:
            self.look_after()
            assert time.monotonic() < deadline, f"{self.name} does not start: {self.said()[-2000:]}"
            time.sleep(POLL_SECONDS)  # what other processes do is only seen by looking

    def end(self, seconds: float) -> None:
        """End it in order, and note when that is not how it ends."""
        if self._process is None:
            return
        send([self.pid], signal.SIGTERM)
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.complaints.append(f"{self.name} has not ended {seconds:g} s after SIGTERM: {self.said()[-500:]}")
            self.kill()
            return
        if code:
            self.complaints.append(f"{self.name} ended with {code} after SIGTERM: {self.said()[-500:]}")
        self._process = None


def close(process: "subprocess.Popen[bytes] | None") -> None:
    """Wait for a process to be gone, and close what it wrote to."""
    if process is not None:
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
