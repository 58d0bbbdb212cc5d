"""What only a real Redis can do to a queue: lose everything, end and come back, hold what nobody can read."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import redis

from evolve.evaluation import Outcome
from service.errors import UnreachableError, UsageError
from service.ports import EvaluationLeases, EvaluationResult, Lease, LeaseState
from service.queue import connection
from service.queue.evaluator import open_queued_evaluator
from service.queue.lease_settings import LeaseSettings
from service.queue.redis import RedisEvaluationLeases
from tests.contract.queueing import BUNDLE, GOOD, POOL, RedisBench, heartbeat, redis_bench, results, task
from tests.integration.queue.server import running
from tests.patience import PATIENCE_SECONDS
from tests.silent_proxy import silent_proxy


@pytest.fixture
async def bench(redis_url: str) -> AsyncIterator[RedisBench]:
    async with redis_bench(redis_url) as opened:
        yield opened


async def leased(worker: EvaluationLeases) -> Lease:
    """The next task, from a queue that may be away for a while."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            with suppress(UnreachableError):
                if (lease := await worker.lease(0.5)) is not None:
                    return lease
            await asyncio.sleep(0.01)


async def test_what_a_redis_that_was_emptied_lost_is_sent_again(bench: RedisBench) -> None:
    queue, worker = bench.submitter(), bench.worker("a")
    for number in (1, 2, 3):
        await queue.submit(task(number), BUNDLE)
    under_way = await leased(worker)
    assert await worker.complete(await leased(worker), GOOD)
    assert [found for found, _ in await results(queue, 1)] == [task(2).evaluation_id]
    await bench.client.flushdb()
    assert not await worker.complete(under_way, GOOD)
    collecting = asyncio.create_task(results(queue, 2))
    again = [await leased(worker) for _ in range(2)]
    assert {lease.task.evaluation_id for lease in again} == {task(1).evaluation_id, task(3).evaluation_id}
    assert await worker.bundle(BUNDLE.hash) == BUNDLE
    assert [await worker.complete(lease, GOOD) for lease in again] == [True, True]
    assert {found for found, _ in await collecting} == {task(1).evaluation_id, task(3).evaluation_id}


async def test_a_result_that_was_not_read_yet_is_not_asked_for_again(bench: RedisBench) -> None:
    queue, worker = bench.submitter(), bench.worker("a")
    await queue.submit(task(1), BUNDLE)
    await queue.submit(task(2), BUNDLE)
    assert await worker.complete(await leased(worker), GOOD)
    # What is looked for in the stream and is not there has been answered: its result came in the same step.
    assert [result.evaluation_id for result in await queue._send_again()] == [task(1).evaluation_id]
    assert await bench.client.xlen(connection.tasks(POOL)) == 1


async def test_a_result_that_nobody_can_read_is_a_lost_evaluation(bench: RedisBench) -> None:
    queue = bench.submitter()
    for number, text in enumerate((b"{not json", b'{"schema": 1, "outcome": "ok", "scores": {"value": NaN}}', b"")):
        await queue.submit(task(number), BUNDLE)
        fields: Any = {b"evaluation_id": task(number).evaluation_id.encode(), b"evaluation": text}
        await bench.client.xadd(queue._results, fields)
    for _, evaluation in await results(queue, 3):
        assert evaluation.outcome is Outcome.LOST
        assert "cannot be read" in evaluation.reason


@pytest.mark.parametrize("text", [b"\xff\x00", b'{"schema": 1, "evaluation_id": 3}', b'{"schema": 9}', b"[]"])
async def test_a_task_that_nobody_can_read_is_put_away(bench: RedisBench, text: bytes) -> None:
    queue, worker = bench.submitter(), bench.worker("a")
    await worker.lease(0.01)
    await bench.client.xadd(connection.tasks(POOL), {"task": text})
    await queue.submit(task(), BUNDLE)
    assert await worker.lease(0.5) is None
    assert (await leased(worker)).task == task()
    assert await bench.dead() == 1


