"""A question of a domain, scored by a worker that knows nothing but the problem's folder as it was packed."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from evolve.program import Program
from service.bootstrap.workers import open_local_worker
from service.config import SandboxSettings, Settings
from service.problems.load import load_problem
from service.queue.evaluator import open_local_evaluator
from service.queue.memory import MemoryBroker
from service.timestamps import SystemClock
from tests.unit.problems.domains.samples import files_of
from tests.unit.problems.folders import write

SETTINGS = Settings(sandbox=SandboxSettings(require="none"))
ANSWERS = {"maze": ("seed.txt", "RRR"), "livecodebench": ("seed.py", "print(sum(map(int, input().split())))")}


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_worker_needs_nothing_but_the_bundle(tmp_path: Path, name: str) -> None:
    loaded = load_problem(write(tmp_path, files_of(name)))
    broker = MemoryBroker(clock=SystemClock())
    async with open_local_worker(SETTINGS, broker, slots=1) as opening:
        working = asyncio.create_task(opening.run())
        async with open_local_evaluator(broker, loaded.problem, loaded.bundle) as evaluator:
            path, text = ANSWERS[name]
            evaluation = await evaluator.evaluate(Program.of({path: text}), "evl_" + "0" * 32)
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
    assert evaluation.ok, evaluation.reason
    assert evaluation.scores[loaded.problem.objective_names[0]] == 1.0
