"""Runs commands over files in the sandbox: one command at a time in each cell, with a network of its own or none."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evolve.problem import EvaluatorSpec, Limits, Problem
from evolve.program import Program
from service.config import SandboxSettings
from service.errors import InvalidProblemError, ServiceError
from service.sandbox import scratch
from service.sandbox.folder import SandboxFolders, prepare
from service.sandbox.host import KeeperLine, SandboxError
from service.sandbox.inside import loopback
from service.sandbox.inside.sandbox_spec import SandboxSpec
from service.sandbox.keeper_pool import KeeperPool
from service.sandbox.layers import IsolationLevel, needed_layers
from service.sandbox.read_paths import private_places, with_paths

if TYPE_CHECKING:
    from service.sandbox.scratch import Scratch

ANSWER_KB, TRANSCRIPT_KB = 4096, 64
MEMORY_MB, DISK_MB, PROCESSES = 4096, 1024, 256
_SPARE_SECONDS, _OFFER_SECONDS = 20.0, 5.0
_MAX_SOCKET_PATH = 90


class SessionError(ServiceError):
    """The sandbox could not run a command; its text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """The limits of every command of a sandbox.

    Attributes:
        seconds: it may run.
        output_kb: it may print.
        egress: whether it has a network, of which the host holds the one way out.
        read: files and folders of this machine that it may read, beside the system's.
        path: folders that stand first on PATH, which it may read too.
    """

    seconds: float
    output_kb: int
    egress: bool = False
    read: tuple[str, ...] = ()
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionBase:
    """Files that lie in the folders of every session, beside those of its order.

    Attributes:
        contents: by path relative to a folder.
        executable: paths whose owner may run them.
    """

    contents: Mapping[str, bytes]
    executable: frozenset[str] = frozenset()

    def write(self, top: Path) -> None:
        """Write the files below a folder."""
        for path, content in self.contents.items():
            place = top / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
            place.chmod(0o755 if path in self.executable else 0o644)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOrder:
    """One command.

    Attributes:
        words: of the command; `{worktree}` and `{prompt}` in them stand for paths.
        files: of the worktree, by their paths in it.
        folders: of the worktree into which the base goes, each with a slash at its end; empty: the worktree itself.
        removed: files of the base that are not there, by their paths in the worktree.
        stdin: the path of the file that it reads, which `{prompt}` stands for.
        environment: variables that it finds, beside PATH and a home of its own.
    """

    words: Sequence[str]
    files: Mapping[str, str]
    stdin: str
    environment: Mapping[str, str]
    folders: Sequence[str] = ("",)
    removed: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResult:
    """The result of a command.

    Attributes:
        ended: `exit` by itself, `timeout`, `output` when it printed too much, `unstarted`, or another outcome of the
            sandbox, of which `transcript` is the reason.
        status: its exit status, or minus the signal that ended it.
        transcript: the beginning and the end of what it printed.
        changed: texts that differ from those given, by path.
        removed: paths that it was given and that are gone.
        refused: paths that cannot be taken, each with the reason.
    """

    ended: str
    status: int = 0
    transcript: str = ""
    seconds: float = 0.0
    changed: Mapping[str, str]
    removed: Sequence[str] = ()
    refused: Sequence[tuple[str, str]] = ()


@dataclass(slots=True)
class SessionCell:
    """Where one command runs at a time.

    Attributes:
        listening: accepts what its processes connect to; None: they have no network.
    """

    number: int
    keeper: KeeperLine
    listening: socket.socket | None = None


