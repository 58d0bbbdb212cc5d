"""The queue as the API uses it: its workers, the leases of remote workers, and the rate limits."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from service.ports import EvaluationLeases, RateLimiter, Workers
from service.queue.connection import connect
from service.queue.limiter import MemoryRateLimiter, RedisRateLimiter
from service.queue.memory import MemoryBroker, MemoryEvaluationLeases, MemoryWorkers
from service.queue.redis import WAITING_WORKERS, RedisEvaluationLeases
from service.queue.workers import RedisWorkers
from service.timestamps import SystemClock


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceQueue:
    """The queue as the API uses it.

    Attributes:
        leases: those of a worker, by its pool and its id.
        checks: fail while the queue does not answer, by name.
    """

    workers: Workers
    leases: Callable[[str, str], EvaluationLeases]
    limiter: RateLimiter
    checks: Mapping[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)


def local_queue(broker: MemoryBroker, requests_per_minute: int) -> ServiceQueue:
    """The queue of this process."""
    return ServiceQueue(
        workers=MemoryWorkers(broker),
        leases=lambda pool, worker_id: MemoryEvaluationLeases(broker, pool, worker_id),
        limiter=MemoryRateLimiter(requests_per_minute, SystemClock()),
    )


@asynccontextmanager
async def open_redis_queue(url: str, requests_per_minute: int) -> AsyncIterator[ServiceQueue]:
    """A queue in Redis.

    Raises:
        UnreachableError: it does not answer.
        UsageError: that is not the address of a queue.
    """
    async with connect(url) as client:
        workers = RedisWorkers(client)
        waiting: defaultdict[str, asyncio.Semaphore] = defaultdict(partial(asyncio.Semaphore, WAITING_WORKERS))

        async def check() -> None:
            await workers.depths()

        yield ServiceQueue(
            workers=workers,
            leases=lambda pool, worker_id: RedisEvaluationLeases(client, pool, worker_id, waiting=waiting[pool]),
            limiter=RedisRateLimiter(client, requests_per_minute),
            checks={"queue": check},
        )
