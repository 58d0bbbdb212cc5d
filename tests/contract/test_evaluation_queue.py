"""What every EvaluationQueue and its EvaluationLeases hold, in memory and on a real Redis."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta

import pytest

from evolve.evaluation import Outcome, ScoringRequest, Trace
from service.errors import NotFoundError
from service.ports import DeviceState, EvaluationLeases, EvaluationQueue, Lease, LeaseState, RunningTask, WorkerState
from service.queue.fairness import GREEDY_SLOTS, claim
from tests.contract.http_leases import http_bench
from tests.contract.queueing import (
    BUNDLE,
    GOOD,
    POOL,
    TERMS,
    Bench,
    MemoryBench,
    heartbeat,
    redis_bench,
    results,
    task,
)
from tests.patience import PATIENCE_SECONDS


@pytest.fixture(params=["memory", "redis", "memory over http", "redis over http"])
async def bench(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    async with AsyncExitStack() as stack:
        found: Bench = MemoryBench()
        if "redis" in request.param:
            found = await stack.enter_async_context(redis_bench(request.getfixturevalue("redis_url")))
        if "http" in request.param:
            found = await stack.enter_async_context(http_bench(found))
        yield found


@pytest.fixture
def queue(bench: Bench) -> EvaluationQueue:
    return bench.submitter()


async def leased(worker: EvaluationLeases) -> Lease:
    """The next task; a worker's first call on a new stream may only found its group."""
    for _ in range(3):
        if (lease := await worker.lease(0.3)) is not None:
            return lease
    raise AssertionError("no task came")


async def nothing(worker: EvaluationLeases) -> bool:
    return [await worker.lease(0.01) for _ in range(2)] == [None, None]


class TestDelivery:
    async def test_a_task_and_its_result_come_as_they_went(self, bench: Bench, queue: EvaluationQueue) -> None:
        await queue.submit(task(), BUNDLE)
        worker = bench.worker("a")
        lease = await leased(worker)
        assert (lease.task, lease.delivery) == (task(), 1)
        assert await worker.complete(lease, GOOD)
        assert await results(queue, 1) == [(task().evaluation_id, GOOD)]

    async def test_a_trace_comes_with_the_result(self, bench: Bench, queue: EvaluationQueue) -> None:
        await queue.submit(replace(task(), scoring=ScoringRequest(traced=True)), BUNDLE)
        worker = bench.worker("a")
        trace = Trace(printed={"both": "hello"}, artifacts={"plan": "one"}, imports={"numpy": 0.25})
        given = replace(GOOD, trace=trace)
        assert await worker.complete(await leased(worker), given)
        assert await results(queue, 1) == [(task().evaluation_id, given)]

    async def test_what_is_wanted_of_an_evaluation_comes_with_its_task(
        self, bench: Bench, queue: EvaluationQueue
    ) -> None:
        wanted = [
            ScoringRequest(early_stop_threshold=-1.5),
            ScoringRequest(holdout=True),
            ScoringRequest(draw=3),
            ScoringRequest(traced=True),
            ScoringRequest(render=True),
        ]
        for number, scoring in enumerate(wanted):
            await queue.submit(replace(task(number), scoring=scoring), BUNDLE)
        worker = bench.worker("a")
        assert [(await leased(worker)).task.scoring for _ in wanted] == wanted

    async def test_tasks_go_out_in_the_order_they_came_each_to_one_worker(
        self, bench: Bench, queue: EvaluationQueue
    ) -> None:
        for number in range(4):
            await queue.submit(task(number), BUNDLE)
        workers = [bench.worker("a"), bench.worker("b")]
        taken = [(await leased(workers[number % 2])).task for number in range(4)]
        assert taken == [task(number) for number in range(4)]
        assert await nothing(workers[0])

    async def test_a_worker_waits_for_a_task(self, bench: Bench, queue: EvaluationQueue) -> None:
        worker = bench.worker("a")
        assert await nothing(worker)
        waiting = asyncio.create_task(worker.lease(0.5))
        await asyncio.sleep(0)
        await queue.submit(task(), BUNDLE)
        lease = await waiting
        assert lease is not None
        assert lease.task == task()

    async def test_pools_are_apart(self, bench: Bench, queue: EvaluationQueue) -> None:
        await queue.submit(task(1, pool="gpu"), BUNDLE)
        assert await nothing(bench.worker("a"))
        assert (await leased(bench.worker("b", pool="gpu"))).task.pool == "gpu"

    async def test_each_submitter_gets_its_own_results(self, bench: Bench) -> None:
        first, second, worker = bench.submitter(), bench.submitter(), bench.worker("a")
        await first.submit(task(1), BUNDLE)
        await second.submit(task(2), BUNDLE)
        for _ in range(2):
            lease = await leased(worker)
            assert await worker.complete(lease, GOOD)
        assert await results(second, 1) == [(task(2).evaluation_id, GOOD)]
        assert await results(first, 1) == [(task(1).evaluation_id, GOOD)]

    async def test_the_folder_of_a_problem_comes_with_its_tasks(self, bench: Bench, queue: EvaluationQueue) -> None:
        worker = bench.worker("a")
        with pytest.raises(NotFoundError):
            await worker.bundle(BUNDLE.hash)
        await queue.submit(task(), BUNDLE)
        assert await worker.bundle(BUNDLE.hash) == BUNDLE


