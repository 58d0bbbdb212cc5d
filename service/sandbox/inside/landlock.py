"""Landlock: which files a process may read, write and run, whichever user it is.

Source: linux/landlock.h, ABI 1 to 6. It covers neither UDP nor unix sockets by path (seccomp does) nor stat.
"""

import contextlib
import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from . import kernel

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_SOCK, MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 11
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
_ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_ALL_RIGHTS = (1 << 16) - 1
_TCP = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3
SCOPES_SIGNALS = 6


def version() -> int:
    """The kernel's Landlock ABI; 0 where there is none. The system call tells; /sys may not."""
    if not kernel.LINUX:
        return 0
    answer = kernel.libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION_FLAG))
    return max(0, int(answer))


def ruleset(
    *,
    readable: Iterable[str],
    writable: Iterable[str],
    processes: Iterable[str] = (),
    devices: Iterable[str] = (),
    network: bool = False,
) -> int:
    """A file descriptor of the rules: read and run below `readable`, everything but devices below `writable`.

    Below `processes`, which is /proc or a folder of it, files that are there may be read, written and cut.

    Paths that do not exist are left out. Where the kernel can, TCP is closed unless `network`, and neither abstract
    sockets nor signals leave the processes that live under the rules.

    Raises:
        OSError: the kernel has no Landlock, or refuses.
    """
    abi = version()
    if not abi:
        raise OSError("the kernel offers no Landlock")
    rights = _RIGHTS.get(abi, _ALL_RIGHTS)
    net = _TCP if abi >= 4 and not network else 0
    scope = _ABSTRACT_SOCKETS_AND_SIGNALS if abi >= SCOPES_SIGNALS else 0
    attributes = struct.pack("QQQ", rights, net, scope)[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    rules = kernel.syscall("landlock", _CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
    everything = rights & ~(MAKE_CHAR | MAKE_BLOCK | MAKE_SOCK)
    grants = {
        READ_FILE | READ_DIR | EXECUTE: readable,
        everything: writable,
        READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE: processes,
    }
    for granted, paths in grants.items():
        for path in paths:
            _allow(rules, path, granted & rights)
    for path in devices:
        _allow(rules, path, (READ_FILE | WRITE_FILE | IOCTL_DEV) & rights)
    return rules


def restrict(rules: int) -> None:
    """Live under the rules from now on, and every process started from here too.

    Raises:
        OSError: the kernel refuses.
    """
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.syscall("landlock", _RESTRICT, ctypes.c_int(rules), ctypes.c_uint(0))


def _allow(rules: int, path: str, granted: int) -> None:
    with contextlib.suppress(FileNotFoundError, PermissionError):  # what we cannot open needs no leave
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(target).st_mode):
                granted &= _ON_FILES
            rule = struct.pack("<Qi", granted, target)
            kernel.syscall("landlock", _ADD, ctypes.c_int(rules), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint(0))
        finally:
            os.close(target)
