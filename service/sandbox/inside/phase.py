"""One process tree, from its first process to its last corpse: what it says, prints, uses, and how it ends."""

import contextlib
import os
import select
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from . import watchdog
from .channel import HEADER, STARTED, ChannelError, parse
from .fork_client import ForkClient
from .protocol import Conversation
from .sandbox_spec import MAX_FILES, MAX_SOCKETS, SandboxSpec

TICK_SECONDS = 0.05
_GULP = 1 << 16
# Times as long as a look at the files on disk takes, the next one is left.
_WALK_SHARE = 20
# Folders on disk take room beside the files in them, of which one alone may have all that is allowed.
_FOLDERS_KB = 256
_SAID_BEFORE_THE_START = {"cancelled", "error", "memory", "lost"}
_WITHOUT_WAITING = int(socket.MSG_DONTWAIT) | int(getattr(socket, "MSG_NOSIGNAL", 0))


@dataclass(frozen=True, slots=True)
class Ending:
    """How a tree ended.

    Attributes:
        outcome: empty when the conversation came to its end.
        printed: the beginning of what was printed.
    """

    outcome: str
    reason: str
    seconds: float
    printed: str


class ProcessPhase:
    """Watches one child and all below it, to the end of the conversation or of a limit."""

    def __init__(
        self,
        *,
        cell: SandboxSpec,
        client: ForkClient,
        stream: socket.socket,
        order: bytes,
        prints: int,
        line: socket.socket,
        talk: Conversation,
        members: Callable[[], list[int]] | None,
        what: str,
        cap_kb: int,
        memory_folders: Sequence[str] = (),
        disk_folder: str = "",
    ) -> None:
        self._cell, self._client, self._talk, self._members, self._what = cell, client, talk, members, what
        self._stream, self._prints, self._line = stream, prints, line
        self._cap = cap_kb * 1024
        self._memory_folders, self._disk_folder = memory_folders, disk_folder
        self._walk_at = 0.0
        self._heard, self._heard_bytes = bytearray(), 0
        self._printed, self._printed_bytes = bytearray(), 0
        self._outgoing = order
        self._end: tuple[str, str] | None = None
        self._started = False
        self._began = self._ticked = monotonic()
        self._collected = client.collected_seconds

    def run(self) -> Ending:
        """Watch until there is an ending; the tree still lives afterwards, and is the caller's to end."""
        poll = select.poll()
        for descriptor in (self._stream.fileno(), self._prints, self._line.fileno(), self._client.fileno()):
            poll.register(descriptor, select.POLLIN)
        self._write_stream(poll)
        while self._end is None and not self._talk.done:
            self._attend(poll, dict(poll.poll(self._patience() * 1000)))
        self._check_files(last=True)
        outcome, reason = self._end or self._talk.failed
        if not self._started and outcome not in _SAID_BEFORE_THE_START:
            outcome, reason = "lost", f"{self._what} did not start: {reason}"
        return Ending(outcome, reason, monotonic() - self._began, self._printed.decode(errors="replace"))

    def _patience(self) -> float:
        return max(0.0, min(TICK_SECONDS, self._began + self._cell.wall_seconds - monotonic()))

    def _attend(self, poll: select.poll, events: dict[int, int]) -> None:
        if self._line.fileno() in events:
            self._end = ("cancelled", "it was cancelled")
            return
        if self._prints in events:
            self._read_prints(poll)
        if events.get(self._stream.fileno(), 0) & (select.POLLIN | select.POLLHUP | select.POLLERR):
            self._read_stream(poll)
        if self._outgoing:
            self._write_stream(poll)
        now = monotonic()
        if now - self._ticked >= TICK_SECONDS:
            self._ticked = now
            self._check_use()
            self._check_files()
        if self._client.fileno() in events and self._end is None and not self._talk.done:
            self._bury(poll)
        if self._end is None and not self._talk.done and now - self._began >= self._cell.wall_seconds:
            self._end = ("timeout", f"{self._what} ran longer than {self._cell.wall_seconds:g} s")

    def _read_prints(self, poll: select.poll) -> None:
        part = b""
        with contextlib.suppress(BlockingIOError):
            part = os.read(self._prints, _GULP)
            if not part:
                _forget(poll, self._prints)
        self._printed += part[: max(0, self._cap - len(self._printed))]
        self._printed_bytes += len(part)
        if self._printed_bytes > self._cap:
            self._end = ("output", f"{self._what} printed more than {self._cap // 1024} KB")

    def _read_stream(self, poll: select.poll) -> None:
        try:
            part = self._stream.recv(_GULP, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if not part:
            _forget(poll, self._stream.fileno())
            return
        self._heard += part
        self._heard_bytes += len(part)
        if self._heard_bytes > self._cap + _GULP:
            self._too_much()
            return
        try:
            self._answer_frames(poll)
        except ChannelError as error:
            self._end = ("crash", f"{self._what} wrote to the channel of its results by itself: {error}")

    def _answer_frames(self, poll: select.poll) -> None:
        while len(self._heard) >= HEADER.size and not self._talk.done and self._end is None:
            (length,) = HEADER.unpack_from(self._heard)
            if length > self._cap:
                self._too_much()
                return
            end = HEADER.size + length
            if len(self._heard) < end:
                return
            body = bytes(self._heard[HEADER.size : end])
            del self._heard[:end]
            if not self._started:
                self._start(body)
                continue
            self._outgoing += self._talk.hear(body)
            if self._heard and not self._talk.done:
                raise ChannelError("it answered before it was asked")
        if self._outgoing:
            self._write_stream(poll)

    def _start(self, body: bytes) -> None:
        """Take the first frame: no code of the program has run before it, so that it is trusted."""
        said = parse(body)
        self._started = said == STARTED
        if not self._started:
            self._end = said["outcome"], said["failed"]

    def _write_stream(self, poll: select.poll) -> None:
        try:
            sent = self._stream.send(self._outgoing, _WITHOUT_WAITING)
            self._outgoing = self._outgoing[sent:]
        except BlockingIOError:
            pass
        except OSError:  # the child is gone; its status tells how
            self._outgoing = b""
        with contextlib.suppress(FileNotFoundError):
            poll.modify(self._stream.fileno(), select.POLLIN | (select.POLLOUT if self._outgoing else 0))

    def _too_much(self) -> None:
        self._end = ("output", f"{self._what} returned more than {self._cap // 1024} KB")

    def _check_use(self) -> None:
        if self._members is None or self._end is not None:
            return
        pids = self._members()
        use, cell = watchdog.usage(pids), self._cell
        limit_kb = cell.memory_mb * 1024
        if use.memory_kb > limit_kb and watchdog.proportional_kb(pids) > limit_kb:
            self._end = ("memory", f"{self._what} used more than {cell.memory_mb} MB of memory")
        elif use.cpu_seconds + self._collected_seconds() > cell.cpu_seconds:
            self._end = self._out_of_time()
        elif use.threads > cell.processes:
            self._end = ("crash", f"{self._what} started more than {cell.processes} processes")
        elif watchdog.sockets(pids) > MAX_SOCKETS:
            self._end = ("memory", f"{self._what} opened more than {MAX_SOCKETS} sockets, whose buffers are memory")

    def _check_files(self, *, last: bool = False) -> None:
        """Hold the folders that are in memory to one limit, or the scratch on disk, to which nothing else sets one."""
        if self._end is not None or self._talk.failed[0]:
            return
        limit_kb = self._cell.disk_kb
        if watchdog.files_kb(self._memory_folders) > limit_kb:
            self._end = self._too_many_files("scratch and /dev/shm", f"{limit_kb // 1024} MB")
        elif self._disk_folder and (last or monotonic() >= self._walk_at):
            self._check_disk(limit_kb)

    def _check_disk(self, limit_kb: int) -> None:
        began = monotonic()
        use = watchdog.disk_use(self._disk_folder, self._members() if self._members is not None else [], MAX_FILES)
        self._walk_at = monotonic() + _WALK_SHARE * (monotonic() - began)
        if use.files > MAX_FILES:
            self._end = self._too_many_files("scratch", f"{MAX_FILES} files")
        elif use.kb > limit_kb + _FOLDERS_KB:
            self._end = self._too_many_files("scratch", f"{limit_kb // 1024} MB")

    def _too_many_files(self, where: str, maximum: str) -> tuple[str, str]:
        return "memory", f"{self._what}'s files in its {where} took more than {maximum}"

    def _collected_seconds(self) -> float:
        """Processor time of processes of this tree that have ended."""
        first = 1 if self._members is watchdog.namespace else self._client.pid
        return watchdog.collected_seconds(first) - self._collected

    def _bury(self, poll: select.poll) -> None:
        status = self._client.status()
        for _ in range(1 + (self._cap + _GULP) // _GULP):  # what it said before it died still counts
            before = self._heard_bytes + self._printed_bytes
            self._read_prints(poll) if self._printed_bytes <= self._cap else None
            self._read_stream(poll)
            if self._end is not None or self._talk.done or before == self._heard_bytes + self._printed_bytes:
                break
        if self._end is None and not self._talk.done:
            self._end = self._post_mortem(os.waitstatus_to_exitcode(status))

    def _post_mortem(self, code: int) -> tuple[str, str]:
        used = self._client.collected_seconds - self._collected
        if -code == signal.SIGXCPU or (-code == signal.SIGKILL and used >= self._cell.cpu_seconds):
            return self._out_of_time()
        if code >= 0:
            return "crash", f"{self._what} ended with exit status {code} before it returned a result"
        with contextlib.suppress(ValueError):
            return "crash", f"{self._what} was ended by {signal.Signals(-code).name}"
        return "crash", f"{self._what} was ended by signal {-code}"

    def _out_of_time(self) -> tuple[str, str]:
        return "timeout", f"{self._what} used more than {self._cell.cpu_seconds:g} s of processor time"


def _forget(poll: select.poll, descriptor: int) -> None:
    with contextlib.suppress(KeyError):
        poll.unregister(descriptor)