class TestLeases:
    async def test_a_lapsed_lease_goes_to_another_before_what_waits(self, bench: Bench, queue: EvaluationQueue) -> None:
        for number in (1, 2):
            await queue.submit(task(number), BUNDLE)
        await leased(bench.worker("a"))
        await bench.lapse()
        again = await leased(bench.worker("b"))
        assert (again.task, again.delivery) == (task(1), 2)

    async def test_a_renewed_lease_stays(self, bench: Bench, queue: EvaluationQueue) -> None:
        await queue.submit(task(), BUNDLE)
        worker = bench.worker("a")
        lease = await leased(worker)
        await bench.lapse()
        assert await worker.renew(lease) is LeaseState.HELD
        assert await nothing(bench.worker("b"))
        assert await worker.complete(lease, GOOD)

    async def test_renewing_counts_no_delivery(self, bench: Bench, queue: EvaluationQueue) -> None:
        await queue.submit(task(), BUNDLE)
        worker = bench.worker("a")
        lease = await leased(worker)
        assert [await worker.renew(lease) for _ in range(5)] == [LeaseState.HELD] * 5
        await bench.lapse()
        assert (await leased(bench.worker("b"))).delivery == 2

    async def test_a_lease_is_completed_once(self, bench: Bench, queue: EvaluationQueue) -> None:
        await queue.submit(task(1), BUNDLE)
        await queue.submit(task(2), BUNDLE)
        worker = bench.worker("a")
        lease = await leased(worker)
        assert await worker.complete(lease, GOOD)
        assert not await worker.complete(lease, GOOD)
        assert await worker.renew(lease) is LeaseState.LOST
        assert await worker.complete(await leased(worker), GOOD)
        assert [found for found, _ in await results(queue, 2)] == [task(1).evaluation_id, task(2).evaluation_id]

    async def test_a_lease_that_another_took_over_is_lost(self, bench: Bench, queue: EvaluationQueue) -> None:
        await queue.submit(task(), BUNDLE)
        slow, quick = bench.worker("a"), bench.worker("b")
        lost = await leased(slow)
        await bench.lapse()
        taken = await leased(quick)
        assert await slow.renew(lost) is LeaseState.LOST
        assert not await slow.complete(lost, GOOD)
        assert await quick.complete(taken, GOOD)

    async def test_a_worker_that_took_over_from_itself_holds_the_second_lease_only(
        self, bench: Bench, queue: EvaluationQueue
    ) -> None:
        await queue.submit(task(), BUNDLE)
        worker = bench.worker("a")
        first = await leased(worker)
        await bench.lapse()
        second = await leased(worker)
        assert not await worker.complete(first, GOOD)
        assert await worker.complete(second, GOOD)

    async def test_a_stranger_can_neither_renew_nor_complete(self, bench: Bench, queue: EvaluationQueue) -> None:
        await queue.submit(task(), BUNDLE)
        worker, stranger = bench.worker("a"), bench.worker("b")
        lease = await leased(worker)
        made_up = Lease(id="1-1", task=task(), delivery=1)
        for theirs in (lease, made_up):
            assert await stranger.renew(theirs) is LeaseState.LOST
            assert not await stranger.complete(theirs, GOOD)
        assert await worker.complete(lease, GOOD)


