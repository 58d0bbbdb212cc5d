"""A worker on the queue in memory, with evaluators made for the purpose."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from evolve.evaluation import PLAIN, Evaluation, Outcome, ScoringRequest
from evolve.program import Program
from service.errors import InvalidProblemError, NoRoomError, UnreachableError
from service.ports import (
    Bundle,
    EvaluationLeases,
    EvaluationQueue,
    Lease,
    LeaseName,
    LeaseState,
    WorkerHeartbeat,
    WorkerState,
)
from service.queue import connection
from service.queue.memory import MemoryEvaluationLeases
from service.worker import evaluator_cache
from service.worker.worker import READY, Worker, WorkerIntervals
from tests.contract.queueing import BUNDLE, GOOD, POOL, MemoryBench, heartbeat, redis_bench, results, task
from tests.patience import PATIENCE_SECONDS

PACE = WorkerIntervals(ask=0.01, renew=0.01, heartbeat=0.01, wait=0.01, leave=0.05, problems=2, busy_problems=8)
BEAT = heartbeat("a", slots=2)


class Lab:
    """Opens evaluators, and knows which are open and what they do. `gate`: evaluations wait until it is set."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.opened: list[str] = []
        self.closed: list[str] = []
        self.changed = asyncio.Condition()
        self.complaint: Exception | None = None
        self.slots = 2
        self.waiting = ""

    @asynccontextmanager
    async def open(self, bundle: Bundle) -> AsyncIterator["Lab"]:
        if isinstance(self.complaint, InvalidProblemError):
            raise self.complaint
        self.opened.append(bundle.hash)
        yield self
        self.closed.append(bundle.hash)

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        await self._note(self.begun, evaluation_id)
        if self.complaint is not None:
            raise self.complaint
        try:
            await self.gate.wait()
            return GOOD
        finally:
            await self._note(self.ended, evaluation_id)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), self.changed:
            await self.changed.wait_for(holds)

    async def _note(self, where: list[str], evaluation_id: str) -> None:
        where.append(evaluation_id)
        async with self.changed:
            self.changed.notify_all()


@pytest.fixture
async def lab() -> Lab:
    return Lab()


@pytest.fixture
async def bench() -> MemoryBench:
    return MemoryBench()


@pytest.fixture
async def queue(bench: MemoryBench) -> EvaluationQueue:
    return bench.submitter()


@asynccontextmanager
async def working(
    leases: EvaluationLeases, lab: Lab, has_room: Callable[[], bool] = lambda: True
) -> AsyncIterator[tuple[Worker, asyncio.Task[None]]]:
    worker = Worker(leases, lab.open, BEAT, PACE, has_room)
    task_ = asyncio.create_task(worker.run())
    try:
        yield worker, task_
    finally:
        task_.cancel()
        await asyncio.gather(task_, return_exceptions=True)


async def test_a_worker_gives_results_in_its_own_name(bench: MemoryBench, queue: EvaluationQueue, lab: Lab) -> None:
    async with working(bench.worker("a"), lab):
        await queue.submit(task(), BUNDLE)
        assert await results(queue, 1) == [(task().evaluation_id, replace(GOOD, worker="a"))]


async def test_a_worker_has_no_more_under_way_than_slots(bench: MemoryBench, queue: EvaluationQueue, lab: Lab) -> None:
    lab.gate.clear()
    async with working(bench.worker("a"), lab) as (worker, _):
        for number in range(3):
            await queue.submit(task(number), BUNDLE)
        await lab.until(lambda: len(lab.begun) == 2)
        assert worker.heartbeat.busy == 2
        said = worker.heartbeat.tasks
        assert [one.evaluation_id for one in said] == [task(0).evaluation_id, task(1).evaluation_id]
        assert all(0 <= one.seconds < 60 for one in said)
        assert len(bench.broker.pool(POOL)) == 1
        lab.gate.set()
        assert len(await results(queue, 3)) == 3


