"""What a trusted process passes on to its children: compared with what it was at its birth, so that nothing lingers."""

import contextlib
import os
import resource
import signal
import sys
from collections.abc import Mapping

from . import kernel

State = Mapping[str, object]
_LIMITS = sorted({number for name, number in vars(resource).items() if name.startswith("RLIMIT_")})
_OWN_DESCRIPTORS = "/proc/self/fd" if kernel.LINUX else "/dev/fd"
_IOPRIO_GET = {"x86_64": 252, "aarch64": 31}
_IOPRIO_WHO_PROCESS = 1
# Fields of /proc/self/status by what they tell.
_FIELDS = {
    b"Umask": "umask", b"Uid": "user", b"Gid": "group", b"Groups": "groups", b"NoNewPrivs": "privileges",
    b"Threads": "number of threads", b"SigBlk": "signal mask", b"SigIgn": "ignored signals",
    b"SigCgt": "signal handlers", b"CapInh": "inheritable capabilities", b"CapPrm": "capabilities",
    b"CapEff": "effective capabilities", b"CapBnd": "capability bounds", b"CapAmb": "ambient capabilities",
    b"Seccomp": "seccomp mode", b"Cpus_allowed": "processor affinity", b"Mems_allowed": "memory nodes",
}  # fmt: skip


def capture() -> State:
    """The calling process's state, aspect by aspect; it takes a fraction of a millisecond.

    Raises:
        OSError: the process can no longer find out, which is a change too.
    """
    return {
        "resource limits": [resource.getrlimit(number) for number in _LIMITS],
        "working directory": os.getcwd(),
        "environment": dict(os.environ),
        "descriptors": _descriptors(),
        "priority": os.getpriority(os.PRIO_PROCESS, 0),
        **(_linux() if kernel.LINUX else _elsewhere()),
    }


def changes(birth: State) -> list[str]:
    """The aspects of the calling process that are no longer what they were."""
    try:
        now = capture()
    except OSError as error:
        return [f"state, which it cannot read ({error})"]
    return [name for name in {**birth, **now} if birth.get(name) != now.get(name)]


def _descriptors() -> dict[int, tuple[int, int]]:
    """Each open descriptor, with device and number of its file; the listing's own is closed by then."""
    found: dict[int, tuple[int, int]] = {}
    for name in os.listdir(_OWN_DESCRIPTORS) if os.path.isdir(_OWN_DESCRIPTORS) else ():
        with contextlib.suppress(OSError):
            about = os.fstat(int(name))
            found[int(name)] = (about.st_dev, about.st_ino)
    return found


def _linux() -> dict[str, object]:
    if sys.platform != "linux":
        return {}
    found: dict[str, object] = {
        "scheduling policy": (os.sched_getscheduler(0), os.sched_getparam(0).sched_priority),
        "preference in an out-of-memory kill": _read("/proc/self/oom_score_adj"),
    }
    if kernel.MACHINE in _IOPRIO_GET:
        found["priority of input and output"] = kernel.syscall(
            "ioprio_get", _IOPRIO_GET[kernel.MACHINE], _IOPRIO_WHO_PROCESS, 0
        )
    for line in _read("/proc/self/status").splitlines():
        field, _, value = line.partition(b":")
        if field in _FIELDS:
            found[_FIELDS[field]] = value
    return found


def _elsewhere() -> dict[str, object]:
    mask = os.umask(0o077)
    os.umask(mask)
    handlers = [signal.getsignal(number) for number in sorted(signal.valid_signals())]
    return {"umask": mask, "signal mask": signal.pthread_sigmask(signal.SIG_BLOCK, ()), "signal handlers": handlers}


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