class TestPoison:
    async def test_a_task_that_nobody_survives_is_put_away_and_answered(
        self, bench: Bench, queue: EvaluationQueue
    ) -> None:
        await queue.submit(task(1), BUNDLE)
        await queue.submit(task(2), BUNDLE)
        for name in ("a", "b"):
            assert (await leased(bench.worker(name))).task == task(1)
            await bench.lapse()
        survivor = bench.worker("c")
        lease = await leased(survivor)
        assert lease.task == task(2)
        assert await bench.dead() == 1
        [(found, evaluation)] = await results(queue, 1)
        assert (found, evaluation.outcome) == (task(1).evaluation_id, Outcome.LOST)
        assert f"{TERMS.deliveries} times" in evaluation.reason
        assert await survivor.complete(lease, GOOD)


class TestCancellation:
    async def test_a_waiting_task_that_is_taken_back_goes_to_nobody(self, bench: Bench, queue: EvaluationQueue) -> None:
        await queue.submit(task(1), BUNDLE)
        await queue.submit(task(2), BUNDLE)
        await queue.cancel(task(1).evaluation_id)
        worker = bench.worker("a")
        assert (await leased(worker)).task == task(2)
        assert await nothing(worker)

    async def test_the_worker_of_a_task_that_is_taken_back_hears_of_it(
        self, bench: Bench, queue: EvaluationQueue
    ) -> None:
        await queue.submit(task(1), BUNDLE)
        worker = bench.worker("a")
        lease = await leased(worker)
        await queue.cancel(task(1).evaluation_id)
        assert await worker.renew(lease) is LeaseState.CANCELLED

    async def test_a_task_that_was_taken_back_has_no_result(self, bench: Bench, queue: EvaluationQueue) -> None:
        await queue.submit(task(1), BUNDLE)
        worker = bench.worker("a")
        lease = await leased(worker)
        await queue.cancel(task(1).evaluation_id)
        await queue.submit(task(2), BUNDLE)
        await worker.complete(lease, GOOD)
        await worker.complete(await leased(worker), GOOD)
        assert [found for found, _ in await results(queue, 1)] == [task(2).evaluation_id]

    async def test_a_task_taken_back_is_not_taken_over(self, bench: Bench, queue: EvaluationQueue) -> None:
        await queue.submit(task(1), BUNDLE)
        await leased(bench.worker("a"))
        await queue.cancel(task(1).evaluation_id)
        await bench.lapse()
        assert await nothing(bench.worker("b"))
        assert await bench.dead() == 0

    async def test_a_task_submitted_anew_is_not_the_one_taken_back(self, bench: Bench) -> None:
        first, second = bench.submitter(), bench.submitter()
        await first.submit(task(1), BUNDLE)
        worker = bench.worker("a")
        old = await leased(worker)
        await first.cancel(task(1).evaluation_id)
        await second.submit(task(1), BUNDLE)
        new = await leased(worker)
        assert await worker.renew(old) is LeaseState.CANCELLED
        assert await worker.renew(new) is LeaseState.HELD

    async def test_taking_back_what_is_not_there_is_harmless(self, bench: Bench, queue: EvaluationQueue) -> None:
        await queue.cancel("evl_unknown")
        await queue.submit(task(1), BUNDLE)
        assert (await leased(bench.worker("a"))).task == task(1)


