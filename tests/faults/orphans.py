"""Orphans: what outlives the processes that made it comes to this one, and is found there."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.e2e.evolving import descendants_of

_PR_SET_CHILD_SUBREAPER = 36


@contextmanager
def adopted() -> Iterator[None]:
    """Processes below this one whose parents end become this one's children, and not those of the machine's first."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "this system lets no process adopt others")
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def living() -> dict[int, str]:
    """Processes below this one that have not ended, with their commands; ended orphans are let go of."""
    found = {}
    for pid in descendants_of(os.getpid()):
        state, command = _look(pid)
        if state == "Z":
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        elif state:
            found[pid] = command
    return found


def _look(pid: int) -> tuple[str, str]:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "", ""
    return stat.rpartition(")")[2].split()[0], command
