"""In the child that runs a command over files: writes them, runs the command in bounds, and reads back what it left."""

import contextlib
import os
import select
import signal
import stat
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from . import kernel, tree
from .candidate import write_program
from .channel import Channel
from .sandbox_spec import ChildSpec

WORKTREE, HOME, TEMPORARY = "worktree", "home", "tmp"
# How a session ended: by itself, or by us.
EXITED, TIMED_OUT, TOO_MUCH_OUTPUT, UNSTARTED = "exit", "timeout", "output", "unstarted"
# Names that no program has: those of tools, caches and version control.
_NO_PROGRAM = {"__pycache__", "node_modules"}
_MAX_DEPTH, _MAX_ENTRIES, _MAX_REFUSED, _MAX_PATH = 24, 20_000, 20, 200
_GULP = 1 << 16
_TICK_SECONDS, _END_SECONDS = 0.2, 5.0


def prepare(task: Mapping[str, Any], place: ChildSpec) -> str:
    """Write the files down, and make a home; the scratch is returned.

    Raises:
        UnfitError: the files cannot be written within the limits.
        OSError: the sandbox fails.
    """
    scratch = place["scratch"]
    for name in (HOME, TEMPORARY):
        os.makedirs(os.path.join(scratch, name), exist_ok=True)
    worktree = os.path.join(scratch, WORKTREE)
    _lay_out_base(task, worktree)
    write_program(task["files"], worktree, place["disk_kb"])
    return scratch


def _lay_out_base(task: Mapping[str, Any], worktree: str) -> None:
    """Copy the files of the base into each folder of the worktree, but for those that the program removes."""
    absent = set(task["absent"])
    for folder in task["folders"] if task["base"] else ():
        for path, source in _base_files(task["base"]):
            target = os.path.join(worktree, folder, path)
            if folder + path not in absent:
                os.makedirs(os.path.dirname(target), exist_ok=True)
                _copy(source, target)


def _copy(source: str, target: str) -> None:
    with open(source, "rb") as read:
        mode = stat.S_IMODE(os.fstat(read.fileno()).st_mode) | stat.S_IWUSR
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as written:
            written.write(read.read())


def _base_files(base: str) -> Iterator[tuple[str, str]]:
    """The files of the base: their paths in it, and where they lie."""
    for top, _, names in os.walk(base):
        for name in names:
            place = os.path.join(top, name)
            yield os.path.relpath(place, base), place


def run(channel: Channel, task: Mapping[str, Any], scratch: str) -> None:
    """Run the command, end what it started, and send what it printed and changed."""
    if kernel.LINUX:
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    worktree = os.path.join(scratch, WORKTREE)
    began = monotonic()
    ending = _Command(task, scratch, worktree).run()
    seconds = monotonic() - began
    if kernel.LINUX:
        tree.end_adopted()
    left = _Leftovers(task["files"], _sources(task), task["answer_kb"] * 1024)
    left.read(worktree)
    channel.send({"result": {**ending, "seconds": seconds, **left.told()}})


def _sources(task: Mapping[str, Any]) -> dict[str, str]:
    """Where the files of the base lie, by their paths in the worktree."""
    if not task["base"]:
        return {}
    absent = set(task["absent"])
    pairs = [(folder + path, place) for path, place in _base_files(task["base"]) for folder in task["folders"]]
    return {path: place for path, place in pairs if path not in absent}


class _Command:
    """One command, with the time and the output that it may take."""

    def __init__(self, task: Mapping[str, Any], scratch: str, worktree: str) -> None:
        self._task, self._worktree = task, worktree
        self._stdin = os.path.join(worktree, task["stdin"])
        places = {"{worktree}": worktree, "{prompt}": self._stdin}
        self._words = [_filled(word, places) for word in task["words"]]
        self._environment = {
            **os.environ,
            **task["environment"],
            "HOME": os.path.join(scratch, HOME),
            "TMPDIR": os.path.join(scratch, TEMPORARY),
        }
        self._output = _Transcript(task["transcript_kb"] * 1024)

    def run(self) -> dict[str, Any]:
        try:
            with open(self._stdin, "rb") as given:
                process = subprocess.Popen(
                    self._words,
                    stdin=given,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    cwd=self._worktree,
                    env=self._environment,
                    start_new_session=True,
                )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            return {"ended": UNSTARTED, "status": 0, "transcript": f"{self._words[0]}: {reason}"}
        ended = self._watch(process)
        status = _end(process)
        return {"ended": ended, "status": status if ended == EXITED else 0, "transcript": self._output.text()}

    def _watch(self, process: subprocess.Popen[bytes]) -> str:
        assert process.stdout is not None
        stream, until = process.stdout.fileno(), monotonic() + self._task["seconds"]
        maximum, open_ = self._task["output_kb"] * 1024, True
        while (left := until - monotonic()) > 0:
            ready = bool(select.select([stream] if open_ else [], [], [], min(left, _TICK_SECONDS))[0])
            if ready:
                part = os.read(stream, _GULP)
                open_ = bool(part)
                self._output.add(part)
                if self._output.size > maximum:
                    return TOO_MUCH_OUTPUT
            elif process.poll() is not None:  # what it started may still hold the pipe
                return EXITED
            if not open_ and _waited(process, min(until - monotonic(), _TICK_SECONDS)):
                return EXITED
        return TIMED_OUT


