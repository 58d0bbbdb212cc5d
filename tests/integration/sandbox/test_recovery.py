"""Cancelling, closing, and what happens when a part of the sandbox itself dies."""

import asyncio
import os
import shutil
import signal
import socket
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from evolve.evaluation import Outcome
from service.errors import InvalidProblemError
from service.sandbox.evaluator import SandboxEvaluator, open_evaluator
from service.sandbox.host import ENVIRONMENT, FolderGoneError, Zygote
from service.sandbox.layers import IsolationLevel
from service.sandbox.zygote_process import HostLauncher
from tests.integration.sandbox.bench import (
    GOOD,
    LIMITS,
    fork_server_of,
    keeper_of,
    names_in,
    problem,
    processes_naming,
    program,
    sandbox,
)
from tests.patience import PATIENCE_SECONDS

LEVELS = list(IsolationLevel)


def sleeper(mark: str) -> str:
    return f'import subprocess\ndef solve():\n    subprocess.run(["sleep", "{mark}"])\n'


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - processes of others set no event
            await asyncio.sleep(0.01)


def mark() -> str:
    return f"600.{uuid.uuid4().int % 10**9}"


@pytest.mark.parametrize("force", LEVELS)
async def test_cancelling_ends_the_evaluation_long_before_its_limit(tmp_path: Path, force: IsolationLevel) -> None:
    seconds = mark()
    async with sandbox(tmp_path, force=force, limits=replace(LIMITS, wall_seconds=60.0)) as opened:
        running = asyncio.create_task(opened.evaluate(program(sleeper(seconds)), "evl_1"))
        await until(lambda: processes_naming(seconds))
        began = monotonic()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert monotonic() - began < 10.0
        assert processes_naming(seconds) == []
        assert (await opened.evaluate(GOOD, "evl_2")).ok


async def test_a_call_cancelled_while_it_waits_for_a_slot_takes_none(tmp_path: Path) -> None:
    async with sandbox(tmp_path) as opened:
        slow = "import time\ndef solve():\n    time.sleep(0.3)\n    return 1.0\n"
        running = asyncio.create_task(opened.evaluate(program(slow), "evl_1"))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(opened.evaluate(GOOD, "evl_2"))
        await asyncio.sleep(0)
        waiting.cancel()
        assert (await running).ok
        assert (await opened.evaluate(GOOD, "evl_3")).ok


@pytest.mark.parametrize("force", LEVELS)
async def test_closing_in_the_middle_leaves_nothing(tmp_path: Path, force: IsolationLevel) -> None:
    seconds = mark()
    async with sandbox(tmp_path, force=force, limits=replace(LIMITS, wall_seconds=60.0)) as opened:
        running = asyncio.create_task(opened.evaluate(program(sleeper(seconds)), "evl_1"))
        await until(lambda: processes_naming(seconds))
    assert processes_naming(seconds) == []
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("force", [IsolationLevel.STRONG, IsolationLevel.MEDIUM, IsolationLevel.WEAK])
async def test_a_keeper_that_dies_is_replaced_and_the_evaluation_done_again(
    tmp_path: Path, force: IsolationLevel
) -> None:
    seconds = mark()
    source = f"""
        import os, subprocess
        def solve():
            subprocess.Popen(["sleep", "{seconds}"]).wait(2)
    """
    async with sandbox(tmp_path, force=force, limits=replace(LIMITS, wall_seconds=60.0)) as opened:
        running = asyncio.create_task(opened.evaluate(program(source), "evl_1"))
        await until(lambda: processes_naming(seconds))
        first = keeper_of(opened)
        os.kill(first, signal.SIGKILL)
        evaluation = await running
        assert (evaluation.outcome, evaluation.reason.partition(":")[0]) == (Outcome.ERROR, "TimeoutExpired")
        assert keeper_of(opened) != first
        assert processes_naming(seconds) == []
        assert (await opened.evaluate(GOOD, "evl_2")).ok


@pytest.mark.parametrize("victim", [keeper_of, fork_server_of])
@pytest.mark.parametrize("force", [IsolationLevel.STRONG, IsolationLevel.MEDIUM, IsolationLevel.WEAK])
async def test_nothing_waits_for_the_next_keeper_when_one_or_its_fork_server_is_killed(
    tmp_path: Path, force: IsolationLevel, victim: Callable[[SandboxEvaluator], int]
) -> None:
    seconds = mark()
    source = f"""
        import os, subprocess
        def solve():
            open("file", "w").write("x")
            os.makedirs("closed/folder")
            os.chmod("closed", 0)
            subprocess.Popen(["setsid", "sleep", "{seconds}"]).wait()
    """
    async with sandbox(tmp_path, force=force, limits=replace(LIMITS, wall_seconds=60.0)) as opened:
        running = asyncio.create_task(opened.evaluate(program(source), "evl_1"))
        await until(lambda: processes_naming(seconds))
        born = {keeper_of(opened), fork_server_of(opened)}
        # No keeper is made meanwhile.
        async with opened._keeper_pools[0]._one_at_a_time:
            os.kill(victim(opened), signal.SIGKILL)
            await until(lambda: not processes_naming(seconds))
            await until(lambda: not born & set(processes_naming(str(opened.folder))))
            assert list(opened.folder.glob("cells/*/*/scratch/*")) == []
            running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert (await opened.evaluate(GOOD, "evl_2")).ok