class TestShares:
    async def living(self, bench: Bench, slots: int) -> None:
        await bench.worker("a").heartbeat(heartbeat("a", slots=slots - 1))
        await bench.worker("b").heartbeat(heartbeat("b", slots=1))

    async def test_without_workers_there_is_nothing_to_share(self, queue: EvaluationQueue) -> None:
        assert await queue.share(POOL, 100) == 0

    async def test_who_is_alone_has_all_slots_of_the_pool(self, bench: Bench, queue: EvaluationQueue) -> None:
        await self.living(bench, 9)
        await bench.worker("g", "gpu").heartbeat(heartbeat("g", slots=5, pool="gpu"))
        assert await queue.share(POOL, 100) == 9
        assert await bench.submitter().share("gpu", 100) == 5

    async def test_two_that_want_all_have_equal_shares(self, bench: Bench) -> None:
        await self.living(bench, 8)
        first, second = bench.submitter(), bench.submitter()
        await first.share(POOL, 100)
        assert [await second.share(POOL, 100), await first.share(POOL, 100)] == [4, 4]

    async def test_every_slot_is_somebodys(self, bench: Bench) -> None:
        await self.living(bench, 8)
        submitters = [bench.submitter() for _ in range(3)]
        for one in submitters:
            await one.share(POOL, 100)
        assert sorted([await one.share(POOL, 100) for one in submitters]) == [2, 3, 3]

    async def test_who_wants_little_leaves_the_rest_to_the_others_and_may_grow(self, bench: Bench) -> None:
        await self.living(bench, 8)
        modest, greedy = bench.submitter(), bench.submitter()
        await greedy.share(POOL, 100)
        assert await modest.share(POOL, 1) == 4
        assert await greedy.share(POOL, 100) == 7

    async def test_who_wants_nothing_yields_its_share(self, bench: Bench) -> None:
        await self.living(bench, 8)
        idle, busy = bench.submitter(), bench.submitter()
        await idle.share(POOL, 100)
        assert await busy.share(POOL, 100) == 4
        await idle.share(POOL, 0)
        assert await busy.share(POOL, 100) == 8

    async def test_who_says_nothing_any_more_yields_its_share(self, bench: Bench) -> None:
        await self.living(bench, 8)
        silent, busy = bench.submitter(), bench.submitter()
        await silent.share(POOL, 100)
        await bench.hush()
        assert await busy.share(POOL, 100) == 8

    async def test_who_ends_yields_its_share(self, bench: Bench) -> None:
        await self.living(bench, 8)
        ended, busy = bench.submitter(), bench.submitter()
        await ended.share(POOL, 100)
        await ended.aclose()
        assert await busy.share(POOL, 100) == 8

    async def test_with_more_submitters_than_slots_each_has_one(self, bench: Bench) -> None:
        await self.living(bench, 2)
        submitters = [bench.submitter() for _ in range(3)]
        for one in submitters:
            await one.share(POOL, 100)
        assert [await one.share(POOL, 100) for one in submitters] == [1, 1, 1]

    async def test_slots_of_who_drains_are_not_shared(self, bench: Bench, queue: EvaluationQueue) -> None:
        await self.living(bench, 8)
        await bench.worker("b").heartbeat(replace(heartbeat("b", slots=1), state=WorkerState.DRAINING))
        assert await queue.share(POOL, 100) == 7


async def untaken(queue: EvaluationQueue, pool: str = POOL) -> int:
    """How many of a submitter's own tasks wait, as it hears now."""
    await queue.share(pool, 1)
    return queue.backlog(pool).own


