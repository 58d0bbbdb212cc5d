"""Process trees: ending one whole, whatever its members did to get away."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection

_ROUNDS = 2000
_PAUSE_SECONDS = 0.001


def children() -> list[int]:
    """Direct children of the calling process, adopted ones included; empty where the system does not tell."""
    pid = os.getpid()
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def reap(seen: Callable[[int, int], None] | None = None) -> bool:
    """Collect every child that has ended; False when there is no child left at all."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        if seen is not None:
            seen(pid, status)


def end_namespace() -> None:
    """End every process of our namespace but us, its first; returns when all are gone.

    Raises:
        RuntimeError: we are not the first of a namespace, so that everything on the machine would be meant.
    """
    if os.getpid() != 1:
        raise RuntimeError("only the first process of a namespace may end all others")
    while True:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def end_adopted(spare: Collection[int] = ()) -> None:
    """End every child but those spared, and the orphans of each, which we adopt; returns when all are gone."""
    for _ in range(_ROUNDS):
        with contextlib.suppress(ChildProcessError):
            reap()
        strangers = [pid for pid in children() if pid not in spare]
        if not strangers:
            return
        for pid in strangers:  # stopped first, so that none forks while we count
            _signal(pid, signal.SIGSTOP)
        for pid in strangers:
            _signal(pid, signal.SIGKILL)
        time.sleep(_PAUSE_SECONDS)


def end_user(user: int) -> None:
    """End every process of a user: as that user, for then the kernel ends all of them at one stroke."""
    if user <= 0:
        raise ValueError("only the processes of a user made for an evaluation may be ended")
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(OSError):
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            os.kill(-1, signal.SIGKILL)
        os._exit(0)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def end_group(main: int) -> None:
    """End a process and its group."""
    if main <= 1:
        raise ValueError("no process of ours has this number")
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(main, signal.SIGKILL)
    _signal(main, signal.SIGKILL)


def await_group(main: int) -> None:
    """Wait until a group that was ended is gone; others collect its orphans, which takes them a moment."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(main, 0)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        for _ in range(_ROUNDS):
            os.killpg(main, 0)
            time.sleep(_PAUSE_SECONDS)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
