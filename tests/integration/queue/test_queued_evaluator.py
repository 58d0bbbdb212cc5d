"""An evaluator over a queue: results to who awaits them, cancellation, slots, and words on why it waits."""

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import Any

import pytest
from prometheus_client import REGISTRY

from service.errors import UnreachableError
from service.ports import EvaluationLeases
from service.queue import evaluator as module
from service.queue.evaluator import open_queued_evaluator
from service.queue.fairness import GREEDY_SLOTS, WITHOUT_LIMIT
from service.queue.memory import MemoryBroker, MemoryEvaluationQueue, MemoryWorkers
from service.queue.metrics import read_queue_gauges
from tests.contract.queueing import BUNDLE, GOOD, POOL, MemoryBench, heartbeat, task
from tests.patience import PATIENCE_SECONDS


@pytest.fixture(autouse=True)
def watching_closely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WATCH_SECONDS", 0.005)


async def serve(worker: EvaluationLeases, count: int) -> None:
    for _ in range(count):
        lease = await worker.lease(5)
        assert lease is not None
        assert await worker.complete(lease, GOOD)


async def serve_on(worker: EvaluationLeases) -> None:
    """Serve without end, and also what was cancelled a moment ago."""
    while True:
        if (lease := await worker.lease(5)) is not None:
            await worker.complete(lease, GOOD)


async def test_evaluations_at_once_each_get_their_own_result() -> None:
    bench = MemoryBench()
    async with open_queued_evaluator(bench.submitter(), BUNDLE, POOL) as evaluator:
        calls = [
            asyncio.create_task(evaluator.evaluate(task(number).program, task(number).evaluation_id))
            for number in range(5)
        ]
        await serve(bench.worker("a"), 5)
        assert await asyncio.gather(*calls) == [GOOD] * 5


async def test_cancelling_a_call_takes_its_task_back() -> None:
    bench = MemoryBench()
    async with open_queued_evaluator(bench.submitter(), BUNDLE, POOL) as evaluator:
        calls = [
            asyncio.create_task(evaluator.evaluate(task(number).program, task(number).evaluation_id))
            for number in range(2)
        ]
        worker = bench.worker("a")
        lease = await worker.lease(5)
        assert lease is not None
        for call in calls:
            call.cancel()
        assert all(
            isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*calls, return_exceptions=True)
        )
        assert await worker.renew(lease) == "cancelled"
        assert await worker.lease(0.01) is None


@pytest.mark.parametrize("turns", range(6))
async def test_a_cancelled_evaluation_that_was_not_submitted_yet_leaves_its_turn_to_the_next(turns: int) -> None:
    """Cancelled before, while and after its turn comes."""
    bench = MemoryBench()
    worker = bench.worker("a")
    await worker.heartbeat(heartbeat("a", 1))
    async with open_queued_evaluator(bench.submitter(), BUNDLE, POOL) as evaluator:
        calls = [
            asyncio.create_task(evaluator.evaluate(task(number).program, task(number).evaluation_id))
            for number in range(5)
        ]
        lease = await worker.lease(5)
        assert lease is not None
        assert len(bench.broker.pool(POOL)) == evaluator.slots - 1 == 1
        assert await worker.complete(lease, GOOD)
        for _ in range(turns):
            await asyncio.sleep(0)
        calls[2].cancel()
        serving = asyncio.create_task(serve_on(worker))
        found = await asyncio.gather(*calls, return_exceptions=True)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        assert [one == GOOD for one in found] == [True, True, False, True, True]
        assert isinstance(found[2], asyncio.CancelledError)
        assert not bench.broker.pool(POOL)
        assert not bench.broker.pending
        assert evaluator._gate._admitted == evaluator._gate._not_submitted == 0


class Claims(MemoryEvaluationQueue):
    """A queue whose claims a test can follow; `next` waits for one made from now on."""

    def __init__(self, broker: MemoryBroker) -> None:
        super().__init__(broker)
        self._claims: asyncio.Queue[int] = asyncio.Queue(1)

    async def share(self, pool: str, wants: int) -> int:
        with suppress(asyncio.QueueFull):
            self._claims.put_nowait(wants)
        return await super().share(pool, wants)

    async def next(self) -> int:
        for _ in range(self._claims.qsize()):
            self._claims.get_nowait()
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self._claims.get()

    async def until(self, wants: int) -> None:
        while min(await self.next(), WITHOUT_LIMIT) != wants:
            pass


async def test_a_run_claims_what_it_had_use_for_lately_and_all_once_that_is_its_share() -> None:
    bench = MemoryBench()
    await bench.worker("a").heartbeat(heartbeat("a", 16))
    queue = Claims(bench.broker)
    calls: list[asyncio.Task[Any]] = []
    async with open_queued_evaluator(queue, BUNDLE, POOL) as evaluator:
        assert (evaluator.slots, await queue.next()) == (16 + 2, 0)
        for count, wants in ((3, 3), (17, 17), (18, WITHOUT_LIMIT)):
            for number in range(len(calls), count):
                call = evaluator.evaluate(task(number).program, task(number).evaluation_id)
                calls.append(asyncio.create_task(call))
            await queue.until(wants)
        await serve(bench.worker("a"), len(calls))
        assert await asyncio.gather(*calls) == [GOOD] * len(calls)
        await queue.until(0)


