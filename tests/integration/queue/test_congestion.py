"""Runs that share a pool on a real Redis: a late one waits for the next free slots, and no slot idles meanwhile."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing, contextmanager
from typing import Any

import pytest

from service.ports import Bundle, EvaluationLeases, EvaluationTask, Lease
from service.queue import connection, fairness
from service.queue import evaluator as module
from service.queue.evaluator import QueuedEvaluator, open_queued_evaluator
from tests.contract.queueing import GOOD, POOL, RedisBench, heartbeat, redis_bench, task
from tests.patience import PATIENCE_SECONDS

SLOTS, RUNS = 16, 8


@pytest.fixture
async def bench(redis_url: str) -> AsyncIterator[RedisBench]:
    async with redis_bench(redis_url) as opened:
        await opened.worker("a").heartbeat(heartbeat("a", slots=SLOTS))
        yield opened


async def leased(worker: EvaluationLeases) -> Lease:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (lease := await worker.lease(0.5)) is None:
            pass
    return lease


class Run:
    """A run that always has more to evaluate than it may submit."""

    def __init__(self, evaluator: QueuedEvaluator, number: int) -> None:
        self._evaluator, self._number, self._made = evaluator, number, 0
        self._calls: set[asyncio.Task[Any]] = set()

    def fill(self) -> None:
        """Have as many evaluations go on as the evaluator has slots."""
        while len(self._calls) < self._evaluator.slots:
            self._made += 1
            made = task(1000 * self._number + self._made)
            call = asyncio.create_task(self._evaluator.evaluate(made.program, made.evaluation_id))
            self._calls.add(call)
            call.add_done_callback(self._end)

    async def look(self) -> None:
        """Hear of its share and of the backlog."""
        await self._evaluator.claim()

    def _end(self, call: asyncio.Task[Any]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            self.fill()

    async def close(self) -> None:
        for call in [*self._calls]:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)


@contextmanager
def looking_every(seconds: float, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(module, "WATCH_SECONDS", seconds)
        yield


async def begin(stack: AsyncExitStack, bench: RedisBench, number: int) -> Run:
    """A run, with all that it submits in the queue."""
    queue = await stack.enter_async_context(aclosing(bench.submitter()))
    bundle = Bundle(hash=f"{number:064x}", content=b"nothing")
    run = Run(await stack.enter_async_context(open_queued_evaluator(queue, bundle, POOL)), number)
    stack.push_async_callback(run.close)
    run.fill()
    return run


def number_of(found: EvaluationTask) -> int:
    return int(found.bundle_hash, 16)


async def settled(bench: RedisBench) -> None:
    """Until nobody submits any more."""
    before = -1
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (length := int(await bench.client.xlen(connection.tasks(POOL)))) != before:
            before = length
            await asyncio.sleep(0.1)


async def test_runs_that_begin_one_after_the_other_all_have_slots_after_one_evaluation(
    bench: RedisBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first has all slots, and each submits by what it then takes for its share; evaluations last long."""
    monkeypatch.setattr(fairness, "CONGESTED_SECONDS", 0.05)
    worker = bench.worker("a")
    async with AsyncExitStack() as stack:
        stack.enter_context(looking_every(0.01, monkeypatch))
        held: list[Lease] = []
        for number in range(RUNS):
            await begin(stack, bench, number)
            await settled(bench)
            while len(held) < SLOTS:
                held.append(await leased(worker))
        assert {number_of(lease.task) for lease in held} == {0}
        for _ in range(SLOTS):  # one evaluation on each slot
            await settled(bench)
            assert await worker.complete(held.pop(0), GOOD)
            held.append(await leased(worker))
        counts = Counter(number_of(lease.task) for lease in held)
    assert set(counts) == set(range(RUNS))
    assert max(counts.values()) <= 2 * SLOTS // RUNS


async def test_a_single_run_refills_all_slots_that_become_free_together(
    bench: RedisBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task that waited for them had congested the pool, and the next look at it is far away."""
    worker = bench.worker("a")
    async with AsyncExitStack() as stack:
        stack.enter_context(looking_every(3600.0, monkeypatch))
        run = await begin(stack, bench, 1)
        held = [await leased(worker) for _ in range(SLOTS)]
        monkeypatch.setattr(fairness, "CONGESTED_SECONDS", 0.0)
        await run.look()
        for lease in held:
            assert await worker.complete(lease, GOOD)
        assert len([await leased(worker) for _ in range(SLOTS)]) == SLOTS


async def test_a_task_that_waited_congests_the_pool_for_all_until_it_is_taken(bench: RedisBench) -> None:
    queue, other, worker = bench.submitter(), bench.submitter(), bench.worker("a")
    seconds, microseconds = await bench.client.time()
    written: Any = {"task": b"{}", "reply": b"nobody", "evaluation_id": b"evl_old"}
    stream = connection.tasks(POOL)
    await bench.client.xadd(stream, written, id=f"{1000 * seconds + microseconds // 1000 - 5000}-0")
    await queue.submit(task(1), Bundle(hash="ab" * 32, content=b"nothing"))
    await other.share(POOL, 1)
    for one in (queue, other):
        assert 5.0 <= one.backlog(POOL).oldest_seconds < 5.0 + PATIENCE_SECONDS
    await worker.lease(0.01)
    await worker.lease(0.01)
    await leased(worker)
    await other.share(POOL, 1)
    assert other.backlog(POOL).oldest_seconds == 0.0


async def test_tasks_that_a_restored_redis_hands_out_anew_wait_again(bench: RedisBench) -> None:
    """Its stream is as it was when it was saved, and so is the place of the group in it."""
    queue, worker = bench.submitter(), bench.worker("a")
    bundle = Bundle(hash="ab" * 32, content=b"nothing")
    for number in range(4):
        await queue.submit(task(number), bundle)
    leases = [await leased(worker) for _ in range(3)]
    await queue.share(POOL, 1)
    assert queue.backlog(POOL).own == 1
    await bench.client.xgroup_setid(connection.tasks(POOL), connection.GROUP, id=leases[0].id)
    await queue.share(POOL, 1)
    assert queue.backlog(POOL).own == 3
    await leased(worker)
    await queue.share(POOL, 1)
    assert queue.backlog(POOL).own == 2


async def test_tasks_of_an_emptied_redis_wait_until_they_are_sent_and_taken_again(bench: RedisBench) -> None:
    queue, worker = bench.submitter(), bench.worker("a")
    await queue.submit(task(1), Bundle(hash="ab" * 32, content=b"nothing"))
    await leased(worker)
    await queue.share(POOL, 1)
    assert queue.backlog(POOL).own == 0
    await bench.client.flushdb()
    await queue.share(POOL, 1)
    assert queue.backlog(POOL).own == 1
    async with aclosing(queue.results()) as coming:  # type: ignore[type-var]  # every adapter's is a generator
        reading = asyncio.ensure_future(anext(coming))
        assert await worker.complete(await leased(worker), GOOD)
        await reading
    assert queue.backlog(POOL).own == 0