async def test_a_keeper_whose_closing_is_cancelled_leaves_no_open_line(tmp_path: Path) -> None:
    async with sandbox(tmp_path) as opened:
        (keeper,) = opened._keeper_pools[0].keepers
        os.kill(keeper.fork_server, signal.SIGSTOP)  # the keeper waits for it
        closing = asyncio.create_task(opened._keeper_pools[0].bury(keeper))
        await until(lambda: keeper not in opened._keeper_pools[0].keepers)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert keeper._line._writer.is_closing()
        assert keeper.gone
        with suppress(ProcessLookupError):  # it ends with its keeper where one may end the other
            os.kill(keeper.fork_server, signal.SIGCONT)
        assert (await opened.evaluate(GOOD, "evl_1")).ok


async def test_a_program_over_which_keepers_keep_dying_is_lost(tmp_path: Path) -> None:
    seconds = mark()
    async with sandbox(tmp_path, limits=replace(LIMITS, wall_seconds=60.0)) as opened:
        running = asyncio.create_task(opened.evaluate(program(sleeper(seconds)), "evl_1"))
        for _ in range(2):
            await until(lambda: processes_naming(seconds))
            os.kill(keeper_of(opened), signal.SIGKILL)
            await until(lambda: not processes_naming(seconds))
        evaluation = await running
        assert evaluation.outcome is Outcome.LOST
        assert evaluation.reason.startswith("the sandbox was lost 2 times over it")
        assert (await opened.evaluate(GOOD, "evl_2")).ok


async def test_a_zygote_that_dies_is_started_again_when_it_is_needed(tmp_path: Path) -> None:
    async with sandbox(tmp_path) as opened:
        first = opened._keeper_pools[0].zygote
        os.kill(first, signal.SIGKILL)
        assert (await opened.evaluate(GOOD, "evl_1")).ok, "keepers live on without it"
        os.kill(keeper_of(opened), signal.SIGKILL)
        assert (await opened.evaluate(GOOD, "evl_2")).ok
        assert opened._keeper_pools[0].zygote != first


@pytest.fixture
def open_folder() -> Iterator[str]:
    """A folder that other users may pass, unlike pytest's."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield folder


@pytest.mark.parametrize("force", [IsolationLevel.STRONG, IsolationLevel.MEDIUM])
async def test_nothing_outlives_a_host_that_is_killed(tmp_path: Path, open_folder: str, force: IsolationLevel) -> None:
    seconds = mark()
    (tmp_path / "problem").mkdir()
    (tmp_path / "problem" / "evaluator.py").write_text("def score(outputs, program):\n    return {'score': 1}\n")
    script = f"""
import asyncio, os, pathlib
from service.sandbox.host import FolderGoneError
from service.sandbox.layers import IsolationLevel
from service.sandbox.zygote_process import HostLauncher
from tests.integration.sandbox.bench import problem, program
from service.sandbox.evaluator import open_evaluator
async def main():
    async with open_evaluator(problem(), pathlib.Path({str(tmp_path / "problem")!r}), 1, require=None,
                              force=IsolationLevel.{force.name}) as opened:
        await opened.evaluate(program({sleeper("MARK")!r}.replace("MARK", os.environ["MARK"])), "evl_1")
