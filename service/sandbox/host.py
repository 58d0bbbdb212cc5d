"""The host's side of the sandbox: starts zygotes and speaks with keepers, and never blocks the event loop."""

import asyncio
import contextlib
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from service.errors import InvalidProblemError, ServiceError
from service.sandbox.inside.channel import FAREWELL, HEADER, ChannelError, frame, parse
from service.sandbox.inside.sandbox_spec import SandboxSpec
from service.sandbox.layers import Layer
from service.sandbox.zygote_process import CANCEL_SECONDS, END_SECONDS, Launcher, Processes, ZygoteProcess

_START_SECONDS = 120.0
_CELL_SECONDS = 30.0
# Nothing is inherited. One thread each, so that the slots share the machine fairly; a fixed order of sets, so that the
# same program scores the same; two arenas, so that threads do not exhaust the limit on addresses.
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "USER": "sandbox",
    "HOME": "/", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
}  # fmt: skip


class SandboxError(ServiceError):
    """A process of the sandbox is gone or does not answer."""


class FolderGoneError(SandboxError):
    """Somebody removed files of the sandbox under it: what fails now is not a program's fault."""


class TrustedConnection:
    """A framed connection to one trusted process."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._expected: int | None = None

    @classmethod
    async def over(cls, end: socket.socket) -> "TrustedConnection":
        """Speak over one end of a socket pair."""
        return cls(*await asyncio.open_connection(sock=end))

    async def send(self, value: object) -> None:
        """Send one value.

        Raises:
            SandboxError: the other end is gone.
        """
        try:
            self._writer.write(frame(value))
            await self._writer.drain()
        except OSError as error:
            raise SandboxError("a process of the sandbox is gone") from error

    async def receive(self) -> Any:
        """The next value; a call that was cancelled in the middle of one leaves it to the next call.

        Raises:
            SandboxError: the other end is gone.
        """
        try:
            if self._expected is None:
                (self._expected,) = HEADER.unpack(await self._reader.readexactly(HEADER.size))
            body = await self._reader.readexactly(self._expected)
            self._expected = None
            return parse(body)
        except (asyncio.IncompleteReadError, OSError, ChannelError) as error:
            raise SandboxError("a process of the sandbox is gone") from error

    def hang_up(self) -> None:
        """Tell the other end that nothing more will come."""
        with contextlib.suppress(OSError, RuntimeError):
            self._writer.write_eof()

    async def close(self) -> None:
        """Close our end."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


class KeeperLine:
    """A keeper, as the host sees it.

    Attributes:
        pid: its process.
        fork_server: the process that forks programs for it.
        layers: what was found to hold.
        gone: whether it was ended, or ended itself.
    """

    def __init__(
        self, line: TrustedConnection, processes: Processes, pid: int, fork_server: int, layers: Sequence[Layer]
    ) -> None:
        self._line, self._processes, self.pid, self.fork_server = line, processes, pid, fork_server
        self.layers = tuple(layers)
        self.gone = False

    async def ask(self, task: Mapping[str, Any], patience_seconds: float) -> dict[str, Any]:
        """Have a task done. Cancelling the call ends what runs, within a second.

        Raises:
            SandboxError: the keeper is gone, or did not answer in time and was ended.
        """
        try:
            async with asyncio.timeout(patience_seconds):
                await self._line.send(task)
                answer: dict[str, Any] = await self._line.receive()
        except TimeoutError as error:
            self.kill()
            raise SandboxError("a process of the sandbox did not answer") from error
        except SandboxError:
            self.kill()
            raise
        except asyncio.CancelledError:
            await self._cancel()
            raise
        return answer

    def kill(self) -> None:
        """End the keeper, and with it everything below."""
        self.gone = True
        self._processes.kill(self.pid)

    async def close(self) -> None:
        """Let the keeper go, and wait until it has; end it if it does not. It or its fork server removes its files."""
        self._line.hang_up()
        try:
            if self.gone or not await self._processes.ended(self.pid, END_SECONDS):
                self.kill()
                await self._processes.ended(self.pid, CANCEL_SECONDS)
                await self._processes.ended(self.fork_server, END_SECONDS)
        except asyncio.CancelledError:
            self.kill()
            raise
        finally:
            self.gone = True
            await self._line.close()

    async def _cancel(self) -> None:
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await self._line.send({"cancel": True})
                await self._line.receive()
        except (TimeoutError, SandboxError, asyncio.CancelledError):
            self.kill()


