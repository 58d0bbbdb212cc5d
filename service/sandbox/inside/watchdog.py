"""What a tree of processes uses, summed: limits of a single process do not see the tree."""

import os
import resource
from collections.abc import Iterable
from dataclasses import dataclass

_PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """Use of a tree at one moment.

    Attributes:
        memory_kb: resident memory, shared pages counted in each process: an upper bound.
        cpu_seconds: processor time of those alive and of the children that they collected.
        threads: processes and their threads.
    """

    memory_kb: int = 0
    cpu_seconds: float = 0.0
    threads: int = 0


def usage(pids: list[int]) -> Usage:
    """Sum what the processes use; those that have ended meanwhile are left out."""
    memory = threads = ticks = 0
    for pid in pids:
        try:
            fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split(None, 22)
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])
        threads += int(fields[17])
        memory += int(fields[21]) * _PAGE_KB
    return Usage(memory, ticks / _TICK, threads)


def proportional_kb(pids: list[int]) -> int:
    """Memory of the processes that is no file's, each shared page counted once; slower and exact."""
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


def files_kb(folders: Iterable[str]) -> int:
    """What the file systems at these places hold; files without a name that are still open are counted too."""
    total = 0
    for folder in folders:
        about = os.statvfs(folder)
        total += (about.f_blocks - about.f_bfree) * about.f_frsize
    return total // 1024


def namespace() -> list[int]:
    """Every process of our own process namespace but us."""
    own = os.getpid()
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != own]


def descendants() -> list[int]:
    """Every process below us, by way of each one's children."""
    found: list[int] = []
    queue = [os.getpid()]
    while queue:
        below = _children(queue.pop())
        found += below
        queue += below
    return found


def collected_seconds() -> float:
    """Processor time of the children that we have collected so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, _PAGE_KB * 1024)
    finally:
        os.close(file)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        return found
    return found
