"""The process of a zygote and those below it, as the host ends them: on this machine, or inside of a container."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Protocol

from service.errors import InvalidProblemError

INSIDE = Path(__file__).parent / "inside"
END_SECONDS = 2.0
CANCEL_SECONDS = 0.7


class Processes(Protocol):
    """Processes below a zygote, by the numbers that they tell of themselves."""

    def kill(self, pid: int) -> None:
        """End a process, and with it everything below; nothing where it has ended."""

    async def ended(self, pid: int, seconds: float) -> bool:
        """Wait until a process has ended; False when it has not in time."""


class ZygoteProcess(Protocol):
    """A zygote that was started.

    Attributes:
        pid: its process, as programs would see it.
        control: the socket over which it takes orders, with descriptors.
        exit_seconds: how long its end may take to be seen.
    """

    pid: int
    control: socket.socket
    exit_seconds: float

    @property
    def processes(self) -> Processes:
        """Those below it."""

    @property
    def alive(self) -> bool:
        """Whether it can still make keepers."""

    async def ends(self, seconds: float) -> bool:
        """Whether it has ended, or does so in time."""

    async def kill(self) -> None:
        """End it, and wait until it has ended."""


class Launcher(Protocol):
    """Starts the zygote of a problem."""

    async def launch(self, log: Path) -> ZygoteProcess:
        """Start it; what it says goes to the log.

        Raises:
            InvalidProblemError: it cannot be started.
        """


class HostProcesses:
    """Processes of this machine."""

    def kill(self, pid: int) -> None:
        """End a process."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    async def ended(self, pid: int, seconds: float) -> bool:
        """Wait until a process has ended; False when it has not in time."""
        if not hasattr(os, "pidfd_open"):
            return await _ended_by_asking(pid, seconds)
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return True
        loop, gone = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(handle, gone.set)
        try:
            async with asyncio.timeout(seconds):
                await gone.wait()
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(handle)
            os.close(handle)
        return True


class HostZygote:
    """A zygote that is a child of this process."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self._process, self.control, self.pid = process, control, process.pid
        self.exit_seconds = CANCEL_SECONDS

    @property
    def processes(self) -> Processes:
        """Those of this machine."""
        return HostProcesses()

    @property
    def alive(self) -> bool:
        """Whether it can still make keepers."""
        return self._process.poll() is None

    async def ends(self, seconds: float) -> bool:
        """Whether it has ended, or does so in time."""
        return await process_ends(self._process, seconds)

    async def kill(self) -> None:
        """End it, and wait until it has ended."""
        self._process.kill()
        await asyncio.to_thread(self._process.wait)


@dataclass(frozen=True, slots=True)
class HostLauncher:
    """Starts zygotes with an interpreter of this machine.

    Attributes:
        python: the interpreter; empty: this one.
        environment: of the zygote, and so of programs.
        locks: descriptors of locks that hold until the last process below it has ended; no program has them.
    """

    python: str
    environment: Mapping[str, str]
    locks: Sequence[int] = ()

    async def launch(self, log: Path) -> ZygoteProcess:
        """Start the interpreter."""
        ours, theirs = socket.socketpair()
        spawning = asyncio.ensure_future(asyncio.to_thread(self._spawn, theirs.fileno(), log))
        try:
            process = await asyncio.shield(spawning)
        except asyncio.CancelledError:  # the thread starts it all the same
            ours.close()
            process = await spawning
            process.kill()
            process.wait()
            raise
        except OSError as error:
            ours.close()
            reason = error.strerror or str(error)
            raise InvalidProblemError([f"the interpreter {self.python} cannot be started: {reason}"]) from error
        finally:
            theirs.close()
        return HostZygote(process, ours)

    def _spawn(self, descriptor: int, log: Path) -> subprocess.Popen[bytes]:
        with log.open("wb") as file:
            return subprocess.Popen(
                [self.python or sys.executable, "-s", str(INSIDE / "__main__.py"), str(descriptor), str(log.parent)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
                cwd="/",
                env=self.environment,
                pass_fds=(descriptor, *self.locks),
                start_new_session=True,
            )


async def process_ends(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether a child of ours has ended, or does so in time."""
    try:
        await asyncio.to_thread(process.wait, seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


async def _ended_by_asking(pid: int, seconds: float) -> bool:
    until = monotonic() + seconds
    while monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        await asyncio.sleep(0.01)
    return False