async def test_two_runs_have_half_the_slots_each_until_one_has_nothing_to_do() -> None:
    bench = MemoryBench()
    await bench.worker("a").heartbeat(heartbeat("a", 16))
    queues = [Claims(bench.broker), Claims(bench.broker)]
    async with (
        open_queued_evaluator(queues[0], BUNDLE, POOL) as first,
        open_queued_evaluator(queues[1], BUNDLE, POOL) as second,
    ):
        calls = [
            asyncio.create_task(evaluator.evaluate(task(number).program, f"evl_{number}_{id(evaluator)}"))
            for evaluator in (first, second)
            for number in range(20)
        ]
        for queue in (*queues, *queues):
            await queue.until(WITHOUT_LIMIT)
        assert (first.slots, second.slots) == (8 + 1, 8 + 1)
        for call in calls[:20]:
            call.cancel()
        await queues[0].until(0)
        await queues[1].next()
        await queues[1].next()
        assert second.slots == 16 + 2
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


async def test_a_run_without_workers_waits_and_says_why_until_one_comes() -> None:
    bench = MemoryBench()
    queue = Claims(bench.broker)
    async with open_queued_evaluator(queue, BUNDLE, POOL) as evaluator:
        assert (evaluator.slots, evaluator.waiting) == (1, "")
        call = asyncio.create_task(evaluator.evaluate(task().program, task().evaluation_id))
        await queue.until(WITHOUT_LIMIT)
        assert evaluator.waiting == "no worker takes evaluations of pool cpu"
        await bench.worker("a").heartbeat(heartbeat("a", 3))
        await bench.worker("b").heartbeat(heartbeat("b", 4))
        await queue.until(1)
        await queue.next()
        assert (evaluator.slots, evaluator.waiting) == (8, "")
        await serve(bench.worker("a"), 1)
        assert await call == GOOD


async def test_a_result_ends_the_waiting_before_the_workers_are_looked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WATCH_SECONDS", 60.0)
    bench = MemoryBench()
    queue = Claims(bench.broker)
    async with open_queued_evaluator(queue, BUNDLE, POOL) as evaluator:
        calls = [asyncio.create_task(evaluator.evaluate(task(n).program, task(n).evaluation_id)) for n in range(2)]
        await queue.next()
        assert evaluator.waiting == "no worker takes evaluations of pool cpu"
        await serve(bench.worker("a"), 1)
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        assert evaluator.waiting == ""
        await serve(bench.worker("a"), 1)
        await asyncio.gather(*calls)


class Away(Claims):
    """A queue that can be away."""

    away = False

    async def share(self, pool: str, wants: int) -> int:
        share = await super().share(pool, wants)
        if self.away:
            raise UnreachableError("the queue does not answer: it is gone")
        return share


async def test_a_queue_that_goes_away_is_waited_for_with_the_reason() -> None:
    bench = MemoryBench()
    queue = Away(bench.broker)
    await bench.worker("a").heartbeat(heartbeat("a", 3))
    async with open_queued_evaluator(queue, BUNDLE, POOL) as evaluator:
        call = asyncio.create_task(evaluator.evaluate(task().program, task().evaluation_id))
        queue.away = True
        for _ in range(2):
            await queue.next()
        assert (evaluator.slots, evaluator.waiting) == (4, "the queue does not answer: it is gone")
        queue.away = False
        for _ in range(2):
            await queue.next()
        assert evaluator.waiting == ""
        await serve(bench.worker("a"), 1)
        assert await call == GOOD


async def test_a_queue_that_is_away_at_the_start_ends_it() -> None:
    queue = Away(MemoryBench().broker)
    queue.away = True
    with pytest.raises(UnreachableError):
        async with open_queued_evaluator(queue, BUNDLE, POOL):
            pass


@pytest.mark.parametrize("runs", [1, 4, 16])
async def test_demand_grows_with_the_number_of_runs_that_could_use_more(runs: int) -> None:
    bench = MemoryBench()
    await bench.worker("a").heartbeat(heartbeat("a", 8))
    queues = [Claims(bench.broker) for _ in range(runs)]
    async with AsyncExitStack() as stack:
        evaluators = [await stack.enter_async_context(open_queued_evaluator(queue, BUNDLE, POOL)) for queue in queues]
        calls: list[asyncio.Task[Any]] = []
        for number, evaluator in enumerate(evaluators):
            for place in range(evaluator.slots):
                evaluation = evaluator.evaluate(task(place).program, f"evl_{number}_{place}")
                calls.append(asyncio.create_task(evaluation))
        for queue in queues:
            await queue.until(WITHOUT_LIMIT)
        assert await MemoryWorkers(bench.broker).wants() == {POOL: runs * GREEDY_SLOTS}
        await read_queue_gauges(MemoryWorkers(bench.broker))
        assert REGISTRY.get_sample_value("evolve_worker_slots_wanted", {"pool": POOL}) == runs * GREEDY_SLOTS
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
