"""The queue, in memory and on a real Redis, and what the tests of it need to see time pass and things break."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from redis.asyncio import Redis

from evolve.evaluation import Evaluation, Outcome
from evolve.program import Program
from evolve.views.candidate_view import HTML, CandidateView
from service.ports import Bundle, EvaluationLeases, EvaluationQueue, EvaluationTask, WorkerHeartbeat, Workers
from service.queue import connection
from service.queue.lease_settings import LeaseSettings
from service.queue.memory import MemoryBroker, MemoryEvaluationLeases, MemoryEvaluationQueue, MemoryWorkers
from service.queue.redis import RedisEvaluationLeases, RedisEvaluationQueue
from service.queue.workers import RedisWorkers

POOL = "cpu"
TERMS = LeaseSettings(lease_seconds=60.0, deliveries=2, beat_seconds=60.0, claim_seconds=60.0)
STARTED_AT = datetime(2026, 7, 1, 12, 30, tzinfo=UTC)
BUNDLE = Bundle(hash="ab" * 32, content=b"\x00\xffnot text")
GOOD = Evaluation(
    outcome=Outcome.OK,
    scores={"value": 1.5},
    measures={"size": 3.0},
    cases={"0": 1.0},
    feedback="first line\nsecond",
    seconds=0.25,
    spread={"value": 0.1},
    repeats=3,
    worker="a",
    isolation="strong/separate",
    answer="42",
    view=CandidateView(media_type=HTML, content="<p>A tour of ü</p>"),
)


def task(number: int = 1, pool: str = POOL) -> EvaluationTask:
    program = Program.of({"main.py": f"x = {number}  # ü\n", "part/other.py": ""})
    return EvaluationTask(evaluation_id=f"evl_{number:032x}", bundle_hash=BUNDLE.hash, program=program, pool=pool)


def heartbeat(name: str = "a", slots: int = 2, pool: str = POOL) -> WorkerHeartbeat:
    return WorkerHeartbeat(
        worker_id=name, pool=pool, slots=slots, busy=1, isolation="strong", version="1.2", started_at=STARTED_AT
    )


class Bench(Protocol):
    """One queue: doors to it, and hands on what no door reaches."""

    def submitter(self) -> EvaluationQueue: ...

    def worker(self, name: str, pool: str = POOL) -> EvaluationLeases: ...

    def workers(self) -> Workers: ...

    async def now(self) -> datetime:
        """The time of the queue's own clock."""

    async def lapse(self) -> None:
        """Let every lease go unrenewed for longer than it lasts."""

    async def silence(self, name: str) -> None:
        """Let a worker's last word be too long ago."""

    async def hush(self) -> None:
        """Let every submitter's last word be too long ago."""

    async def dead(self) -> int: ...


class HandClock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)

    def monotonic(self) -> float:
        return self.seconds


class MemoryBench:
    def __init__(self) -> None:
        self.clock = HandClock()
        self.broker = MemoryBroker(clock=self.clock, terms=TERMS)

    def submitter(self) -> EvaluationQueue:
        return MemoryEvaluationQueue(self.broker)

    def worker(self, name: str, pool: str = POOL) -> EvaluationLeases:
        return MemoryEvaluationLeases(self.broker, pool, name)

    def workers(self) -> Workers:
        return MemoryWorkers(self.broker)

    async def now(self) -> datetime:
        return self.clock.now()

    async def lapse(self) -> None:
        self.clock.seconds += TERMS.lease_seconds

    async def silence(self, name: str) -> None:
        self.clock.seconds += TERMS.beat_seconds

    async def hush(self) -> None:
        self.broker.claims = {claim: (at - TERMS.claim_seconds, n) for claim, (at, n) in self.broker.claims.items()}

    async def dead(self) -> int:
        return len(self.broker.dead)


class RedisBench:
    def __init__(self, client: Redis) -> None:
        self.client = client

    def submitter(self) -> RedisEvaluationQueue:
        return RedisEvaluationQueue(self.client, TERMS, recheck_seconds=0.0)

    def worker(self, name: str, pool: str = POOL) -> EvaluationLeases:
        return RedisEvaluationLeases(self.client, pool, name, TERMS)

    def workers(self) -> Workers:
        return RedisWorkers(self.client, TERMS)

    async def now(self) -> datetime:
        seconds, microseconds = await self.client.time()
        return datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=microseconds)

    async def lapse(self) -> None:
        """As if each had been given out long ago: the server's own count of idle time is set, nothing waits."""
        stream, group = connection.tasks(POOL), connection.GROUP
        await self.client.delete(connection.look(POOL))
        pending: Any = await self.client.xpending_range(stream, group, "-", "+", 100)
        for entry in pending:
            idle = round(1000 * TERMS.lease_seconds)
            ids = [entry["message_id"]]
            await self.client.xclaim(stream, group, entry["consumer"], 0, ids, idle=idle, justid=True)

    async def silence(self, name: str) -> None:
        await self.client.pexpire(connection.worker(POOL, name), 0)

    async def hush(self) -> None:
        claims: Any = await self.client.zrange(connection.claims(POOL), 0, -1)
        for claim in claims:
            await self.client.zincrby(connection.claims(POOL), -1000 * TERMS.claim_seconds, claim)

    async def dead(self) -> int:
        return int(await self.client.xlen(connection.dead_letters(POOL)))


@asynccontextmanager
async def redis_bench(url: str) -> AsyncIterator[RedisBench]:
    async with connection.connect(url) as client:
        yield RedisBench(client)


async def results(queue: EvaluationQueue, count: int) -> list[tuple[str, Evaluation]]:
    """The next results of a submitter."""
    found: list[tuple[str, Evaluation]] = []
    async with aclosing(queue.results()) as coming:  # type: ignore[type-var]  # every adapter's is a generator
        async for result in coming:
            found.append((result.evaluation_id, result.evaluation))
            if len(found) == count:
                break
    return found
