"""A place to try real programs in the real sandbox, and to see what they leave behind."""

import contextlib
import textwrap
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from evolve.evaluation import Evaluation
from evolve.problem import EvaluatorSpec, Integrity, Limits, Measure, Objective, Problem
from evolve.program import Program
from service.sandbox.device_monitor import DeviceMonitor
from service.sandbox.evaluator import SandboxEvaluator, open_evaluator
from service.sandbox.layers import IsolationLevel

# Scores a number as itself, and shows whatever else came back.
ECHO = """
def score(outputs, program):
    value = outputs[0]["value"]
    return {"score": value if isinstance(value, (int, float)) else 0.0, "feedback": repr(value)}
"""
LIMITS = Limits(wall_seconds=5.0, cpu_seconds=5.0, memory_mb=256, processes=16, disk_mb=8, output_kb=64)


def program(source: str) -> Program:
    return Program.of({"main.py": textwrap.dedent(source)})


GOOD = program("def solve():\n    return 1.5\n")


def problem(
    *,
    limits: Limits = LIMITS,
    objectives: tuple[Objective, ...] = (),
    measures: tuple[Measure, ...] = (),
    **spec: Any,
) -> Problem:
    if spec.get("integrity") is not Integrity.SHARED and "command" not in spec:
        spec.setdefault("entry", "solve")
    evaluator = EvaluatorSpec(**spec)
    return Problem(
        name="bench", seeds=(GOOD,), evaluator=evaluator, limits=limits, objectives=objectives, measures=measures
    )


@asynccontextmanager
async def sandbox(
    tmp_path: Path,
    evaluator: str = ECHO,
    *,
    files: Mapping[str, str] | None = None,
    slots: int = 1,
    force: IsolationLevel | None = None,
    require: IsolationLevel | None = None,
    devices: DeviceMonitor | None = None,
    **options: Any,
) -> AsyncIterator[SandboxEvaluator]:
    """An open evaluator; afterwards neither a process nor a file of it may be left."""
    folder = tmp_path / "problem"
    for path, text in {"evaluator.py": evaluator, **(files or {})}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(text))
    async with open_evaluator(
        problem(**options), folder, slots, require=require, force=force, devices=devices
    ) as opened:
        base = opened.folder
        yield opened
    assert processes_naming(str(base)) == []
    assert not base.exists()


async def outcome_of(tmp_path: Path, source: str, evaluator: str = ECHO, **options: Any) -> Evaluation:
    """What comes of one program; a good one must score before and after it."""
    async with sandbox(tmp_path, evaluator, **options) as opened:
        evaluation = await opened.evaluate(program(source), "evl_bad")
        after = await opened.evaluate(GOOD, "evl_good")
        assert after.ok, after.reason
        assert len(standing(opened)) == 1 + 2 * opened.slots, "zygote, keepers, fork servers"
    return evaluation


def fork_server_of(opened: SandboxEvaluator) -> int:
    """The process that forks the programs of the only keeper."""
    (keeper,) = opened._keeper_pools[0].keepers
    return keeper.fork_server


def keeper_of(opened: SandboxEvaluator) -> int:
    """The process of the only keeper."""
    (keeper,) = opened._keeper_pools[0].keepers
    return keeper.pid


def standing(opened: SandboxEvaluator) -> list[int]:
    """The sandbox's processes, but the child that each fork server has ready for its next order."""
    ready = [children_of(keeper.fork_server) for keeper in opened._keeper_pools[0].keepers]
    assert max(map(len, ready)) <= 1
    return sorted(set(processes_naming(str(opened.folder))) - set(chain(*ready)))


def children_of(pid: int) -> list[int]:
    """The processes that a process started, as the machine numbers them."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def names_in(folder: Path) -> list[str]:
    """What lies in a folder, sorted."""
    return sorted(path.name for path in folder.iterdir())


def processes_naming(text: str) -> list[int]:
    """Processes whose command line holds a text: forks of a zygote name its folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if text.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found