async def test_draining_finishes_what_is_under_way_and_takes_no_more(
    bench: MemoryBench, queue: EvaluationQueue, lab: Lab
) -> None:
    lab.gate.clear()
    async with working(bench.worker("a"), lab) as (worker, run):
        for number in range(4):
            await queue.submit(task(number), BUNDLE)
        await lab.until(lambda: len(lab.begun) == 2)
        worker.drain.set()
        lab.gate.set()
        await run
    assert len(await results(queue, 2)) == 2
    assert len(bench.broker.pool(POOL)) == 2
    assert lab.closed == lab.opened == [BUNDLE.hash]
    assert list(await bench.workers().workers()) == []


async def test_a_worker_told_to_drain_finishes_what_it_has_and_ends(
    bench: MemoryBench, queue: EvaluationQueue, lab: Lab
) -> None:
    lab.gate.clear()
    async with working(bench.worker("a"), lab) as (worker, run):
        for number in range(4):
            await queue.submit(task(number), BUNDLE)
        await lab.until(lambda: len(lab.begun) == 2)
        assert worker.heartbeat.state is WorkerState.ACTIVE
        await bench.workers().drain("a")
        async with asyncio.timeout(PATIENCE_SECONDS):
            await worker.drain.wait()
            assert (worker.heartbeat.state, worker.heartbeat.busy) == (WorkerState.DRAINING, 2)
            lab.gate.set()
            await run
    assert worker.heartbeat.evaluations == 2
    assert len(await results(queue, 2)) == 2
    assert len(bench.broker.pool(POOL)) == 2


async def test_a_cancelled_evaluation_ends_and_its_slot_is_free(
    bench: MemoryBench, queue: EvaluationQueue, lab: Lab
) -> None:
    lab.gate.clear()
    async with working(bench.worker("a"), lab):
        await queue.submit(task(1), BUNDLE)
        await lab.until(lambda: len(lab.begun) == 1)
        await queue.cancel(task(1).evaluation_id)
        await lab.until(lambda: lab.ended == [task(1).evaluation_id])
        lab.gate.set()
        await queue.submit(task(2), BUNDLE)
        assert [found for found, _ in await results(queue, 1)] == [task(2).evaluation_id]
        assert not bench.broker.pending


async def test_an_evaluation_whose_lease_was_lost_ends_without_a_result(
    bench: MemoryBench, queue: EvaluationQueue, lab: Lab
) -> None:
    lab.gate.clear()
    async with working(bench.worker("a"), lab):
        await queue.submit(task(1), BUNDLE)
        await lab.until(lambda: len(lab.begun) == 1)
        [entry] = bench.broker.pending.values()
        entry.worker, entry.delivery = "b", 2
        await lab.until(lambda: lab.ended == [task(1).evaluation_id])
        assert await bench.worker("b").complete(Lease(id=entry.id, task=entry.task, delivery=2), GOOD)
    assert await results(queue, 1) == [(task(1).evaluation_id, GOOD)]


async def test_a_problem_that_cannot_be_opened_is_a_lost_evaluation_that_says_why(
    bench: MemoryBench, queue: EvaluationQueue, lab: Lab
) -> None:
    lab.complaint = InvalidProblemError(["the package wanted is missing"])
    async with working(bench.worker("a"), lab):
        await queue.submit(task(), BUNDLE)
        [(_, evaluation)] = await results(queue, 1)
    assert evaluation.outcome is Outcome.LOST
    assert "the package wanted is missing" in evaluation.reason


async def test_a_problem_that_the_queue_has_lost_costs_no_evaluation(
    bench: MemoryBench, queue: EvaluationQueue, lab: Lab
) -> None:
    await queue.submit(task(), BUNDLE)
    bench.broker.bundles.clear()
    async with working(bench.worker("a"), lab):
        [(_, evaluation)] = await results(queue, 1)
    assert (evaluation.outcome, lab.opened) == (Outcome.OK, [BUNDLE.hash])


async def test_a_problem_that_redis_has_lost_costs_no_evaluation(redis_url: str, lab: Lab) -> None:
    async with redis_bench(redis_url) as bench:
        queue = bench.submitter()
        await queue.submit(task(), BUNDLE)
        await bench.client.delete(connection.bundle(BUNDLE.hash))
        async with working(bench.worker("a"), lab):
            [(_, evaluation)] = await results(queue, 1)
    assert (evaluation.outcome, lab.opened) == (Outcome.OK, [BUNDLE.hash])


