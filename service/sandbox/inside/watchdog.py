"""What a tree of processes uses, summed: limits of a single process do not see the tree."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass

from .sandbox_spec import MAX_DESCRIPTORS

_PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024
_BLOCK = 512  # of st_blocks, whatever the file system's own is
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class TreeUsage:
    """Use of a tree at one moment.

    Attributes:
        memory_kb: resident memory, shared pages counted in each process: an upper bound.
        cpu_seconds: processor time of those alive and of the children that they collected.
        threads: processes and their threads.
    """

    memory_kb: int = 0
    cpu_seconds: float = 0.0
    threads: int = 0


@dataclass(frozen=True, slots=True)
class DiskUse:
    """What is kept on disk.

    Attributes:
        files: names, folders included.
    """

    kb: int = 0
    files: int = 0


def usage(pids: list[int]) -> TreeUsage:
    """Sum what the processes use; those that have ended meanwhile are left out."""
    memory = threads = ticks = 0
    for pid in pids:
        try:
            fields = _fields(pid)
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])
        threads += int(fields[17])
        memory += int(fields[21]) * _PAGE_KB
    return TreeUsage(memory, ticks / _TICK, threads)


def proportional_kb(pids: list[int]) -> int:
    """Memory of the processes that is not a file's, each shared page counted once; slower and exact."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                lines = [line.split() for line in file]
        except (OSError, ValueError):
            total += usage([pid]).memory_kb
            continue
        total += sum(int(line[1]) for line in lines if line[0] in {"Pss_Anon:", "Pss_Shmem:"})
    return total


def sockets(pids: Iterable[int]) -> int:
    """How many sockets the processes have open, shared ones once; who hides them counts with all that it may have."""
    found: set[str] = set()
    hidden = 0
    for pid in pids:
        with contextlib.suppress(OSError):  # it has ended
            for thread in os.listdir(f"/proc/{pid}/task"):  # each may have a table of descriptors of its own
                try:
                    found |= _links(f"/proc/{pid}/task/{thread}/fd")
                except PermissionError:
                    hidden += MAX_DESCRIPTORS if _has_memory(f"{pid}/task/{thread}") else 0
    return hidden + sum(link.startswith("socket:") for link in found)


def _has_memory(process: str) -> bool:
    """Whether it can still run: the kernel shows what an ending process has open to the superuser alone."""
    return _fields(process)[20] != b"0"


def _links(folder: str) -> set[str]:
    found: set[str] = set()
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink(os.path.join(folder, name)))
    return found


def files_kb(folders: Iterable[str]) -> int:
    """What the file systems at these places hold; files without a name that are still open are counted too."""
    total = 0
    for folder in folders:
        about = os.statvfs(folder)
        total += (about.f_blocks - about.f_bfree) * about.f_frsize
    return total // 1024


def disk_use(folder: str, pids: Iterable[int], max_files: int) -> DiskUse:
    """What a folder holds on disk, and files that are open in a process and have no name any more.

    Folders that are closed to us are opened. One whose path is too long to follow counts as more than may be.
    """
    found: dict[int, int] = {}
    files, queue = 0, [folder]
    while queue and files <= max_files:
        try:
            entries = _entries(queue.pop(), folder)
            files += len(entries)
            queue += _counted(entries, found)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return DiskUse(files=max_files + 1)
    with contextlib.suppress(OSError):
        found |= _nameless(pids, os.stat(folder).st_dev)
    return DiskUse(kb=sum(found.values()) * _BLOCK // 1024, files=files)


def _counted(entries: Iterable["os.DirEntry[str]"], found: dict[int, int]) -> list[str]:
    """Note the blocks of each, by inode; the folders among them."""
    folders = []
    for entry in entries:
        with contextlib.suppress(FileNotFoundError):
            about = entry.stat(follow_symlinks=False)
            found[about.st_ino] = about.st_blocks
            if stat.S_ISDIR(about.st_mode):
                folders.append(entry.path)
    return folders


def _entries(folder: str, inside: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:  # its owner closed it, and may still write to it
        _open_up(folder, inside)
        with os.scandir(folder) as entries:
            return list(entries)


def _open_up(folder: str, inside: str) -> None:
    """Let its owner, who is ours, list a folder; one that a link put into its place is left alone."""
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        place = f"/proc/self/fd/{handle}"
        if os.path.realpath(place).startswith(os.path.realpath(inside)):
            os.chmod(place, stat.S_IRWXU)
    finally:
        os.close(handle)


def _nameless(pids: Iterable[int], device: int) -> dict[int, int]:
    """Blocks of open files on a device that were unlinked, by inode."""
    found: dict[int, int] = {}
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    about = entry.stat()
                    if about.st_nlink == 0 and about.st_dev == device and stat.S_ISREG(about.st_mode):
                        found[about.st_ino] = about.st_blocks
    return found


def namespace() -> list[int]:
    """Every process of the process namespace that /proc shows but the fork server, its first."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]


def collected_seconds(pid: int) -> float:
    """Processor time of the children that a process has collected so far."""
    try:
        fields = _fields(pid)
    except OSError:
        return 0.0
    return (int(fields[13]) + int(fields[14])) / _TICK


def _fields(pid: int | str) -> list[bytes]:
    """What the kernel says of a process, from its state on."""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split(None, 22)


def _read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, _PAGE_KB * 1024)
    finally:
        os.close(file)
