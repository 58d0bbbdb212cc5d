"""Namespaces and mounts: a world of its own for each keeper, with its own processes, network and scratch."""

import contextlib
import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from . import kernel

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_READ_ONLY, _NOSUID, _NODEV, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 2, 4, 32, 4096, 0x4000, 1 << 18
_DETACH = 2
_MOUNT_SETATTR = 442  # on every architecture
_AT_FDCWD, _AT_RECURSIVE, _ATTR_READ_ONLY = -100, 0x8000, 1


def enter(*, network: bool) -> None:
    """Move to namespaces of our own; the next process forked is the first of its process namespace.

    The superuser needs no user namespace; where it is not allowed to do without, and for everybody else, one is made
    in which we stay who we are.

    Raises:
        OSError: the host does not allow it.
    """
    if not kernel.LINUX:
        raise OSError("this system has no namespaces")
    flags = NEWNS | NEWUTS | NEWIPC | NEWPID | (0 if network else NEWNET)
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):
            _unshare(flags)
            return
    user, group = os.geteuid(), os.getegid()
    _unshare(flags | NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def knows(user: int) -> bool:
    """Whether a user exists in our user namespace; in one of the superuser's own making, nobody else does."""
    try:
        with open("/proc/self/uid_map", encoding="ascii") as file:
            ranges = [[int(word) for word in line.split()] for line in file]
    except OSError:
        return True
    return any(first <= user < first + count for first, _, count in ranges)


def make_private() -> None:
    """Keep what we mount to ourselves.

    Raises:
        OSError: the host does not allow it.
    """
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)


def mount_proc() -> None:
    """Show the processes of this namespace alone.

    Raises:
        OSError: the host does not allow it.
    """
    _mount("proc", "/proc", "proc", _NOSUID | _NODEV)


def mount_scratch(target: str, *, size_kb: int, files: int, owner: int, mode: str = "700") -> None:
    """An empty file system in memory, of a size.

    Raises:
        OSError: the host does not allow it.
    """
    options = f"size={size_kb}k,nr_inodes={files},mode={mode},uid={owner},gid={owner}"
    _mount("tmpfs", target, "tmpfs", _NOSUID | _NODEV, options)


def freeze(target: str) -> None:
    """Let nobody write to a mounted file system any more.

    Raises:
        OSError: the host does not allow it.
    """
    _mount(None, target, None, _REMOUNT | _BIND | _READ_ONLY | _NOSUID | _NODEV)


def make_read_only(writable: Iterable[str]) -> None:
    """Let nobody write to any mounted file system but those mounted at these places, nor change modes and times there.

    Permissions do not say so of files that belong to the user that programs run as, nor does Landlock.

    Raises:
        OSError: the kernel is older than 5.12, or refuses.
    """
    _set_read_only("/", on=True, flags=_AT_RECURSIVE)
    for target in writable:
        _set_read_only(target, on=False)


def unmount(target: str) -> None:
    """Take a file system away; what is still open in it goes with its last user.

    Raises:
        OSError: the kernel refuses.
    """
    if kernel.libc.umount2(target.encode(), _DETACH) < 0:
        raise kernel.failure(f"umount {target}")


def expose(paths: Iterable[str]) -> list[str]:
    """Make paths below closed folders reachable for other users, in our mounts alone.

    An interpreter below a folder of mode 0700 (the superuser's home, say) is out of reach once the user is dropped.
    An empty file system is put over the outermost closed folder, and the paths alone are put back into it.

    Returns:
        The folders of which nothing else can be seen any more.

    Raises:
        OSError: the host does not allow it.
    """
    closed: dict[str, list[tuple[str, int]]] = {}
    for path in _outermost(paths):
        folder = closed_ancestor(path)
        if folder:
            closed.setdefault(folder, []).append((path, os.open(path, os.O_PATH | os.O_CLOEXEC)))
    for folder, held in closed.items():
        _mount("tmpfs", folder, "tmpfs", _NOSUID | _NODEV, "mode=755,size=1m")
        for path, handle in held:
            _make_like(path, handle)
            _mount(f"/proc/self/fd/{handle}", path, None, _BIND | _RECURSIVE)
            os.close(handle)
    return list(closed)


def _make_like(path: str, handle: int) -> None:
    """A place to mount over: a folder for a folder, a file for a file."""
    if stat.S_ISDIR(os.fstat(handle).st_mode):
        os.makedirs(path, exist_ok=True)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "ab"):
        pass


def _outermost(paths: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(path.startswith(outer.rstrip("/") + "/") for outer in kept):
            kept.append(path)
    return kept


def closed_ancestor(path: str) -> str:
    """The outermost folder above a path that other users may not pass; empty when there is none."""
    closed, folder = "", os.path.dirname(path)
    while folder != "/":
        if not os.stat(folder).st_mode & 1:
            closed = folder
        folder = os.path.dirname(folder)
    return closed


def _unshare(flags: int) -> None:
    if kernel.libc.unshare(ctypes.c_int(flags)) < 0:
        raise kernel.failure("unshare")


def _set_read_only(target: str, *, on: bool, flags: int = 0) -> None:
    attributes = struct.pack("4Q", _ATTR_READ_ONLY if on else 0, 0 if on else _ATTR_READ_ONLY, 0, 0)
    size = ctypes.c_size_t(len(attributes))
    kernel.syscall(
        f"mount_setattr {target}", _MOUNT_SETATTR, _AT_FDCWD, target.encode(), ctypes.c_uint(flags), attributes, size
    )


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind, options)]
    if kernel.libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]) < 0:
        raise kernel.failure(f"mount {target}")