class TestBacklog:
    async def test_only_own_tasks_that_no_worker_took_wait(self, bench: Bench, queue: EvaluationQueue) -> None:
        other = bench.submitter()
        assert (await untaken(queue), queue.backlog(POOL).oldest_seconds) == (0, 0.0)
        await other.submit(task(9), BUNDLE)
        for number in range(3):
            await queue.submit(task(number), BUNDLE)
        await queue.submit(task(8, pool="gpu"), BUNDLE)
        assert [await untaken(queue), await untaken(queue, "gpu"), await untaken(other)] == [3, 1, 1]
        worker = bench.worker("a")
        for left in (3, 2, 1, 0):
            await leased(worker)
            assert await untaken(queue) == left
        assert (await untaken(other), queue.backlog(POOL).oldest_seconds) == (0, 0.0)
        assert await untaken(queue, "gpu") == 1

    async def test_a_result_tells_that_its_task_does_not_wait(self, bench: Bench, queue: EvaluationQueue) -> None:
        for number in range(3):
            await queue.submit(task(number), BUNDLE)
        worker = bench.worker("a")
        assert await worker.complete([await leased(worker) for _ in range(2)][1], GOOD)
        assert len(await results(queue, 1)) == 1
        assert queue.backlog(POOL).own == 1

    async def test_a_task_that_is_handed_out_again_does_not_wait(self, bench: Bench, queue: EvaluationQueue) -> None:
        for number in range(2):
            await queue.submit(task(number), BUNDLE)
        await leased(bench.worker("died"))
        await bench.lapse()
        assert await untaken(queue) == 1
        assert (await leased(bench.worker("b"))).delivery == 2
        assert await untaken(queue) == 1

    async def test_a_task_that_is_returned_waits_again(self, bench: Bench, queue: EvaluationQueue) -> None:
        await queue.submit(task(), BUNDLE)
        worker = bench.worker("a")
        assert await worker.release(await leased(worker))
        collecting = asyncio.create_task(results(queue, 1))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await untaken(queue) != 1:  # noqa: ASYNC110 - it is sent again while results are read
                await asyncio.sleep(0.01)
        assert await worker.complete(await leased(worker), GOOD)
        await collecting
        assert await untaken(queue) == 0

    async def test_what_is_taken_back_does_not_wait(self, bench: Bench, queue: EvaluationQueue) -> None:
        for number in range(3):
            await queue.submit(task(number), BUNDLE)
        await leased(bench.worker("a"))
        assert await untaken(queue) == 2
        for number, left in ((0, 2), (2, 1), (1, 0)):
            await queue.cancel(task(number).evaluation_id)
            assert queue.backlog(POOL).own == left
        assert (await untaken(queue), queue.backlog(POOL).oldest_seconds) == (0, 0.0)