async def test_a_submitter_leaves_nothing_behind(bench: RedisBench) -> None:
    queue, worker = bench.submitter(), bench.worker("a")
    await queue.submit(task(1), BUNDLE)
    await queue.submit(task(2), BUNDLE)
    await queue.share(POOL, 2)
    lease = await leased(worker)
    assert await worker.complete(lease, GOOD)
    await queue.aclose()
    await worker.leave()
    assert await bench.client.xlen(connection.tasks(POOL)) == 0
    assert not await bench.client.exists(queue._results, connection.claims(POOL), connection.wants(POOL))
    assert await bench.client.xinfo_consumers(connection.tasks(POOL), connection.GROUP) == []


async def test_a_queue_that_is_away_says_so(tmp_path: Path) -> None:
    async with redis_bench(f"unix://{tmp_path}/nobody.sock") as bench:
        with pytest.raises(UnreachableError, match="does not answer"):
            await bench.submitter().share(POOL, 1)
        with pytest.raises(UnreachableError):
            await bench.worker("a").lease(0.01)


@pytest.mark.parametrize("url", ["", "redis", "http://localhost/", "redis://host:port/0", "redis://[", "redis://h?a=1"])
async def test_what_is_no_address_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError, match="redis://localhost"):
        async with connection.connect(url):
            pass


async def test_work_goes_on_when_redis_is_killed_and_starts_anew() -> None:
    with running() as server:
        async with redis_bench(server.url) as bench:
            queue, worker = bench.submitter(), bench.worker("a")
            await queue.submit(task(1), BUNDLE)
            collecting = asyncio.create_task(results(queue, 2))
            await leased(worker)
            server.kill()
            await queue.submit(task(2), BUNDLE)  # while it is away
            await asyncio.to_thread(server.start)
            for _ in range(2):
                assert await worker.complete(await leased(worker), GOOD)
            found = {found for found, _ in await collecting}
            assert found == {task(1).evaluation_id, task(2).evaluation_id}


async def test_a_worker_is_counted_no_longer_than_its_word_holds(redis_url: str) -> None:
    async with redis_bench(redis_url) as bench:
        client = bench.client
        await client.set(connection.worker(POOL, "odd"), b'{"schema": 1}')
        await client.sadd(connection.workers(POOL), "odd", "gone")
        assert await bench.submitter().share(POOL, 1) == 0
        assert await client.smembers(connection.workers(POOL)) == {b"odd"}


async def test_a_consumer_that_nobody_hears_of_is_forgotten_once_its_tasks_are_taken_over(bench: RedisBench) -> None:
    async def consumers() -> set[bytes]:
        found: Any = await bench.client.xinfo_consumers(connection.tasks(POOL), connection.GROUP)
        return {consumer["name"] for consumer in found}

    terms = LeaseSettings(lease_seconds=60.0, forget_seconds=0.0)
    died, idle, lives = (RedisEvaluationLeases(bench.client, POOL, name, terms) for name in ("died", "idle", "lives"))
    queue = bench.submitter()
    for number in range(3):
        await queue.submit(task(number), BUNDLE)
    await died.heartbeat(heartbeat("died"))
    await leased(died)
    for name, worker in (("idle", idle), ("lives", lives)):
        await worker.heartbeat(heartbeat(name))
        assert await worker.complete(await leased(worker), GOOD)
    assert await consumers() == {b"died", b"idle", b"lives"}
    await bench.silence("died")
    await bench.silence("idle")
    await lives.heartbeat(heartbeat("lives"))
    assert await consumers() == {b"died", b"lives"}
    await bench.lapse()
    assert await lives.complete(await leased(lives), GOOD)
    await lives.heartbeat(heartbeat("lives"))
    assert await consumers() == {b"lives"}


