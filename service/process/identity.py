"""Owners: which process holds a run's lease, and whether that process has ended, as far as can be told from here.

A process is told by a name that no other ever has, and by a file of that name which it keeps locked in this user's
data folder. The kernel ends the lock with the process, and says so across containers that share the folder. Where the
file is not seen, or the machine is another one (which may share the folder over a network), nothing is known: a number
of a process says nothing in another container, and a name of a host nothing of another machine.
"""

import atexit
import fcntl
import os
import socket
import stat
import time
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

from service.user_folders import data_home

_KEPT_SECONDS = 3600.0  # since it started; when it has ended as well, another has looked at its lease by then


def this_process() -> str:
    """Name of this process as the owner of leases: host, boot of the machine, and an id of its own."""
    return _name_of(os.getpid())


def is_gone(owner: str) -> bool:
    """Whether an owner is a process that has ended, which this machine knows: its lease need not be waited for."""
    path = _file(owner)
    if path is None:
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # it lives
        return False
    finally:
        os.close(descriptor)
    return True


@cache
def _name_of(_pid: int) -> str:
    """The name of a process, which a forked one does not share."""
    name = f"{socket.gethostname()}:{boot()}:{uuid.uuid4().hex}"
    with suppress(OSError, RuntimeError):  # no home; others then wait for the end of a lease
        _keep_locked(name)
    return name


def _keep_locked(name: str) -> None:
    folder = _folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    path = _file(name)
    if path is None:
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.write(descriptor, f"{os.getpid()}\n".encode())  # for people, who may look
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it is never closed: the end of the process does that
    atexit.register(_sweep, folder)  # at the end, not before this process has asked for the owners it finds


def _sweep(folder: Path) -> None:
    """Remove the files of processes that have ended, but for young ones, which somebody may still ask for."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            young = entry.stat(follow_symlinks=False).st_mtime > time.time() - _KEPT_SECONDS
            if not young and is_gone(f":{boot()}:{entry.name}"):
                os.unlink(entry.path)


def _file(owner: str) -> Path | None:
    """The file of an owner; None where its name is none of this machine, or the folder is not this user's alone."""
    booted, _, key = owner.partition(":")[2].partition(":")
    if booted != boot() or len(key) != 32 or not set(key) <= set("0123456789abcdef"):
        return None
    try:
        folder = _folder()
        found = folder.lstat()
    except (OSError, RuntimeError):
        return None
    own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022
    return folder / key if own else None


def _folder() -> Path:
    return data_home() / "evolve" / "owners"


@cache
def boot() -> str:
    """The boot of this machine, by a name that no other ever has; empty: the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