class Zygote:
    """A warm interpreter and its keepers."""

    def __init__(self, process: ZygoteProcess, line: TrustedConnection, log: Path) -> None:
        self._process, self._line, self._log = process, line, log
        self._keepers: set[int] = set()

    @property
    def pid(self) -> int:
        """The zygote's process, as programs would see it."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can still make keepers."""
        return self._process.alive

    @classmethod
    async def start(cls, launcher: Launcher, orders: Mapping[str, Any], log: Path) -> "Zygote":
        """Start an interpreter and warm it up.

        Raises:
            InvalidProblemError: there is no such interpreter, or it cannot load what it should.
        """
        process = await launcher.launch(log)
        zygote = cls(process, await TrustedConnection.over(process.control.dup()), log)
        try:
            await zygote._greet(orders)
        except BaseException:
            await zygote.close()
            raise
        return zygote

    async def keeper(self, cell: SandboxSpec, *, sweep: bool) -> KeeperLine:
        """Make a keeper.

        Args:
            cell: its standing orders.
            sweep: first end what a keeper that died left behind.

        Raises:
            SandboxError: the zygote or the new keeper is gone.
        """
        ours, theirs = socket.socketpair()
        orders = {"cell": _fields(cell), "sweep": sweep, "alive": sorted(self._keepers)}
        try:
            socket.send_fds(self._process.control, [frame(orders)], [theirs.fileno()])
        except OSError as error:
            ours.close()
            raise SandboxError("the warm interpreter is gone") from error
        finally:
            theirs.close()
        line = await TrustedConnection.over(ours)
        try:
            async with asyncio.timeout(_CELL_SECONDS):
                said = await line.receive()
        except (TimeoutError, SandboxError) as error:
            await line.close()
            last = await asyncio.to_thread(last_line, self._log)
            raise SandboxError(f"a keeper of the sandbox did not start: {last}") from error
        except asyncio.CancelledError:  # the keeper sees its line closed, and goes
            await line.close()
            raise
        self._keepers.add(said["pid"])
        layers = [Layer(*layer) for layer in said["layers"]]
        return KeeperLine(line, self._process.processes, said["pid"], said["fork_server"], layers)

    async def ends(self) -> bool:
        """Whether the zygote has ended, or is about to, as when it finds itself changed."""
        return await self._process.ends(self._process.exit_seconds)

    def forget(self, keeper: KeeperLine) -> None:
        """Note that a keeper is gone."""
        self._keepers.discard(keeper.pid)

    async def close(self) -> None:
        """Let the zygote go, and wait until it has; end it if it does not."""
        with contextlib.suppress(OSError):
            self._process.control.send(frame(FAREWELL))
        self._process.control.close()
        await self._line.close()
        if not await self._process.ends(END_SECONDS):
            await self._process.kill()

    async def _greet(self, orders: Mapping[str, Any]) -> None:
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._line.send(orders)
                said = await self._line.receive()
        except (TimeoutError, SandboxError) as error:
            last = await asyncio.to_thread(last_line, self._log)
            raise InvalidProblemError([f"the interpreter of the sandbox cannot be started: {last}"]) from error
        if "failed" in said:
            raise InvalidProblemError([said["failed"]])


def last_line(log: Path, advice: tuple[str, ...] = ()) -> str:
    """What a process wrote last to its log, without lines that begin with advice; a sentence where that is nothing."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError as error:
        return f"its log cannot be read: {error.strerror}"
    told = [line.strip() for line in lines if line.strip() and not line.startswith(advice)]
    return (told or ["it did not answer"])[-1]


def _fields(cell: SandboxSpec) -> dict[str, Any]:
    return {name: getattr(cell, name) for name in SandboxSpec.__dataclass_fields__}
