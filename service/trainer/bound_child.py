"""Runs a command that the kernel kills when its parent dies: `python -m service.trainer.bound_child PARENT WORD...`.

A trainer that is killed must not leave its back end behind, which would write into the folder of a job that another
trainer has taken.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


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
