"""A program cannot change the process that starts the next one: no evaluation changes the outcome of another."""

import os
from pathlib import Path

import pytest

from evolve.evaluation import Outcome
from evolve.problem import Integrity
from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.bench import GOOD, keeper_of, names_in, program, sandbox
from tests.integration.sandbox.hostile.reaching import KEEPER as REACHING

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


@pytest.mark.parametrize("force", [IsolationLevel.STRONG, IsolationLevel.MEDIUM])
async def test_no_system_call_reaches_the_keeper(tmp_path: Path, force: IsolationLevel) -> None:
    attempts = "".join(f"\nattempt({action!r}, lambda: {action})" for action in map(str.format, REACHING))
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
ONE_PROCESSOR = pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="needs a second processor to leave out")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=ONE_PROCESSOR) if "affinity" in name else name for name in CHANGES]
)
@pytest.mark.parametrize("force", [IsolationLevel.WEAK, IsolationLevel.NONE])
async def test_a_keeper_that_was_changed_is_replaced(tmp_path: Path, force: IsolationLevel, name: str) -> None:
    """Without seccomp, a program of the keeper's user reaches it; the superuser's programs have users of their own."""
    if force is IsolationLevel.WEAK and os.geteuid() == 0:
        force = IsolationLevel.NONE
    source = f"{PRELUDE}\n{CHANGES[name]}\ndef solve():\n    return 1.0\n"
    async with sandbox(tmp_path, force=force) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
        assert (await opened.evaluate(GOOD, "evl_2")).ok
    assert evaluation.outcome is Outcome.LOST
    assert evaluation.reason.endswith(f"the process that starts evaluations changed while one ran: its {name}")


@pytest.mark.parametrize("force", [IsolationLevel.WEAK, IsolationLevel.NONE])
async def test_a_warm_interpreter_that_was_changed_is_started_again(tmp_path: Path, force: IsolationLevel) -> None:
    """New keepers inherit from it, so that replacing a keeper would not help."""
    if force is IsolationLevel.WEAK and os.geteuid() == 0:
        force = IsolationLevel.NONE
    async with sandbox(tmp_path, force=force) as opened:
        first = opened._keeper_pools[0].zygote
        source = f"""{PRELUDE}
def solve():
    for pid in ({first}, os.getppid()):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, 0))
    return 1.0
"""
        evaluation = await opened.evaluate(program(source), "evl_1")
        assert (await opened.evaluate(GOOD, "evl_2")).ok
        assert opened._keeper_pools[0].zygote != first
    assert evaluation.outcome in {Outcome.LOST, Outcome.ERROR}


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


@pytest.mark.parametrize("force", [IsolationLevel.MEDIUM, IsolationLevel.WEAK, IsolationLevel.NONE])
async def test_a_scratch_that_a_program_closes_is_opened_for_the_next(tmp_path: Path, force: IsolationLevel) -> None:
    source = "import os\ndef solve():\n    os.chmod(os.path.expanduser('~'), 0)\n    return 1.0\n"
    async with sandbox(tmp_path, force=force) as opened:
        first = keeper_of(opened)
        assert (await opened.evaluate(program(source), "evl_1")).ok
        assert (await opened.evaluate(GOOD, "evl_2")).ok
        assert keeper_of(opened) == first


async def test_a_link_that_replaces_the_scratch_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o755)
    (victim / "file").touch()
    source = f"""
        import os, shutil
        def solve():
            home = os.path.expanduser("~")
            shutil.rmtree(home)
            os.symlink({str(victim)!r}, home)
            return 1.0
    """
    async with sandbox(tmp_path, force=IsolationLevel.NONE) as opened:
        assert (await opened.evaluate(program(source), "evl_1")).ok
        assert (await opened.evaluate(GOOD, "evl_2")).ok
    assert names_in(victim) == ["file"]


async def test_shared_memory_that_a_program_closes_is_opened_for_the_next(tmp_path: Path) -> None:
    closes = "import os\ndef solve():\n    os.chmod('/dev/shm', 0)\n    return 1.0\n"
    writes = "def solve():\n    open('/dev/shm/file', 'w').write('x')\n    return 1.0\n"
    async with sandbox(tmp_path, require=IsolationLevel.STRONG) as opened:
        assert (await opened.evaluate(program(closes), "evl_1")).ok
        evaluation = await opened.evaluate(program(writes), "evl_2")
    assert evaluation.ok, evaluation.reason


async def test_a_shared_scratch_that_a_program_empties_and_closes_is_opened_for_the_next(tmp_path: Path) -> None:
    evaluator = """
        import os, shutil, sys
        def evaluate(path):
            sys.path.insert(0, path if os.path.isdir(path) else os.path.dirname(path))
            import main
            return {"score": main.solve()}
    """
    closes = """
        import os, shutil
        def solve():
            home = os.path.expanduser("~")
            for name in os.listdir(home):
                shutil.rmtree(os.path.join(home, name))
            os.chmod(home, 0)
            return 1.0
    """
    async with sandbox(tmp_path, evaluator, integrity=Integrity.SHARED) as opened:
        first = keeper_of(opened)
        assert (await opened.evaluate(program(closes), "evl_1")).ok
        assert (await opened.evaluate(GOOD, "evl_2")).ok
        assert keeper_of(opened) == first
