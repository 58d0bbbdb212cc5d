"""A worker beside the other parts of a process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from evolve.evaluation import Outcome
from service.ports import EvaluationResult
from service.process.supervise import together
from service.queue.evaluator import open_queued_evaluator
from service.queue.memory import MemoryEvaluationLeases, MemoryEvaluationQueue
from service.worker.worker import Worker
from tests.contract.queueing import BUNDLE, POOL, MemoryBench, heartbeat, task
from tests.integration.worker.test_worker import PACE, Lab
from tests.patience import PATIENCE_SECONDS


class Process:
    """A process of one part, which a worker works beside."""

    def __init__(self, leases: MemoryEvaluationLeases) -> None:
        self.leaving = asyncio.Event()
        self.left = False
        self.worker = Worker(leases, Lab().open, heartbeat("a"), PACE)

    async def run(self) -> None:
        await together([self._part], self.worker, self.leaving.set)

    async def _part(self) -> None:
        await self.leaving.wait()
        self.left = True


@pytest.fixture
async def bench() -> MemoryBench:
    return MemoryBench()


@pytest.fixture
async def leases(bench: MemoryBench) -> MemoryEvaluationLeases:
    return MemoryEvaluationLeases(bench.broker, POOL, "a")


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.01)


async def test_a_drained_worker_rests_and_ends_nothing_else(bench: MemoryBench, leases: MemoryEvaluationLeases) -> None:
    async def listed() -> bool:
        return [one.worker_id for one in await bench.workers().workers()] == ["a"]

    async def gone() -> bool:
        return not await bench.workers().workers()

    process = Process(leases)
    running = asyncio.create_task(process.run())
    await until(listed)
    await bench.workers().drain("a")
    await until(gone)
    assert not running.done()
    assert not process.leaving.is_set()
    process.leaving.set()
    await running


async def test_a_worker_that_breaks_ends_the_process_and_says_why(
    leases: MemoryEvaluationLeases, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("nobody expected this")

    monkeypatch.setattr(MemoryEvaluationLeases, "lease", broken)
    process = Process(leases)
    with pytest.raises(RuntimeError, match="nobody expected this"):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await process.run()
    assert process.left


async def test_a_worker_lives_on_when_a_sign_of_life_breaks(
    bench: MemoryBench, leases: MemoryEvaluationLeases, monkeypatch: pytest.MonkeyPatch
) -> None:
    heartbeats, give = 0, MemoryEvaluationLeases.heartbeat

    async def broken_once(self: MemoryEvaluationLeases, beat_: object) -> bool:
        nonlocal heartbeats
        heartbeats += 1
        if heartbeats == 1:
            raise RuntimeError("nobody expected this")
        return await give(self, beat_)  # type: ignore[arg-type]  # what a worker gives

    async def listed() -> bool:
        return bool(await bench.workers().workers())

    monkeypatch.setattr(MemoryEvaluationLeases, "heartbeat", broken_once)
    process = Process(leases)
    running = asyncio.create_task(process.run())
    await until(listed)
    process.leaving.set()
    await running
    assert heartbeats > 1


async def test_a_run_hears_of_its_results_although_handing_them_on_broke(
    bench: MemoryBench, leases: MemoryEvaluationLeases, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, results = 0, MemoryEvaluationQueue.results

    async def broken_once(self: MemoryEvaluationQueue) -> AsyncIterator[EvaluationResult]:
        nonlocal begun
        begun += 1
        if begun == 1:
            raise RuntimeError("nobody expected this")
        async for result in results(self):
            yield result

    monkeypatch.setattr(MemoryEvaluationQueue, "results", broken_once)
    process = Process(leases)
    running = asyncio.create_task(process.run())
    async with open_queued_evaluator(bench.submitter(), BUNDLE, POOL) as evaluator, asyncio.timeout(PATIENCE_SECONDS):
        assert (await evaluator.evaluate(task().program, "a")).outcome is Outcome.OK
    process.leaving.set()
    await running
    assert begun > 1
