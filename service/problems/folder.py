"""A problem's folder, read once into memory: what it holds, what of it is left out, what is wrong with it."""

import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

MAX_BYTES = 64 * 1024 * 1024
MAX_FILES = 10_000
MAX_DEPTH = 32
LARGE_DATA = "keep large data out of its folder, and name where it lies in evaluator.read"
_MAX_COMPLAINTS = 20
_LEFT_OUT = frozenset(
    {"__pycache__", "node_modules", "openevolve_output", "evolve.db", "evolve.db-wal", "evolve.db-shm"}
)
_LEFT_OUT_ENDINGS = (".pyc", ".pyo", "~")
_CHECKPOINT = re.compile(r"checkpoint_\d{1,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """The files of a problem as they were when it was read.

    Left out are hidden files and folders (`.git`, `.venv`, `.env`, caches), `__pycache__`, `node_modules`, virtual
    environments, and what earlier runs left (`openevolve_output`, `evolve.db`, folders with checkpoints of OpenEvolve
    or SkyDiscover, results of ShinkaEvolve).

    Attributes:
        files: content by path relative to the folder, sorted.
        executable: paths whose owner may run them.
    """

    files: Mapping[str, bytes] = field(repr=False)
    executable: frozenset[str] = frozenset()

    def below(self, path: str) -> dict[str, bytes]:
        """Files under a folder of this one, by their path relative to it."""
        start = "" if path in {"", "."} else path.rstrip("/") + "/"
        return {name.removeprefix(start): content for name, content in self.files.items() if name.startswith(start)}


def read_folder(root: Path, folders: Collection[str] = ()) -> tuple[Folder, list[str]]:
    """Read a folder, with one sentence for everything in it that cannot be taken along.

    Links to files inside the folder are taken as files. Other links, and irregular files, are complaints.

    Args:
        root: the folder.
        folders: the folders directly in it that are read; none named: all.
    """
    try:
        top = root.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # until Python 3.13 a loop of links is a RuntimeError
        return Folder(files={}), [f"{root} does not exist or cannot be reached: name the folder of a problem"]
    if not top.is_dir():
        return Folder(files={}), [f"{root} is not a folder: name the folder that holds problem.toml"]
    reader = _Reader(top)
    for entry in _entries(top, folders, reader.complaints):
        if reader.full or len(reader.complaints) >= _MAX_COMPLAINTS:
            break
        reader.take(entry)
    return reader.folder(), reader.complaints


class _Reader:
    """What was read so far, and what is wrong with the rest."""

    def __init__(self, top: Path) -> None:
        self.complaints: list[str] = []
        self.full = False
        self._top = top
        self._left = MAX_BYTES
        self._files: dict[str, bytes] = {}
        self._executable: set[str] = set()

    def folder(self) -> Folder:
        return Folder(files=dict(sorted(self._files.items())), executable=frozenset(self._executable))

    def take(self, entry: os.DirEntry[str]) -> None:
        name = PurePosixPath(os.path.relpath(entry.path, self._top)).as_posix()
        complaint = _complain(entry, name, self._top)
        if not complaint:
            try:
                complaint = self._read(entry.path, name)
            except OSError as error:
                complaint = f"{_shown(name)} cannot be read ({error.strerror}): allow it, or move it out of the problem"
        self.complaints += [complaint] if complaint else []

    def _read(self, path: str, name: str) -> str:
        # Opened without blocking, and judged by what was opened: the file may have been swapped since it was listed.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return _odd(name)
            content = file.read(self._left + 1) if status.st_size <= self._left else None
        self.full = content is None or len(content) > self._left or len(self._files) >= MAX_FILES
        if content is None or len(content) > self._left:
            size = f"{MAX_BYTES >> 20} MB"
            return f"with {_shown(name)} the problem is larger than {size}: {LARGE_DATA}"
        if self.full:
            return f"the problem holds more than {MAX_FILES} files: leave data that is not needed outside"
        self._files[name] = content
        self._left -= len(content)
        self._executable |= {name} if status.st_mode & stat.S_IXUSR else set()
        return ""


def _entries(top: Path, folders: Collection[str], complaints: list[str]) -> Iterator[os.DirEntry[str]]:
    waiting = [(str(top), 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            shown = _shown(os.path.relpath(folder, top))
            complaints.append(f"the folder {shown} cannot be read ({error.strerror}): allow it, or move it away")
            continue
        if depth and (any(entry.name == "pyvenv.cfg" for entry in entries) or _holds_a_run(entries)):
            continue
        for entry in entries:
            if left_out(entry.name):
                continue
            if not depth and folders and entry.name not in folders and entry.is_dir(follow_symlinks=False):
                continue
            if not entry.is_dir(follow_symlinks=False):
                yield entry
            elif depth < MAX_DEPTH:
                waiting.append((entry.path, depth + 1))
            else:
                complaints.append(f"{_shown(entry.name)} lies more than {MAX_DEPTH} folders deep: flatten the problem")


def _holds_a_run(entries: Sequence[os.DirEntry[str]]) -> bool:
    """Whether a folder has the output of another project's run, by the names of what lies in it."""
    names = {entry.name for entry in entries}
    if any(_CHECKPOINT.fullmatch(name) for name in names):
        return True
    if "gen_0" in names and any(name.endswith((".sqlite", ".db")) for name in names):
        return True
    below = next((entry for entry in entries if entry.name == "checkpoints"), None)
    if below is None or not below.is_dir(follow_symlinks=False):
        return False
    try:
        return any(_CHECKPOINT.fullmatch(name) for name in os.listdir(below.path))
    except OSError:
        return False


def left_out(name: str) -> bool:
    """Whether a file or folder of this name is no part of a problem."""
    return name.startswith(".") or name in _LEFT_OUT or name.endswith(_LEFT_OUT_ENDINGS)


def _complain(entry: os.DirEntry[str], name: str, top: Path) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        return f"the name {_shown(name)} is not UTF-8: rename the file"
    if "\\" in name or any(ord(letter) < 32 for letter in name):
        return f"the name {_shown(name)} holds a backslash or a control character: rename the file"
    if entry.is_symlink():
        return _complain_of_link(Path(entry.path), name, top)
    return "" if entry.is_file(follow_symlinks=False) else _odd(name)


def _complain_of_link(link: Path, name: str, top: Path) -> str:
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return f"{_shown(name)} is a broken link: remove it, or put the file in its place"
    if not target.is_relative_to(top):
        return f"{_shown(name)} is a link out of the problem's folder: copy in what it points to"
    if target.is_dir():
        return f"{_shown(name)} is a link to a folder: put the folder itself in its place"
    if any(left_out(part) for part in target.relative_to(top).parts):
        return f"{_shown(name)} is a link to a file that is left out of the problem: copy the file in its place"
    return "" if target.is_file() else _odd(name)


def _odd(name: str) -> str:
    return f"{_shown(name)} is neither a file nor a folder: move it out of the problem"


def _shown(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode() if name.isprintable() else ascii(name)
