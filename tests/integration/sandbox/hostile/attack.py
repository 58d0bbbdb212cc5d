"""An attack on the sandbox as a value: what it tries, its program, and what must hold afterwards."""

from collections.abc import Collection
from dataclasses import dataclass

from evolve.evaluation import Outcome
from service.sandbox.layers import IsolationLevel

# Numbers of system calls: the standard library does not wrap all of them. `KEEPER` is the process that forks programs.
PRELUDE = """
import ctypes, errno, fcntl, gc, glob, mmap, os, resource, select, shutil, signal, socket, stat, struct, subprocess, sys
import threading, time
X86 = os.uname().machine == "x86_64"
LIBC = ctypes.CDLL(None, use_errno=True)
KEEPER = os.getppid() or 1
HOME = os.path.expanduser("~")
def call(x86, aarch64, *arguments):
    result = LIBC.syscall(ctypes.c_long(x86 if X86 else aarch64), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result
def attempt(action):
    try:
        return f"through: {action()!r}"
    except (OSError, MemoryError):
        return "blocked"
"""
ENDED = frozenset({Outcome.CRASH, Outcome.ERROR, Outcome.MEMORY, Outcome.OUTPUT, Outcome.TIMEOUT})
ANY = ENDED | {Outcome.OK, Outcome.INVALID}
BOTH = (IsolationLevel.STRONG, IsolationLevel.MEDIUM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One hostile program.

    Attributes:
        name: of the attack, unlike all others.
        aim: what it is after, as a family.
        source: the body of the program, after the prelude; braces name values of a campaign, such as `{victim}`.
        outcomes: those that the program may have; none of them is the sandbox's failure.
        says: what the feedback must be; empty: anything. `blocked` is what a refused attempt says.
        levels: where it must hold.
    """

    name: str
    aim: str
    source: str
    outcomes: Collection[Outcome] = ANY
    says: str = ""
    levels: Collection[IsolationLevel] = BOTH


def refused(aim: str, *actions: str, levels: Collection[IsolationLevel] = BOTH) -> list[Attack]:
    """Attacks of one expression each, which must raise an error of the system."""
    return [
        Attack(
            name=action,
            aim=aim,
            source=f"def solve(n):\n    return attempt(lambda: {action})\n",
            outcomes={Outcome.OK},
            says="blocked",
            levels=levels,
        )
        for action in actions
    ]
