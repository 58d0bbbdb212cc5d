"""A program cannot change the process that starts the next one: no evaluation changes the outcome of another."""

import os
from pathlib import Path

import pytest

from evolve.evaluation import Outcome
from service.sandbox.layers import Level
from tests.integration.sandbox.bench import GOOD, program, sandbox

# Numbers of system calls: the standard library does not wrap all of them.
PRELUDE = """
import ctypes, os, resource
X86 = os.uname().machine == "x86_64"
def call(x86, aarch64, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(x86 if X86 else aarch64), *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")
KEEPER = os.getppid() or 1
"""
REACHING = [
    "resource.prlimit(KEEPER, resource.RLIMIT_FSIZE, (0, 0))",
    "resource.prlimit(KEEPER, resource.RLIMIT_NOFILE)",
    "os.sched_setaffinity(KEEPER, {min(os.sched_getaffinity(0))})",
    "os.sched_setscheduler(KEEPER, os.SCHED_IDLE, os.sched_param(0))",
    "os.sched_setparam(KEEPER, os.sched_param(0))",
    "call(314, 274, KEEPER, (ctypes.c_uint32 * 12)(48, 5), 0)",
    "os.setpriority(os.PRIO_PROCESS, KEEPER, 19)",
    "os.setpriority(os.PRIO_USER, 0, 19)",
    "os.setpriority(os.PRIO_USER, os.getuid(), 19)",
    "os.setpriority(os.PRIO_PGRP, os.getpgid(KEEPER) or 1, 19)",
    "call(251, 30, 1, KEEPER, 3 << 13)",
    "call(251, 30, 3, os.getuid(), 3 << 13)",
    "call(279, 239, KEEPER, 0, None, None, None, 0)",
    "call(256, 238, KEEPER, 0, None, None)",
    "call(448, 448, os.pidfd_open(KEEPER), 0)",
]


@pytest.mark.parametrize("force", [Level.STRONG, Level.MEDIUM])
async def test_no_system_call_reaches_the_keeper(tmp_path: Path, force: Level) -> None:
    attempts = "".join(f"\nattempt({action!r}, lambda: {action})" for action in REACHING)
    source = f"""{PRELUDE}
through = []
def attempt(name, action):
    try:
        action()
        through.append(name)
    except OSError:
        pass
{attempts}
def solve():
    return through
"""
    async with sandbox(tmp_path, force=force) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
        assert (await opened.evaluate(GOOD, "evl_2")).ok
    assert evaluation.feedback == "[]"


CHANGES = {
    "resource limits": "resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (0, 0))",
    "processor affinity": "os.sched_setaffinity(os.getppid(), {min(os.sched_getaffinity(0))})",
    "priority": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
    "scheduling policy": "os.sched_setscheduler(os.getppid(), os.SCHED_BATCH, os.sched_param(0))",
    "priority of input and output": "call(251, 30, 1, os.getppid(), 3 << 13)",
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("force", [Level.WEAK, Level.NONE])
async def test_a_keeper_that_was_changed_is_replaced(tmp_path: Path, force: Level, name: str) -> None:
    """Without seccomp, a program of the keeper's user reaches it; the superuser's programs have users of their own."""
    if force is Level.WEAK and os.geteuid() == 0:
        force = Level.NONE
    source = f"{PRELUDE}\n{CHANGES[name]}\ndef solve():\n    return 1.0\n"
    async with sandbox(tmp_path, force=force) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
        assert (await opened.evaluate(GOOD, "evl_2")).ok
    assert evaluation.outcome is Outcome.LOST
    assert evaluation.reason.endswith(f"the process that starts evaluations changed while one ran: its {name}")


OWN = [
    "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))",
    "resource.prlimit(0, resource.RLIMIT_FSIZE)",
    "os.nice(1)",
    "os.sched_setaffinity(0, os.sched_getaffinity(0))",
    "os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))",
]


@pytest.mark.parametrize("action", OWN)
async def test_a_program_may_still_change_itself(tmp_path: Path, action: str) -> None:
    source = f"{PRELUDE}\ndef solve():\n    {action}\n    return 'changed'\n"
    async with sandbox(tmp_path) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
    assert evaluation.feedback == repr("changed"), evaluation
