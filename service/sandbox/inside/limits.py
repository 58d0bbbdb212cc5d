"""Limits of one process, which its children inherit; what a whole tree uses is the watchdog's to see."""

import contextlib
import math
import os
import resource

from .sandbox_spec import MAX_DESCRIPTORS, SandboxSpec

_PAGE = os.sysconf("SC_PAGE_SIZE")
_MB = 1 << 20
_SPARE_ADDRESSES = 1 << 30
_CROWD = 256
_LAST = 19
_OWN_PROCESSES = 2
# Of two names for one limit the first by the alphabet: RLIMIT_NOFILE, which BSD also calls RLIMIT_OFILE.
_NAMES = {getattr(resource, name): name for name in sorted(dir(resource), reverse=True) if name.startswith("RLIMIT_")}
Table = list[tuple[int, tuple[int, int]]]


def table(cell: SandboxSpec, baseline: tuple[int, int]) -> Table:
    """The limits of every process of a cell but that on processes, as the system takes them.

    Args:
        cell: the limits.
        baseline: bytes of address space and of data that the warm process takes before any program runs.
    """
    addresses, data = baseline
    memory = cell.memory_mb * _MB
    wanted = {
        resource.RLIMIT_CPU: _cpu(cell.cpu_seconds),
        resource.RLIMIT_FSIZE: (cell.disk_kb * 1024,) * 2,
        resource.RLIMIT_NOFILE: (MAX_DESCRIPTORS, MAX_DESCRIPTORS),
        resource.RLIMIT_CORE: (0, 0),
    }
    if hasattr(resource, "RLIMIT_MSGQUEUE"):
        wanted[resource.RLIMIT_MSGQUEUE] = (0, 0)
    if cell.addresses and not cell.gpu:  # drivers reserve address space and pin memory by the gigabyte
        wanted[resource.RLIMIT_DATA] = (data + memory,) * 2
        wanted[resource.RLIMIT_AS] = (addresses + 2 * memory + _SPARE_ADDRESSES + cell.readable_kb * 1024,) * 2
        wanted[resource.RLIMIT_MEMLOCK] = (0, 0)
    return [(which, _allowed(which, *pair)) for which, pair in wanted.items()]


def apply(limits: Table, processes: int) -> None:
    """Limit the calling process to a table, and its user to so many processes.

    Raises:
        OSError: a limit cannot be set; it is named.
    """
    which, pair = resource.RLIMIT_NPROC, _allowed(resource.RLIMIT_NPROC, processes, processes)
    try:
        resource.setrlimit(which, pair)
        for which, pair in limits:
            resource.setrlimit(which, pair)
    except (ValueError, OSError) as error:
        raise _refused(which, pair, error) from error


def limit_processor_time(seconds: float) -> None:
    """Limit the processor time of the calling process, and of each that it starts.

    Raises:
        OSError: the limit cannot be set.
    """
    _set(resource.RLIMIT_CPU, _allowed(resource.RLIMIT_CPU, *_cpu(seconds)))


def unavailable(limits: Table) -> list[int]:
    """Set what can be set of a table in the calling process; the limits that this system refuses."""
    found: list[int] = []
    for which, pair in limits:
        try:
            _set(which, pair)
        except OSError:
            found.append(which)
    return found


def name(which: int) -> str:
    """A limit as the system's manual names it."""
    return _NAMES.get(which, str(which))


def baseline() -> tuple[int, int]:
    """Bytes of address space and of data of the calling process; zeros where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            fields = file.read().split()
    except OSError:
        return 0, 0
    return int(fields[0]) * _PAGE, int(fields[5]) * _PAGE


def others(*, alone: bool, processes_of_namespace: bool) -> int:
    """How many processes beside the program's count against its process limit.

    A user of the evaluation's own has none. In a user namespace keeper and fork server count. Otherwise the limit
    counts all threads of the user on the whole machine: they are added, with room for a crowd, and the watchdog counts
    the tree.
    """
    if alone:
        return 0
    if processes_of_namespace:
        return _OWN_PROCESSES
    return _threads_of_user() + _CROWD


def prefer_as_victim(*, processor: bool) -> None:
    """Let the kernel, when the machine is out of memory, end this process before any other.

    Args:
        processor: whether the keeper also runs before this process and those that it starts. In a container the
            scheduler holds all of them in one group, where hundreds of processes would leave the keeper no time to end
            them.
    """
    if processor:
        os.nice(_LAST)
    try:
        file = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        os.write(file, b"1000")
        os.close(file)
    except OSError:  # a preference, and no limit
        return


def _threads_of_user() -> int:
    count = 0
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{name}/task"))
    return count


def _cpu(seconds: float) -> tuple[int, int]:
    return math.ceil(seconds), math.ceil(seconds) + 1


def _set(which: int, pair: tuple[int, int]) -> None:
    try:
        resource.setrlimit(which, pair)
    except (ValueError, OSError) as error:
        raise _refused(which, pair, error) from error


def _refused(which: int, pair: tuple[int, int], error: Exception) -> OSError:
    return OSError(f"the limit {name(which)} cannot be set to {pair[0]}: {error}")


def _allowed(which: int, soft: int, hard: int) -> tuple[int, int]:
    _, ceiling = resource.getrlimit(which)
    allowed = hard if ceiling == resource.RLIM_INFINITY else min(hard, ceiling)
    return min(soft, allowed), allowed
