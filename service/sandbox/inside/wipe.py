"""Removing what a hostile program left: folders too deep to name, folders closed to their owner, links elsewhere."""

import os
import shutil
import stat
import subprocess


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
    except (OSError, RecursionError):  # these two walk by descriptor, to any depth
        subprocess.run(["chmod", "-R", "u+rwx", folder], check=False, capture_output=True)
        subprocess.run(["rm", "-rf", folder], check=False, capture_output=True)
        if os.path.lexists(folder):
            raise OSError(f"{folder} cannot be removed") from None
