"""Scratch: folders that go with the process that made them; those of one that was killed go with the next one's."""

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from service.errors import NoRoomError
from service.sandbox.inside import wipe

PREFIX = "evolve-tmp-"
# Slash, prefix, dash and what chance adds.
_NAME = len(PREFIX) + 10
# Less room than this is none: a sandbox cannot even be laid out.
_MIN_BYTES, _MIN_FILES = 1 << 20, 64
_SHORT = Path("/tmp")  # noqa: S108 - the folders in it are made anew, by a name that nobody knows


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder of this process's own.

    Attributes:
        path: where it is, without links.
        lock: a descriptor of the folder, locked for as long as this process lives: by that others know whose it is.
    """

    path: Path
    lock: int

    def remove(self) -> None:
        """Leave nothing of it.

        Raises:
            OSError: something cannot be removed; another process tries again when this one has ended.
        """
        try:
            wipe.remove(str(self.path))
        finally:
            os.close(self.lock)


def make(purpose: str, longest: int = 0) -> Scratch:
    """A new folder, open to nobody else, in the system's place for such.

    Args:
        purpose: a word in its name.
        longest: most characters that its path may have, where a socket shall lie in it; 0: any number.

    Raises:
        OSError: none can be made.
    """
    while True:
        path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}-", dir=_place(longest - len(purpose) - _NAME)))
        lock = _locked(path)
        if lock is not None:
            return Scratch(path, lock)
        # Another process took it for one that was left, in the moment before it was locked.


@contextmanager
def folder(purpose: str, longest: int = 0) -> Iterator[Path]:
    """A folder for as long as the block takes; its path has at most `longest` characters, unless that is 0."""
    scratch = make(purpose, longest)
    try:
        yield scratch.path
    finally:
        scratch.remove()


def require_room(folder: Path | None = None) -> None:
    """Check that the disk of a folder, or of the place where folders are made, takes more files.

    Raises:
        NoRoomError: it does not.
    """
    place = folder or _place()
    if not _has_room(place):
        raise NoRoomError(
            f"the disk of {place} is full: what programs need there fails through no fault of theirs. Make room,"
            " or name another place in TMPDIR"
        )


def has_room() -> bool:
    """Whether the place where folders are made takes more files."""
    return _has_room(_place())


def _has_room(place: Path) -> bool:
    try:
        about = os.statvfs(place)
    except OSError:  # it is gone, and others say so
        return True
    blocks = about.f_bfree if os.geteuid() == 0 else about.f_bavail
    return blocks * about.f_frsize >= _MIN_BYTES and (not about.f_files or about.f_ffree >= _MIN_FILES)


def sweep() -> None:
    """Remove folders of this user's whose makers have ended; what cannot be removed is left to the next."""
    with suppress(OSError), os.scandir(_place()) as entries:
        for path in [Path(entry.path) for entry in entries if entry.name.startswith(PREFIX)]:
            lock = _locked(path)
            if lock is not None:
                with suppress(OSError):
                    Scratch(path, lock).remove()


def abandoned(path: Path) -> bool:
    """Whether a folder's maker has ended. What is left of the folder is removed then."""
    lock = _locked(path)
    if lock is None:
        return not os.path.lexists(path)
    with suppress(OSError):
        Scratch(path, lock).remove()
    return True


def _place(longest: int = 0) -> Path:
    place = Path(tempfile.gettempdir()).resolve()
    return _SHORT if 0 < longest < len(str(place)) else place


def _locked(path: Path) -> int | None:
    """A descriptor of a folder of this user's that is locked by it; None: it is another's, or gone.

    A lock of the kernel's: it ends with the process, however that ends, and says so across containers that share files,
    where a process number says nothing.
    """
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ours, there = os.fstat(lock), os.stat(path, follow_symlinks=False)
        if ours.st_uid == os.geteuid() and stat.S_ISDIR(there.st_mode) and os.path.samestat(ours, there):
            return lock
    except OSError:
        pass
    os.close(lock)
    return None
