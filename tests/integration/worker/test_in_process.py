"""Runs, a worker beside them, and one that comes over HTTP, on one queue of one process; and what is told of it."""

import asyncio

import pytest
from prometheus_client import REGISTRY

from service.ports import Bundle, LeaseName, LeaseState, WorkerState
from service.queue.evaluator import open_queued_evaluator
from service.queue.memory import MAX_BUNDLES, MemoryEvaluationLeases, MemoryEvaluationQueue
from service.queue.metrics import read_queue_gauges
from service.worker.worker import Worker, WorkerIntervals
from tests.contract.http_leases import http_bench
from tests.contract.queueing import BUNDLE, POOL, MemoryBench, heartbeat, task
from tests.integration.worker.test_worker import PACE, Lab


@pytest.fixture
async def bench() -> MemoryBench:
    return MemoryBench()


async def test_runs_a_local_worker_and_a_remote_one_share_a_queue(bench: MemoryBench) -> None:
    lab = Lab()
    async with (
        http_bench(bench) as http,
        open_queued_evaluator(bench.submitter(), BUNDLE, POOL) as first,
        open_queued_evaluator(bench.submitter(), BUNDLE, POOL) as second,
    ):
        local = Worker(bench.worker("local"), lab.open, heartbeat("local", slots=1), PACE)
        remote = Worker(http.worker("remote"), lab.open, heartbeat("remote", slots=1), PACE)
        running = [asyncio.create_task(worker.run()) for worker in (local, remote)]
        calls = [
            evaluator.evaluate(task(number).program, f"{name}{number}")
            for name, evaluator in (("a", first), ("b", second))
            for number in range(20)
        ]
        found = await asyncio.gather(*calls)
        for worker in (local, remote):
            worker.drain.set()
        await asyncio.gather(*running)
    assert {evaluation.worker for evaluation in found} == {"local", "remote"}
    assert local.heartbeat.evaluations + remote.heartbeat.evaluations == len(found) == 40
    assert list(await bench.workers().workers()) == []


async def test_an_evaluation_that_ends_while_its_renewal_waits_for_news_is_given_at_once(
    bench: MemoryBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, renewed, renew = Lab(), asyncio.Event(), MemoryEvaluationLeases.renew

    async def noted(leases: MemoryEvaluationLeases, lease: LeaseName) -> LeaseState:
        renewed.set()
        return await renew(leases, lease)

    monkeypatch.setattr(MemoryEvaluationLeases, "renew", noted)
    lab.gate.clear()
    async with http_bench(bench) as http, open_queued_evaluator(bench.submitter(), BUNDLE, POOL) as evaluator:
        leases = http.worker("remote")
        leases._hold_seconds = 5.0  # type: ignore[attr-defined]  # the bench's own answers at once
        worker = Worker(
            leases, lab.open, heartbeat("remote"), WorkerIntervals(ask=0.01, renew=0.01, heartbeat=0.01, wait=0.01)
        )
        running = asyncio.create_task(worker.run())
        call = asyncio.create_task(evaluator.evaluate(task().program, "a"))
        await lab.until(lambda: len(lab.begun) == 1)
        await renewed.wait()
        lab.gate.set()
        async with asyncio.timeout(2.0):
            await call
        worker.drain.set()
        await running


async def test_gauges_follow_the_queue(bench: MemoryBench) -> None:
    def gauge(name: str, **labels: str) -> float | None:
        return REGISTRY.get_sample_value(name, {"pool": "lab", **labels})

    queue, watch = MemoryEvaluationQueue(bench.broker), bench.workers()
    for number in range(3):
        await queue.submit(task(number, pool="lab"), BUNDLE)
    await bench.worker("a", "lab").heartbeat(heartbeat("a", slots=4, pool="lab"))
    await read_queue_gauges(watch)
    assert (gauge("evolve_queue_depth"), gauge("evolve_worker_slots"), gauge("evolve_worker_slots_busy")) == (3, 4, 1)
    await queue.share("lab", 3)
    await read_queue_gauges(watch)
    assert gauge("evolve_worker_slots_wanted") == 3
    assert [gauge("evolve_workers", state=state) for state in WorkerState] == [1, 0]
    await bench.worker("a", "lab").leave()
    await queue.aclose()
    bench.broker.waiting.clear()
    await read_queue_gauges(watch)
    assert (gauge("evolve_queue_depth"), gauge("evolve_worker_slots")) == (0, 0)
    assert [gauge("evolve_workers", state=state) for state in WorkerState] == [0, 0]


async def test_folders_of_problems_do_not_pile_up_and_none_goes_whose_task_waits(bench: MemoryBench) -> None:
    waiting, done = MemoryEvaluationQueue(bench.broker), MemoryEvaluationQueue(bench.broker)
    await waiting.submit(task(), BUNDLE)
    for number in range(3 * MAX_BUNDLES):
        await done.submit(task(number + 10, pool="other"), Bundle(hash=f"{number:064x}", content=b""))
        await done.aclose()
    assert len(bench.broker.bundles) == MAX_BUNDLES
    assert await bench.worker("a").bundle(BUNDLE.hash) == BUNDLE