class SessionSandbox:
    """The cells of one kind of commands.

    Args:
        limits: of each command.
        slots: cells at once.
        require: the weakest level of isolation that will do; None: any.
        base: files of every session; None: there are none.
    """

    def __init__(
        self, limits: SessionLimits, slots: int, require: IsolationLevel | None, base: SessionBase | None = None
    ) -> None:
        self._limits, self._require, self._base = limits, require, base
        self._slots, self._free, self._opening = slots, list(range(slots)), asyncio.Lock()
        self._places: SandboxFolders | None = None
        self._pool: _SessionPool | None = None
        self._sockets: Scratch | None = None

    async def open_cell(self) -> SessionCell:
        """A new cell.

        Raises:
            SessionError: it does not start, or is weaker than required.
        """
        number = self._free.pop()
        try:
            pool = await self._opened()
            with self._server(number) as server:
                keeper = await pool.keeper(number)
                cell = SessionCell(number, keeper)
                if server is not None:
                    cell.listening = await asyncio.to_thread(loopback.accept, server, _OFFER_SECONDS)
        except (SandboxError, InvalidProblemError, OSError) as error:
            self._free.append(number)
            raise SessionError(f"the sandbox of the agent does not start: {error}") from error
        if self._require is not None and (off := _missing(keeper, self._require)):
            await self.close_cell(cell)
            raise SessionError(f"the sandbox of the agent does not reach the level {self._require}: {off}")
        return cell

    async def run(self, cell: SessionCell, order: SessionOrder) -> SessionResult:
        """Run a command; cancelling the call ends its processes.

        Raises:
            SandboxError: the cell is lost.
        """
        task = {
            "id": "session",
            "do": "session",
            "seed": 0,
            "words": list(order.words),
            "files": dict(order.files),
            "base": "" if self._base is None or self._places is None else str(self._places.problem),
            "folders": list(order.folders),
            "absent": list(order.removed),
            "stdin": order.stdin,
            "environment": dict(order.environment),
            "seconds": self._limits.seconds,
            "output_kb": self._limits.output_kb,
            "answer_kb": ANSWER_KB,
            "transcript_kb": TRANSCRIPT_KB,
        }
        reply = await cell.keeper.ask(task, self._limits.seconds + 2 * _SPARE_SECONDS)
        if reply["outcome"] == "lost":
            raise SandboxError(reply["reason"])
        if reply["outcome"] != "ok":
            return SessionResult(ended=reply["outcome"], transcript=reply["reason"], changed={})
        return _read(reply["result"])

    async def close_cell(self, cell: SessionCell) -> None:
        """End the processes of a cell, and remove its files."""
        if cell.listening is not None:
            cell.listening.close()
        if self._pool is not None:
            await self._pool.bury(cell.keeper)
            self._free.append(cell.number)

    async def close(self) -> None:
        """End every process and remove every file."""
        if self._pool is not None:
            await self._pool.close()
        for remove in (self._places, self._sockets):
            if remove is not None:
                await asyncio.to_thread(remove.remove)
        self._pool = self._places = self._sockets = None

    async def _opened(self) -> "_SessionPool":
        async with self._opening:
            if self._pool is None:
                self._pool = await self._started()
        return self._pool

    async def _started(self) -> "_SessionPool":
        with scratch.folder("agent") as laid_out:
            if self._base is not None:
                await asyncio.to_thread(self._base.write, laid_out)
            places = await asyncio.to_thread(prepare, laid_out, self._slots)
        self._places, self._sockets = places, scratch.make("net", _MAX_SOCKET_PATH)
        pool = _SessionPool(_problem(self._limits), places, IsolationLevel.STRONG)
        pool.sockets = self._sockets.path if self._limits.egress else None
        return pool

    @contextlib.contextmanager
    def _server(self, number: int) -> Iterator[socket.socket | None]:
        if self._pool is None or not (path := self._pool.socket_of(number)):
            yield None
            return
        with socket.socket(socket.AF_UNIX) as server:
            Path(path).unlink(missing_ok=True)
            server.bind(path)
            server.listen()
            yield server


class _SessionPool(KeeperPool):
    """Keepers of commands, which map addresses as they like, for runtimes reserve them by the gigabyte."""

    sockets: Path | None = None

    def socket_of(self, number: int) -> str:
        return "" if self.sockets is None else str(self.sockets / str(number))

    def _cell(self, number: int) -> SandboxSpec:
        cell = super()._cell(number)
        readable = (*cell.readable, cell.problem)  # the files of the base, if there is one
        return replace(cell, addresses=False, egress=self.socket_of(number), readable=readable)


def _problem(limits: SessionLimits) -> Problem:
    """The commands as the pool knows them: as evaluations of a problem."""
    seconds = limits.seconds + _SPARE_SECONDS
    problem = Problem(
        name="session",
        seeds=(Program.of({"session.py": ""}),),
        evaluator=EvaluatorSpec(entry="session", read=limits.read, path=limits.path),
        limits=Limits(
            wall_seconds=seconds,
            cpu_seconds=seconds * 4,
            memory_mb=MEMORY_MB,
            processes=PROCESSES,
            disk_mb=DISK_MB,
            output_kb=ANSWER_KB,
            network=limits.egress,
        ),
    )
    return with_paths(problem, SandboxSettings(), private=private_places(), others=False, table="")


def _missing(keeper: KeeperLine, require: IsolationLevel) -> str:
    """The layers that a level needs and that do not hold, with the reasons; empty: it is reached."""
    needed = needed_layers(require)
    return "; ".join(
        f"{layer.name}: {layer.reason}" for layer in keeper.layers if layer.name in needed and not layer.on
    )


def _read(result: Mapping[str, Any]) -> SessionResult:
    """The result of a command, whose process may have lied about any of it."""
    try:
        return SessionResult(
            ended=str(result["ended"]),
            status=int(result["status"]),
            transcript=str(result["transcript"])[: 2 * TRANSCRIPT_KB * 1024],
            seconds=float(result["seconds"]),
            changed={str(path): str(text) for path, text in dict(result["changed"]).items()},
            removed=[str(path) for path in result["removed"]],
            refused=[(str(path), str(reason)) for path, reason in result["refused"]],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SandboxError("the command wrote to the channel of its results by itself") from error
