"""The workers of a queue on Redis, as those see them who watch over them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from service.errors import NotFoundError
from service.ports import WorkerHeartbeat
from service.queue import connection, wire
from service.queue.connection import GROUP, reaching
from service.queue.fairness import could_use
from service.queue.lease_settings import LeaseSettings

DRAIN_SECONDS = 86400


async def living(client: Redis, pool: str, terms: LeaseSettings) -> Sequence[WorkerHeartbeat]:
    """Workers of a pool whose last word holds yet, by id; who is silent is taken from the list."""
    members: Any = await client.smembers(connection.workers(pool))
    ids = sorted(entry.decode() for entry in members)
    if not ids:
        return []
    keys = [connection.worker(pool, id_) for id_ in ids]
    async with client.pipeline(transaction=False) as steps:
        steps.time()
        steps.mget(keys)
        for key in keys:
            steps.pttl(key)
        (seconds, microseconds), said, *left = await steps.execute()
    if silent := [id_ for id_, word in zip(ids, said, strict=True) if word is None]:
        await client.srem(connection.workers(pool), *silent)
    now = datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=microseconds)
    seen = [now - timedelta(seconds=terms.beat_seconds, milliseconds=-milliseconds) for milliseconds in left]
    read = (wire.heartbeat_from_json(word, at) for word, at in zip(said, seen, strict=True) if word is not None)
    return [heartbeat for heartbeat in read if heartbeat is not None]


class RedisWorkers:
    """The workers of all pools."""

    def __init__(self, client: Redis, terms: LeaseSettings | None = None) -> None:
        self._redis, self._terms = client, terms or LeaseSettings()

    async def workers(self) -> Sequence[WorkerHeartbeat]:
        """Workers that live, by pool and id."""
        async with reaching():
            return [
                heartbeat for pool in await self._pools() for heartbeat in await living(self._redis, pool, self._terms)
            ]

    async def drain(self, worker_id: str) -> None:
        """Have a worker finish what it has and end.

        Raises:
            NotFoundError: no such worker lives.
        """
        if worker_id not in {heartbeat.worker_id for heartbeat in await self.workers()}:
            raise NotFoundError(f"no worker {worker_id[:80]} lives")
        async with reaching():
            await self._redis.set(connection.drain(worker_id), 1, ex=DRAIN_SECONDS)

    async def depths(self) -> Mapping[str, int]:
        """How many tasks wait for a worker, by pool."""
        async with reaching():
            return {pool: await self._depth(pool) for pool in await self._pools()}

    async def wants(self) -> Mapping[str, int]:
        """How many slots the submitters with work could use now, by pool."""
        async with reaching():
            seconds, microseconds = await self._redis.time()
            oldest = seconds * 1000 + microseconds // 1000 - int(self._terms.claim_seconds * 1000)
            return {pool: could_use(await self._claims(pool, oldest)) for pool in await self._pools()}

    async def waits(self) -> Mapping[str, float]:
        """For how many seconds the oldest task has waited that no worker ever had, by pool."""
        async with reaching():
            seconds, microseconds = await self._redis.time()
            now = seconds + microseconds / 1e6
            since = {pool: await self._oldest(pool) for pool in await self._pools()}
            return {pool: max(0.0, now - at) for pool, at in since.items() if at is not None}

    async def _pools(self) -> list[str]:
        members: Any = await self._redis.smembers(connection.pools())
        return sorted(entry.decode() for entry in members)

    async def _claims(self, pool: str, oldest: int) -> list[int]:
        """What each submitter wants whose last word is not too old."""
        names: Any = await self._redis.zrangebyscore(connection.claims(pool), f"({oldest}", "+inf")
        if not names:
            return []
        found: Any = await self._redis.hmget(connection.wants(pool), names)
        return [int(wants) for wants in found if wants is not None]

    async def _oldest(self, pool: str) -> float | None:
        """When the first entry came that the group has given to nobody: its id begins with the milliseconds."""
        stream = connection.tasks(pool)
        try:
            groups: Any = await self._redis.xinfo_groups(stream)
        except ResponseError:  # there is no stream yet
            return None
        begin = f"({groups[0]['last-delivered-id'].decode()}" if groups else "-"
        entries: Any = await self._redis.xrange(stream, begin, "+", count=1)
        return int(entries[0][0].split(b"-")[0]) / 1000 if entries else None

    async def _depth(self, pool: str) -> int:
        """What is in the stream and with no worker; who was taken back under way is pending, and in no stream."""
        stream = connection.tasks(pool)
        try:
            pending: Any = await self._redis.xpending(stream, GROUP)
        except ResponseError:  # before the first worker came, or since Redis was emptied, there is no group
            pending = {"pending": 0}
        return max(0, await self._redis.xlen(stream) - int(pending["pending"]))