class TestWorkers:
    async def test_workers_are_known_by_their_last_word_while_they_live(self, bench: Bench) -> None:
        watch = bench.workers()
        heartbeats = [
            heartbeat("a", 2),
            replace(heartbeat("b", 3), state=WorkerState.DRAINING, evaluations=7),
            heartbeat("c", 4, "gpu"),
        ]
        heartbeats[0] = replace(heartbeats[0], tasks=(RunningTask(evaluation_id="evl_1", seconds=1.5),))
        told = DeviceState(name="nvidia0", model="NVIDIA L4", driver="550.54", max_clock_mhz=2040).with_clock(900)
        heartbeats[2] = replace(heartbeats[2], devices=(told.with_clock(1200), DeviceState(name="renderD128")))
        assert list(await watch.workers()) == []
        for one in heartbeats:
            assert not await bench.worker(one.worker_id, one.pool).heartbeat(one)
        assert [replace(found, seen_at=None) for found in await watch.workers()] == heartbeats
        await bench.worker("b").leave()
        assert [found.worker_id for found in await watch.workers()] == ["a", "c"]
        await bench.silence("a")
        await bench.worker("c", "gpu").heartbeat(heartbeats[2])
        assert [found.worker_id for found in await watch.workers()] == ["c"]

    async def test_a_worker_was_seen_when_it_spoke_by_the_clock_of_the_queue(self, bench: Bench) -> None:
        before = await bench.now()
        await bench.worker("a").heartbeat(heartbeat())
        [found] = await bench.workers().workers()
        assert found.seen_at is not None
        assert before - timedelta(milliseconds=5) <= found.seen_at <= await bench.now() + timedelta(milliseconds=5)

    async def test_a_worker_told_to_drain_hears_of_it_with_its_next_beat_and_no_other_does(self, bench: Bench) -> None:
        watch, told, other = bench.workers(), bench.worker("a"), bench.worker("b")
        await told.heartbeat(heartbeat("a"))
        await other.heartbeat(heartbeat("b"))
        await watch.drain("a")
        await watch.drain("a")
        assert [
            await told.heartbeat(heartbeat("a")),
            await told.heartbeat(heartbeat("a")),
            await other.heartbeat(heartbeat("b")),
        ] == [
            True,
            True,
            False,
        ]
        await told.leave()
        assert not await bench.worker("a").heartbeat(heartbeat("a"))

    async def test_a_worker_that_does_not_live_cannot_be_drained(self, bench: Bench) -> None:
        with pytest.raises(NotFoundError):
            await bench.workers().drain("nobody")

    async def test_what_could_be_used_grows_with_each_who_uses_up_its_share(self, bench: Bench) -> None:
        watch = bench.workers()
        submitters = [bench.submitter() for _ in range(4)]
        assert (await watch.wants()).get(POOL, 0) == 0
        for number, submitter in enumerate(submitters):
            await submitter.submit(task(number), BUNDLE)  # a pool is known by its tasks
        await submitters[0].share(POOL, 5)
        await submitters[1].share(POOL, claim(9, 9))
        assert (await watch.wants())[POOL] == 5 + GREEDY_SLOTS
        await submitters[2].share(POOL, claim(100, 80))
        await submitters[3].share("gpu", 7)
        assert (await watch.wants())[POOL] == 5 + GREEDY_SLOTS + 200
        await submitters[1].share(POOL, 0)
        assert (await watch.wants())[POOL] == 5 + 200

    async def test_what_waits_is_counted_by_pool(self, bench: Bench, queue: EvaluationQueue) -> None:
        for number in range(3):
            await queue.submit(task(number), BUNDLE)
        await queue.submit(task(9, pool="gpu"), BUNDLE)
        assert await bench.workers().depths() == {POOL: 3, "gpu": 1}
        worker = bench.worker("a")
        lease = await leased(worker)
        assert await bench.workers().depths() == {POOL: 2, "gpu": 1}
        await worker.complete(lease, GOOD)
        assert await bench.workers().depths() == {POOL: 2, "gpu": 1}

    async def test_the_wait_of_the_oldest_is_told_by_pool(self, bench: Bench, queue: EvaluationQueue) -> None:
        assert await bench.workers().waits() == {}
        began = await bench.now()
        await queue.submit(task(1), BUNDLE)
        await queue.submit(task(2), BUNDLE)
        await queue.submit(task(9, pool="gpu"), BUNDLE)
        waits = await bench.workers().waits()
        maximum = (await bench.now() - began).total_seconds() + 0.005
        assert set(waits) == {POOL, "gpu"}
        assert maximum >= waits[POOL] >= waits["gpu"] >= 0
        worker = bench.worker("a")
        for _ in range(2):
            await leased(worker)
        assert set(await bench.workers().waits()) == {"gpu"}

    async def test_a_lease_tells_how_long_its_task_waited(self, bench: Bench, queue: EvaluationQueue) -> None:
        began = await bench.now()
        await queue.submit(task(), BUNDLE)
        lease = await leased(bench.worker("a"))
        assert 0 <= lease.waited_seconds <= (await bench.now() - began).total_seconds() + 0.005

    async def test_a_task_that_is_returned_is_handed_out_again_with_its_problem(
        self, bench: Bench, queue: EvaluationQueue
    ) -> None:
        await queue.submit(task(), BUNDLE)
        worker = bench.worker("a")
        first = await leased(worker)
        assert await worker.release(first)
        assert not await worker.release(first)
        assert not await worker.complete(first, GOOD)
        collecting = asyncio.create_task(results(queue, 1))
        again = await leased(worker)
        assert (again.task, again.delivery) == (task(), 1)
        assert await worker.bundle(BUNDLE.hash) == BUNDLE
        assert await worker.complete(again, GOOD)
        assert [found for found, _ in await collecting] == [task().evaluation_id]

    async def test_a_worker_that_leaves_with_a_task_loses_nothing_of_it(
        self, bench: Bench, queue: EvaluationQueue
    ) -> None:
        await queue.submit(task(), BUNDLE)
        worker = bench.worker("a")
        await leased(worker)
        await worker.leave()
        await bench.lapse()
        assert (await leased(bench.worker("b"))).task == task()
