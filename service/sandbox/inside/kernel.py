"""The system calls that the standard library does not wrap."""

import ctypes
import os
import platform
import struct
import sys

LINUX = sys.platform == "linux"
MACHINE = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 36, 38
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION_3 = 0x20080522

libc = ctypes.CDLL(None, use_errno=True)
libc.prctl.argtypes = (ctypes.c_int, *(4 * (ctypes.c_ulong,)))


def failure(call: str) -> OSError:
    """The error of the call that has just failed."""
    number = ctypes.get_errno()
    return OSError(number, f"{call}: {os.strerror(number)}")


def prctl(option: int, argument: int = 0, third: int = 0) -> None:
    """Change something about the calling process.

    Raises:
        OSError: the kernel refuses.
    """
    if libc.prctl(option, argument, third, 0, 0) < 0:
        raise failure(f"prctl {option}")


def syscall(name: str, number: int, *arguments: object) -> int:
    """A raw system call.

    Raises:
        OSError: the kernel refuses.
    """
    result: int = libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise failure(name)
    return result


def drop_capabilities() -> None:
    """Give up every capability, for good: no program started later gains any.

    Raises:
        OSError: the kernel refuses.
    """
    if MACHINE not in _CAPSET:
        raise OSError(f"capabilities on {MACHINE} are not known here")
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    syscall("capset", _CAPSET[MACHINE], header, struct.pack("6I", 0, 0, 0, 0, 0, 0))
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def become(user: int) -> None:
    """Become a user, with a group of the same number and no other.

    Raises:
        OSError: the kernel refuses.
    """
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def refusal_to_become(user: int) -> str:
    """Become a user; a sentence when the host does not allow it, as in a container with fewer capabilities."""
    try:
        become(user)
    except OSError as error:
        return f"no process can become another user here: {error.strerror}"
    return ""