async def test_a_fault_in_an_evaluation_lets_the_others_go_on_and_its_task_to_another_worker(
    bench: MemoryBench, queue: EvaluationQueue, lab: Lab
) -> None:
    lab.complaint = RuntimeError("a fault of ours")
    async with working(bench.worker("a"), lab):
        await queue.submit(task(1), BUNDLE)
        await lab.until(lambda: len(lab.begun) == 1)
        lab.complaint = None
        await queue.submit(task(2), BUNDLE)
        assert [found for found, _ in await results(queue, 1)] == [task(2).evaluation_id]
        await bench.lapse()
        assert [found for found, _ in await results(queue, 1)] == [task(1).evaluation_id]


async def test_of_many_problems_the_longest_unused_is_closed(
    bench: MemoryBench, queue: EvaluationQueue, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluator_cache, "RECENT_SECONDS", 0.0)
    bundles = [Bundle(hash=f"{number:064x}", content=b"") for number in range(3)]
    async with working(bench.worker("a"), lab):
        for number, which in enumerate((0, 1, 0, 2, 0)):
            one = replace(task(number), bundle_hash=bundles[which].hash)
            await queue.submit(one, bundles[which])
            await results(queue, 1)
    assert lab.opened == [bundle.hash for bundle in bundles]
    assert lab.closed[0] == bundles[1].hash
    assert sorted(lab.closed) == sorted(lab.opened)


@pytest.mark.parametrize(("problems", "most_openings"), [(8, 8), (10, 120)])
async def test_problems_in_turn_keep_their_evaluators(
    bench: MemoryBench, queue: EvaluationQueue, lab: Lab, problems: int, most_openings: int
) -> None:
    """With 8 at most, 200 tasks of 10 in turn open 61 to 95 (simulated 20,000 times). By longest unused, all would."""
    bundles = [Bundle(hash=f"{number:064x}", content=b"") for number in range(problems)]
    async with working(bench.worker("a"), lab):
        for number in range(200):
            bundle = bundles[number % problems]
            await queue.submit(replace(task(number), bundle_hash=bundle.hash), bundle)
            await results(queue, 1)
            assert len(lab.opened) - len(lab.closed) <= 8 + 1  # one may be on its way out
    assert problems <= len(lab.opened) <= most_openings


class Shaky(MemoryEvaluationLeases):
    """A queue that is away for every other call of a kind."""

    def __init__(self, bench: MemoryBench) -> None:
        super().__init__(bench.broker, POOL, "a")
        self._calls: Counter[str] = Counter()

    async def lease(self, timeout_seconds: float) -> Lease | None:
        self._fail("lease")
        return await super().lease(timeout_seconds)

    async def complete(self, lease: LeaseName, evaluation: Evaluation) -> bool:
        self._fail("complete")
        return await super().complete(lease, evaluation)

    async def heartbeat(self, heartbeat: WorkerHeartbeat) -> bool:
        self._fail("heartbeat")
        return await super().heartbeat(heartbeat)

    def _fail(self, what: str) -> None:
        self._calls[what] += 1
        if self._calls[what] % 2:
            raise UnreachableError("the queue does not answer")


async def test_a_worker_outlasts_a_queue_that_is_away(bench: MemoryBench, queue: EvaluationQueue, lab: Lab) -> None:
    async with working(Shaky(bench), lab):
        for number in range(5):
            await queue.submit(task(number), BUNDLE)
        assert len(await results(queue, 5)) == 5


class Full(MemoryEvaluationLeases):
    """A queue that takes no result until its lease was renewed some times since."""

    def __init__(self, bench: MemoryBench, renewals: int) -> None:
        super().__init__(bench.broker, POOL, "a")
        self._left, self._refused = renewals, False

    async def renew(self, lease: LeaseName) -> LeaseState:
        self._left -= self._refused
        return await super().renew(lease)

    async def complete(self, lease: LeaseName, evaluation: Evaluation) -> bool:
        self._refused = True
        if self._left > 0:
            raise UnreachableError("the queue is out of memory")
        return await super().complete(lease, evaluation)


async def test_while_a_result_is_not_taken_its_lease_is_held(
    bench: MemoryBench, queue: EvaluationQueue, lab: Lab
) -> None:
    async with working(Full(bench, renewals=3), lab):
        await queue.submit(task(), BUNDLE)
        assert await results(queue, 1) == [(task().evaluation_id, replace(GOOD, worker="a"))]