asyncio.run(main())
"""
    host = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        script,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "TMPDIR": open_folder, "MARK": seconds},
    )
    await until(lambda: processes_naming(seconds))
    host.kill()
    await host.wait()
    await until(lambda: not processes_naming(seconds))
    await until(lambda: names_in(Path(open_folder)) == [])


async def test_a_host_that_took_no_leave_has_died_though_it_still_is_the_parent(tmp_path: Path) -> None:
    """A process that dies closes its files first; until it is dead, it counts as the parent of its children."""
    (tmp_path / "sandbox" / "cells").mkdir(parents=True)
    orders = {"preload": [], "library": "", "compile": [], "tree": True}
    zygote = await Zygote.start(HostLauncher("", ENVIRONMENT), orders, tmp_path / "sandbox" / "zygote.log")
    zygote._process.control.shutdown(socket.SHUT_RDWR)
    await until(lambda: not zygote.alive)
    await zygote.close()
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("warmed", [True, False])
async def test_a_zygote_that_is_let_go_of_leaves_its_folder_to_the_host(tmp_path: Path, warmed: bool) -> None:
    (tmp_path / "sandbox").mkdir()
    orders = {"preload": [] if warmed else ["nothing_of_this_name"], "library": "", "compile": [], "tree": True}
    starting = Zygote.start(HostLauncher("", ENVIRONMENT), orders, tmp_path / "sandbox" / "zygote.log")
    with nullcontext() if warmed else pytest.raises(InvalidProblemError):
        await (await starting).close()
    assert names_in(tmp_path) == ["sandbox"]


async def test_slots_run_at_once(tmp_path: Path) -> None:
    seconds = mark()
    async with sandbox(tmp_path, slots=4, limits=replace(LIMITS, wall_seconds=60.0)) as opened:
        assert opened.slots == 4
        sleeping = [
            asyncio.create_task(opened.evaluate(program(sleeper(seconds)), f"evl_{number}")) for number in range(4)
        ]
        await until(lambda: len(processes_naming(seconds)) == 4)
        for evaluation in sleeping:
            evaluation.cancel()
        await asyncio.gather(*sleeping, return_exceptions=True)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"preload": ("nothing_of_this_name",)}, "preload: nothing_of_this_name cannot be imported by "),
        ({"python": "/nowhere/python"}, "the interpreter /nowhere/python cannot be started: No such file"),
        ({"python": "/bin/false"}, "the interpreter of the sandbox cannot be started: it did not answer"),
    ],
)
async def test_what_cannot_be_warmed_up_is_named(tmp_path: Path, spec: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidProblemError, match=f"^{complaint}"):
        async with sandbox(tmp_path, **spec):
            pass


async def test_inputs_that_fail_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match=r"^inputs\(\): the evaluator failed: ValueError: no \(line 1 of"):
        async with sandbox(tmp_path, "def inputs(): raise ValueError('no')\n"):
            pass


async def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match="cannot be read"):
        async with open_evaluator(problem(), tmp_path / "nowhere", 1, require=None):
            pass


@pytest.fixture
def foreign_python(tmp_path: Path) -> Path:
    link = tmp_path / "python"
    link.symlink_to(Path(sys.executable).resolve())
    return link


async def test_a_foreign_interpreter_is_used(tmp_path: Path, foreign_python: Path) -> None:
    source = "import sys\ndef solve():\n    return sys.executable\n"
    async with sandbox(tmp_path, python=str(foreign_python)) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
    assert evaluation.feedback == repr(str(foreign_python))


async def test_cancelling_who_holds_the_sandbox_leaves_nothing(tmp_path: Path) -> None:
    bases: list[Path] = []

    async def hold() -> None:
        async with sandbox(tmp_path) as opened:
            bases.append(opened.folder)
            await asyncio.Event().wait()

    holding = asyncio.create_task(hold())
    await until(lambda: bases)
    holding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holding
    assert processes_naming(str(bases[0])) == []


async def test_two_evaluators_in_one_process_do_not_disturb_each_other(tmp_path: Path) -> None:
    crowd = """
        import os, time
        def solve():
            for _ in range(12):
                if os.fork() == 0:
                    time.sleep(60)
            time.sleep(0.3)
            return 1.0
    """
    async with (
        sandbox(tmp_path / "a", force=IsolationLevel.MEDIUM) as first,
        sandbox(tmp_path / "b", force=IsolationLevel.MEDIUM) as second,
    ):
        both = await asyncio.gather(
            first.evaluate(program(crowd), "evl_1"), *(second.evaluate(program(crowd), f"evl_{n}") for n in range(2))
        )
    assert [evaluation.outcome for evaluation in both] == [Outcome.OK] * 3


def remove_cells(base: Path) -> None:
    shutil.rmtree(base / "cells")


def remove_all(base: Path) -> None:
    shutil.rmtree(base)


def remove_evaluator(base: Path) -> None:
    (base / "problem" / "evaluator.py").unlink()


def remove_inputs(base: Path) -> None:
    (base / "inputs").unlink()


WITH_INPUTS = "def inputs(): return [[1]]\ndef score(outputs, program): return {'score': outputs[0]['value']}\n"
TAKES_ONE = "def solve(x):\n    return x\n"


@pytest.mark.parametrize("force", LEVELS)
@pytest.mark.parametrize("remove", [remove_evaluator, remove_all, remove_inputs])
async def test_files_removed_under_the_sandbox_end_the_run_and_are_no_programs_fault(
    tmp_path: Path, force: IsolationLevel, remove: Callable[[Path], None]
) -> None:
    async with sandbox(tmp_path, WITH_INPUTS, force=force) as opened:
        assert (await opened.evaluate(program(TAKES_ONE), "evl_1")).ok
        remove(opened.folder)
        for number in range(2):
            with pytest.raises(FolderGoneError, match=f"^somebody removed {opened.folder}.* resume the run$"):
                await opened.evaluate(program(TAKES_ONE), f"evl_{number}")


async def test_a_keeper_is_not_replaced_by_a_weaker_one_when_its_folder_was_removed(tmp_path: Path) -> None:
    async with sandbox(tmp_path) as opened:
        remove_cells(opened.folder)
        os.kill(keeper_of(opened), signal.SIGKILL)
        with pytest.raises(FolderGoneError, match=r"^somebody removed .*/cells while the sandbox used it"):
            await opened.evaluate(GOOD, "evl_1")


async def test_files_that_a_program_misses_are_its_own_fault(tmp_path: Path) -> None:
    async with sandbox(tmp_path) as opened:
        evaluation = await opened.evaluate(program("def solve():\n    open('absent')\n"), "evl_1")
    assert (evaluation.outcome, evaluation.reason.partition(":")[0]) == (Outcome.ERROR, "FileNotFoundError")
