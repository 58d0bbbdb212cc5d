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
from service.queue import connection, wire
from service.queue import redis as adapter
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
                "transaction": lambda: _transaction(bench),
            }
            call = calls[kind]
            await call()
            with redis.Redis.from_url(former.url) as operator:
                operator.replicaof("127.0.0.1", 1)
            proxy.target = primary.url.removeprefix("unix://")
            with suppress(UnreachableError):
                await call()
            await call()


async def _transaction(bench: RedisBench) -> None:
    async with connection.reaching(), bench.client.pipeline(transaction=True) as steps:
        steps.set("of a test", 1)
        await steps.execute()


async def test_a_redis_that_falls_silent_is_said_to_be_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_SILENT_SECONDS", 0.2)
    with running() as server, silent_proxy(server.url.removeprefix("unix://")) as proxy:
        async with redis_bench(f"redis://127.0.0.1:{proxy.port}/0") as bench:
            worker = bench.worker("a")
            await worker.heartbeat(heartbeat())
            proxy.silent = True
            with pytest.raises(UnreachableError, match=r"the queue does not answer: it was silent for 0\.2 seconds"):
                await worker.heartbeat(heartbeat())


async def test_tasks_that_are_cancelled_while_redis_is_silent_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would be waited for, one after the other, and a run that is told to stop would go on for minutes."""
    monkeypatch.setattr(connection, "_SILENT_SECONDS", 0.2)
    with running() as server, silent_proxy(server.url.removeprefix("unix://")) as proxy:
        async with redis_bench(f"redis://127.0.0.1:{proxy.port}/0") as bench:
            queue = bench.submitter()
            tried: list[str] = []
            send = queue._send

            async def noted(sent: Any) -> None:
                tried.append(sent.task.evaluation_id)
                await send(sent)

            monkeypatch.setattr(queue, "_send", noted)
            proxy.silent = True
            submitting = [asyncio.create_task(queue.submit(task(number), BUNDLE)) for number in range(40)]
            while not tried:  # noqa: ASYNC110 - the task runs in this loop
                await asyncio.sleep(0.01)
            for one in submitting:
                one.cancel()
            await asyncio.gather(*submitting, return_exceptions=True)
            assert all(one.cancelled() for one in submitting)
            assert len(tried) <= 2


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


@pytest.fixture
async def alone() -> AsyncIterator[RedisBench]:
    """A server that counts what one test does, and nothing else."""
    with running() as server:
        async with redis_bench(server.url) as opened:
            yield opened


async def calls(bench: RedisBench, command: str) -> int:
    stats: Any = await bench.client.info("commandstats")
    return int(stats.get(f"cmdstat_{command}", {"calls": 0})["calls"])


async def test_a_task_that_comes_while_missing_ones_are_looked_for_is_sent_once(
    bench: RedisBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = bench.submitter()
    look, coming = queue._gone, []

    async def looking() -> Any:
        coming.append(asyncio.create_task(queue.submit(task(), BUNDLE)))
        await asyncio.sleep(0)
        return await look()

    monkeypatch.setattr(queue, "_gone", looking)
    await queue._send_again()
    await asyncio.gather(*coming)
    assert await bench.client.xlen(connection.tasks(POOL)) == 1


async def test_what_is_missing_among_many_tasks_is_found_in_few_calls(
    alone: RedisBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "LOOKED_FOR_AT_ONCE", 8)
    queue = alone.submitter()
    for number in range(20):
        await queue.submit(task(number), BUNDLE)
    entries: Any = await alone.client.xrange(connection.tasks(POOL))
    lost = [entries[number][0] for number in (3, 8, 19)]
    await alone.client.xdel(connection.tasks(POOL), *lost)
    before = await calls(alone, "evalsha")
    gone = await queue._gone()
    assert [sent.task for sent in gone] == [task(3), task(8), task(19)]
    assert await calls(alone, "evalsha") - before <= 4  # three, and one more where the script is new to the server


async def test_a_share_costs_no_more_with_more_workers(alone: RedisBench) -> None:
    queue = alone.submitter()

    async def commands() -> int:
        before: Any = await alone.client.info("stats")
        assert await queue.share(POOL, 1) == slots
        after: Any = await alone.client.info("stats")
        return int(after["total_commands_processed"] - before["total_commands_processed"])

    slots, found = 0, []
    for number in range(40):
        await alone.worker(f"w{number}").heartbeat(heartbeat(f"w{number}", slots=2))
        slots += 2
        if number in (5, 39):
            await queue.share(POOL, 1)
            found.append(await commands())
    assert found[0] == found[1]


async def test_slots_of_a_worker_that_fell_silent_are_shared_no_longer(bench: RedisBench) -> None:
    brief = LeaseSettings(beat_seconds=0.05)
    silent, queue = RedisEvaluationLeases(bench.client, POOL, "silent", brief), bench.submitter()
    await bench.worker("lives").heartbeat(heartbeat("lives", slots=3))
    await silent.heartbeat(heartbeat("silent", slots=2))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await queue.share(POOL, 1) != 3:  # noqa: ASYNC110 - the time is the server's
            await asyncio.sleep(0.01)
    assert await bench.client.smembers(connection.workers(POOL)) == {b"lives"}
    await silent.heartbeat(heartbeat("silent", slots=2))
    await silent.leave()
    assert await queue.share(POOL, 1) == 3


async def test_workers_of_an_earlier_version_are_counted_beside_the_others(bench: RedisBench) -> None:
    await bench.worker("new").heartbeat(heartbeat("new", slots=3))
    await bench.client.set(connection.worker(POOL, "old"), wire.heartbeat_to_json(heartbeat("old", slots=4)), px=60_000)
    await bench.client.sadd(connection.workers(POOL), "old")
    assert await bench.submitter().share(POOL, 1) == 7


async def test_leases_look_through_what_is_pending_once_in_a_while(alone: RedisBench) -> None:
    queue, worker = alone.submitter(), alone.worker("a")
    for number in range(30):
        await queue.submit(task(number), BUNDLE)
    await leased(worker)
    before = await calls(alone, "xpending")
    async with asyncio.timeout(PATIENCE_SECONDS):
        began = asyncio.get_running_loop().time()
        for _ in range(29):
            await leased(worker)
        took = asyncio.get_running_loop().time() - began
    assert await calls(alone, "xpending") - before <= 1 + took / adapter.LOOK_SECONDS


async def test_all_tasks_of_workers_that_died_together_are_taken_over_at_once(bench: RedisBench) -> None:
    queue = bench.submitter()
    for number in range(6):
        await queue.submit(task(number), BUNDLE)
    for number in range(5):
        await leased(bench.worker(f"died{number}"))
    await bench.lapse()
    worker = bench.worker("lives")
    taken = [await leased(worker) for _ in range(6)]
    assert [lease.task for lease in taken] == [task(number) for number in range(6)]
    assert [lease.delivery for lease in taken] == [2] * 5 + [1]


async def test_workers_of_one_process_wait_at_redis_in_turn(alone: RedisBench) -> None:
    waiting = asyncio.Semaphore(3)
    workers = [RedisEvaluationLeases(alone.client, POOL, f"w{number}", waiting=waiting) for number in range(30)]
    await leased_none(workers[0])
    asking = [asyncio.create_task(leased(worker)) for worker in workers]
    await asyncio.sleep(0.1)
    info: Any = await alone.client.info("clients")
    assert info["blocked_clients"] <= 3
    queue = alone.submitter()
    for number in range(30):
        await queue.submit(task(number), BUNDLE)
    assert {lease.task.evaluation_id for lease in await asyncio.gather(*asking)} == {
        task(number).evaluation_id for number in range(30)
    }


async def leased_none(worker: EvaluationLeases) -> None:
    """Found the group of the pool's stream."""
    assert await worker.lease(0.01) is None
