"""Process trees: ending one whole, whatever its members did to get away."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection

_ROUNDS = 2000
_PAUSE_SECONDS = 0.001


def descendants(root: int = 0, spare: Collection[int] = ()) -> list[int]:
    """Every process below one, or below us, by way of each one's children; those spared are left out with all below."""
    found: list[int] = []
    queue = [root or os.getpid()]
    while queue:
        below = [pid for pid in _children(queue.pop()) if pid not in spare]
        found += below
        queue += below
    return found


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
    _require_first()
    while True:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def end_namespace_but(meanwhile: Callable[[], int]) -> int:
    """End every process of our namespace but us, its first, and one that is made meanwhile; its number, or 0.

    The kernel ends all at one stroke. From then on none runs code of its own, though some take a while to be gone.

    Raises:
        RuntimeError: we are not the first of a namespace.
    """
    _require_first()
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    try:
        made = meanwhile()
    except OSError:
        end_namespace()
        return 0
    while others := _others({os.getpid(), made}):
        for pid in others:
            _signal(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):  # an orphan, which is ours as soon as its parent is gone
            os.waitpid(others[0], 0)
        with contextlib.suppress(ChildProcessError):
            reap()
    return made


def end_child(pid: int) -> None:
    """End a child."""
    _signal(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _others(spare: Collection[int]) -> list[int]:
    """The processes that /proc shows, the youngest last."""
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in spare)


def _require_first() -> None:
    if os.getpid() != 1:
        raise RuntimeError("only the first process of a namespace may end all others")


def end_adopted(spare: Collection[int] = ()) -> None:
    """End everything below us but the trees of those spared; orphans are adopted by us. Returns when all are gone."""
    for _ in range(_ROUNDS):
        with contextlib.suppress(ChildProcessError):
            reap()
        stopped = _stop_descendants(spare)
        if not stopped:
            return
        for pid in stopped:
            _signal(pid, signal.SIGKILL)
        time.sleep(_PAUSE_SECONDS)


def _stop_descendants(spare: Collection[int]) -> set[int]:
    """Stop everything below us, so that nothing forks while it is ended; what was forked meanwhile is found again."""
    stopped: set[int] = set()
    while fresh := set(descendants(spare=spare)) - stopped:
        for pid in fresh:
            _signal(pid, signal.SIGSTOP)
        stopped |= fresh
    return stopped


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


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        return found
    return found


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
