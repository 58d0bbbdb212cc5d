"""Removing what a hostile program left: folders too deep to name, folders closed to their owner, links elsewhere."""

import itertools
import os
import secrets
import shutil
import stat
from collections.abc import Iterator


def empty(folder: str) -> None:
    """Remove everything in a folder of our user's, which stays and is open to its owner again.

    Links are removed, never followed.

    Raises:
        OSError: something cannot be removed.
    """
    if os.path.islink(folder):
        raise OSError(f"{folder} was replaced by a link")
    os.chmod(folder, stat.S_IRWXU)
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            remove(entry.path)
        else:
            os.unlink(entry.path)


def remove(folder: str) -> None:
    """Remove a folder and everything in it.

    Raises:
        OSError: something cannot be removed.
    """
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        if os.path.lexists(folder):
            _flatten(folder)


def _flatten(folder: str) -> None:
    """Remove a folder whose folders are closed, or as deep as names go: each is moved to the top before it is emptied.

    That takes time by their number. To follow their paths takes its square: minutes, for those that a program can make.
    """
    os.chmod(folder, stat.S_IRWXU)
    names = (os.path.join(folder, f".{secrets.token_hex(8)}-{number}") for number in itertools.count())
    pending = _emptied(folder, names)
    while pending:
        current = pending.pop()
        pending += _emptied(current, names)
        os.rmdir(current)
    os.rmdir(folder)


def _emptied(folder: str, names: Iterator[str]) -> list[str]:
    """Remove the files of a folder, and move its folders away: where to."""
    moved = []
    with os.scandir(folder) as entries:
        found = list(entries)
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            os.chmod(entry.path, stat.S_IRWXU)
            moved.append(next(names))
            os.rename(entry.path, moved[-1])
        else:
            os.unlink(entry.path)
    return moved
