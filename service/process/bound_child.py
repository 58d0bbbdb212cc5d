"""Runs a command that the kernel kills when its parent dies: `python -m service.process.bound_child PARENT WORD...`.

A trainer that is killed must not leave its back end behind, which would write into the folder of a job that another
trainer has taken. A worker on Ray or Dask must not outlive the process that the cluster counts it by.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def bound_command(command: Sequence[str]) -> list[str]:
    """A command that the kernel kills when the thread dies that starts it, and so when this process does."""
    return [sys.executable, "-P", "-m", "service.process.bound_child", str(os.getpid()), *command]


def main() -> None:
    """Bind this process to its parent, and become the command."""
    parent, *command = sys.argv[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # it died before
        os._exit(1)
    os.execvp(command[0], command)  # noqa: S606 - the words are those of a back end of the operator's


if __name__ == "__main__":
    main()