async def test_a_submitter_that_ends_right_after_a_result_ends(bench: RedisBench) -> None:
    """A cancellation must not be lost in the client, which is in the middle of its next call then."""
    worker = bench.worker("a")
    async with asyncio.timeout(PATIENCE_SECONDS):
        for number in range(100):
            queue = bench.submitter()
            async with open_queued_evaluator(queue, BUNDLE, POOL) as evaluator:
                call = asyncio.create_task(evaluator.evaluate(task(number).program, task(number).evaluation_id))
                assert await worker.complete(await leased(worker), GOOD)
                assert await call == GOOD
            await queue.aclose()


async def test_a_task_taken_back_while_it_is_being_sent_is_not_left_in_the_queue(bench: RedisBench) -> None:
    queue = bench.submitter()
    for turns in range(60):
        sending = asyncio.create_task(queue.submit(task(turns), BUNDLE))
        for _ in range(turns):
            await asyncio.sleep(0)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        await queue.cancel(task(turns).evaluation_id)
        assert await bench.client.xlen(connection.tasks(POOL)) == 0, turns


async def test_a_result_that_came_before_redis_went_away_is_given(
    bench: RedisBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, worker = bench.submitter(), bench.worker("a")
    await queue.submit(task(), BUNDLE)
    assert await worker.complete(await leased(worker), GOOD)

    async def away() -> list[EvaluationResult]:
        raise UnreachableError("the queue does not answer")

    monkeypatch.setattr(queue, "_send_again", away)
    assert await results(queue, 1) == [(task().evaluation_id, GOOD)]


@pytest.mark.parametrize("kind", ["command", "script", "transaction"])
async def test_connections_to_a_redis_that_is_no_longer_the_primary_are_left(kind: str) -> None:
    """The name of the queue means another server by then, and the old one keeps its connections as a replica."""
    with running() as former, running() as primary, silent_proxy(former.url.removeprefix("unix://")) as proxy:
        async with redis_bench(f"redis://127.0.0.1:{proxy.port}/0") as bench:
            queue, worker = bench.submitter(), bench.worker("a")
            calls: dict[str, Callable[[], Awaitable[object]]] = {
                "command": worker.leave,
                "script": lambda: queue.share(POOL, 1),
                "transaction": lambda: worker.heartbeat(heartbeat()),
            }
            call = calls[kind]
            await call()
            with redis.Redis.from_url(former.url) as operator:
                operator.replicaof("127.0.0.1", 1)
            proxy.target = primary.url.removeprefix("unix://")
            with suppress(UnreachableError):
                await call()
            await call()


async def test_a_redis_that_falls_silent_is_said_to_be_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_SILENT_SECONDS", 0.2)
    with running() as server, silent_proxy(server.url.removeprefix("unix://")) as proxy:
        async with redis_bench(f"redis://127.0.0.1:{proxy.port}/0") as bench:
            worker = bench.worker("a")
            await worker.heartbeat(heartbeat())
            proxy.silent = True
            with pytest.raises(UnreachableError, match=r"the queue does not answer: it was silent for 0\.2 seconds"):
                await worker.heartbeat(heartbeat())


async def test_the_number_of_an_error_is_told_in_words() -> None:
    with pytest.raises(UnreachableError, match=r"^the queue does not answer: Connection refused$"):
        async with connection.reaching():
            raise redis.ConnectionError("Error 111 connecting to queue.internal:6379.")


async def test_a_redis_without_memory_says_so_and_lets_leases_be_renewed(bench: RedisBench) -> None:
    queue, worker = bench.submitter(), bench.worker("a")
    await queue.submit(task(1), BUNDLE)
    lease = await leased(worker)
    await bench.client.config_set("maxmemory", 1)
    try:
        for refused in (worker.heartbeat(heartbeat()), worker.complete(lease, GOOD), queue.share(POOL, 1)):
            with pytest.raises(UnreachableError, match="the queue is out of memory"):
                await refused
        assert await worker.renew(lease) is LeaseState.HELD
    finally:
        await bench.client.config_set("maxmemory", 0)
    assert await worker.complete(lease, GOOD)
    assert [found for found, _ in await results(queue, 1)] == [task(1).evaluation_id]