def _filled(word: str, places: Mapping[str, str]) -> str:
    for name, path in places.items():
        word = word.replace(name, path)
    return word


def _waited(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(max(0.0, seconds))
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> int:
    """End the group of the command; its exit status, or minus the signal that ended it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    _waited(process, _END_SECONDS)
    if process.stdout is not None:
        process.stdout.close()
    return process.returncode if process.returncode is not None else 0


class _Transcript:
    """The beginning and the end of what was printed.

    Attributes:
        size: bytes printed so far.
    """

    def __init__(self, maximum: int) -> None:
        self._half = maximum // 2
        self._head, self._tail = bytearray(), bytearray()
        self.size = 0

    def add(self, part: bytes) -> None:
        self.size += len(part)
        taken = part[: max(0, self._half - len(self._head))]
        self._head += taken
        self._tail += part[len(taken) :]
        del self._tail[: max(0, len(self._tail) - self._half)]

    def text(self) -> str:
        left_out = self.size - len(self._head) - len(self._tail)
        gap = f"\n[{left_out} bytes left out]\n".encode() if left_out else b""
        return bytes(self._head + gap + self._tail).decode(errors="replace")


@dataclass(slots=True)
class _Leftovers:
    """The files after a command: texts that changed or are new, and paths that cannot be taken."""

    given: Mapping[str, str]
    base: Mapping[str, str]
    room: int
    changed: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    refused: list[tuple[str, str]] = field(default_factory=list)
    entries: int = 0

    def told(self) -> dict[str, Any]:
        """As the host gets it."""
        known = {*self.given, *self.base}
        removed = sorted(path for path in known if path not in self.seen and not _ignored(path))
        return {"changed": self.changed, "removed": removed, "refused": self.refused[:_MAX_REFUSED]}

    def read(self, root: str) -> None:
        """Read the files below a folder; no link is followed."""
        waiting = [("", 0)]
        while waiting:
            folder, depth = waiting.pop()
            for name, mode in self._entries(os.path.join(root, folder)):
                path = os.path.join(folder, name)
                if _ignored(path):
                    continue
                if stat.S_ISDIR(mode):
                    if depth < _MAX_DEPTH:
                        waiting.append((path, depth + 1))
                    else:
                        self._refuse(path, "lies too deep")
                else:
                    self._take(root, path, mode)

    def _entries(self, folder: str) -> Iterator[tuple[str, int]]:
        try:
            with os.scandir(folder) as found:
                for entry in found:
                    self.entries += 1
                    if self.entries > _MAX_ENTRIES:
                        self._refuse(entry.name, "is one of more files than are read")
                        return
                    with contextlib.suppress(OSError):
                        yield entry.name, entry.stat(follow_symlinks=False).st_mode
        except FileNotFoundError:
            return  # it was removed, and its files are told as such
        except OSError as error:
            self._refuse(os.path.basename(folder), f"cannot be read: {error.strerror}")

    def _take(self, root: str, path: str, mode: int) -> None:
        self.seen.add(path)
        if not stat.S_ISREG(mode):
            self._refuse(path, "is a link" if stat.S_ISLNK(mode) else "is no regular file")
            return
        try:
            handle = os.open(os.path.join(root, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(handle, "rb") as file:
                content = file.read(self.room + 1)
        except OSError as error:
            self._refuse(path, f"cannot be read: {error.strerror}")
            return
        given = self.given.get(path)
        if content == (given.encode() if given is not None else self._base_content(path)):
            return
        if len(content) > self.room:
            self._refuse(path, "is larger than a program may be")
            return
        try:
            text = content.decode()
        except UnicodeDecodeError:
            text = "\x00"
        if "\x00" in text or not path.isprintable():
            self._refuse(path, "holds no text")
            return
        self.room -= len(content)
        self.changed[path] = text

    def _base_content(self, path: str) -> bytes | None:
        """The content of a file of the base, as far as it can be told from that of a program."""
        if path not in self.base:
            return None
        with open(self.base[path], "rb") as file:
            return file.read(self.room + 1)

    def _refuse(self, path: str, reason: str) -> None:
        if len(self.refused) < _MAX_REFUSED:
            self.refused.append((ascii(path)[1:-1][:_MAX_PATH], reason))


def _ignored(path: str) -> bool:
    return any(part.startswith(".") or part in _NO_PROGRAM for part in path.split("/"))