async def test_a_worker_that_is_to_end_leaves_a_result_that_nobody_takes(
    bench: MemoryBench, queue: EvaluationQueue, lab: Lab
) -> None:
    leases = Full(bench, renewals=10**9)
    async with working(leases, lab) as (worker, running):
        await queue.submit(task(), BUNDLE)
        await lab.until(lambda: bool(lab.ended))
        await asyncio.sleep(10 * PACE.leave)
        assert not running.done()  # without a word to end, it tries on
        worker.drain.set()
        await asyncio.wait_for(running, PATIENCE_SECONDS)
    assert lab.closed == lab.opened


class Fetching(MemoryEvaluationLeases):
    """A queue that cannot give problems at first; it counts those who ask, and the deliveries."""

    def __init__(self, bench: MemoryBench, failures: int) -> None:
        super().__init__(bench.broker, POOL, "a")
        self.tries, self._failures = 0, failures
        self.deliveries: Counter[int] = Counter()

    async def lease(self, timeout_seconds: float) -> Lease | None:
        lease = await super().lease(timeout_seconds)
        if lease is not None:
            self.deliveries[lease.delivery] += 1
        return lease

    async def bundle(self, bundle_hash: str) -> Bundle:
        self.tries += 1
        if self.tries <= self._failures:
            raise UnreachableError("the queue does not answer")
        return await super().bundle(bundle_hash)


async def test_a_problem_that_cannot_be_fetched_now_costs_its_tasks_no_try(
    bench: MemoryBench, queue: EvaluationQueue, lab: Lab
) -> None:
    leases = Fetching(bench, failures=3)
    async with working(leases, lab):
        for number in range(3):
            await queue.submit(task(number), BUNDLE)
        assert [evaluation.outcome for _, evaluation in await results(queue, 3)] == [Outcome.OK] * 3
    assert leases.tries == 4
    assert leases.deliveries == {1: 3}


async def test_a_worker_that_is_to_end_leaves_a_task_whose_problem_cannot_be_fetched(
    bench: MemoryBench, queue: EvaluationQueue, lab: Lab
) -> None:
    leases = Fetching(bench, failures=10**9)
    async with working(leases, lab) as (worker, running):
        await queue.submit(task(), BUNDLE)
        async with asyncio.timeout(PATIENCE_SECONDS):
            # Without a word to end, it tries on.
            while leases.tries * PACE.wait < 4 * PACE.leave:  # noqa: ASYNC110 - the tries are only counted
                await asyncio.sleep(PACE.wait)
        assert not running.done()
        worker.drain.set()
        await asyncio.wait_for(running, PATIENCE_SECONDS)
    assert not lab.opened


async def test_what_failed_for_a_full_disk_is_left_to_another_worker(
    bench: MemoryBench, queue: EvaluationQueue, lab: Lab
) -> None:
    full = Lab()
    full.complaint = NoRoomError("the disk is full")
    async with working(bench.worker("full"), full, lambda: not full.begun):
        await queue.submit(task(1), BUNDLE)
        await full.until(lambda: bool(full.begun))
        async with working(bench.worker("a"), lab):
            await queue.submit(task(2), BUNDLE)
            assert [found for found, _ in await results(queue, 1)] == [task(2).evaluation_id]
            await bench.lapse()
            assert await results(queue, 1) == [(task(1).evaluation_id, replace(GOOD, worker="a"))]
    assert full.begun == [task(1).evaluation_id]


async def test_a_worker_whose_disk_is_full_takes_no_tasks_until_there_is_room(
    bench: MemoryBench, queue: EvaluationQueue, lab: Lab
) -> None:
    asked: list[bool] = []
    enough, waited = asyncio.Event(), asyncio.Event()

    def has_room() -> bool:
        asked.append(enough.is_set())
        if len(asked) == 3:
            waited.set()
        return enough.is_set()

    async with working(bench.worker("a"), lab, has_room):
        await queue.submit(task(), BUNDLE)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await waited.wait()
        assert lab.begun == []
        assert READY._value.get() == 0
        enough.set()
        assert len(await results(queue, 1)) == 1
    assert READY._value.get() == 1
