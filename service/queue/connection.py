"""A connection to Redis, and the keys that everything lies under."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError

from service.errors import UnreachableError, UsageError

PREFIX = "evolve"
GROUP = "workers"
BLOCK_SECONDS = 0.5
# Longer than any read blocks; a server that is silent for longer is taken for away.
_SILENT_SECONDS = 10.0
_CONNECT_SECONDS = 5.0
# Each reading that waits holds one: of a worker or a run, or, in an API, one for each remote worker.
_MAX_CONNECTIONS = 1000
_READ_ONLY = "write against a read only replica"
_FULL = "command not allowed when used memory"
OUT_OF_MEMORY = "the queue is out of memory: raise maxmemory of its Redis, or remove what else is kept there"
# Where the client names the server, up to its own reason.
_PLACE = re.compile(r" (?:connecting to|(?:while )?reading from) .*$")
_NUMBER = re.compile(r"Error (\d{1,4})")


def pools() -> str:
    """Set of the pools that anyone ever used."""
    return f"{PREFIX}:pools"


def tasks(pool: str) -> str:
    """Stream of the tasks of a pool."""
    return f"{PREFIX}:tasks:{pool}"


def dead_letters(pool: str) -> str:
    """Stream of the tasks of a pool that nobody could do."""
    return f"{PREFIX}:dead:{pool}"


def results(submitter: str) -> str:
    """Stream of the results of a submitter."""
    return f"{PREFIX}:results:{submitter}"


def cancellation(pool: str, entry: str) -> str:
    """Key that is there when a task was taken back."""
    return f"{PREFIX}:cancelled:{pool}:{entry}"


def bundle(bundle_hash: str) -> str:
    """Key of a problem's folder."""
    return f"{PREFIX}:bundle:{bundle_hash}"


def workers(pool: str) -> str:
    """Set of the ids of a pool's workers."""
    return f"{PREFIX}:workers:{pool}"


def worker(pool: str, worker_id: str) -> str:
    """Key of a worker's last word; it is gone when the worker is."""
    return f"{PREFIX}:worker:{pool}:{worker_id}"


def slots(pool: str) -> str:
    """Hash of the slots that each worker of a pool has to give; their sum is in the field without a name."""
    return f"{PREFIX}:slots:{pool}"


def ends(pool: str) -> str:
    """Sorted set of a pool's workers, by when their last word ends to hold."""
    return f"{PREFIX}:ends:{pool}"


def look(pool: str) -> str:
    """Key that is there while tasks of a pool need not be looked for whose workers went silent."""
    return f"{PREFIX}:look:{pool}"


def sweep(pool: str) -> str:
    """Key that is there while consumers of a pool need not be looked for whose workers ended."""
    return f"{PREFIX}:sweep:{pool}"


def drain(worker_id: str) -> str:
    """Key that is there when a worker was told to drain."""
    return f"{PREFIX}:drain:{worker_id}"


def claims(pool: str) -> str:
    """Sorted set of the submitters with work for a pool, by the time of their last word."""
    return f"{PREFIX}:claims:{pool}"


def wants(pool: str) -> str:
    """Hash of how many evaluations each submitter wants to be done at once."""
    return f"{PREFIX}:wants:{pool}"


@asynccontextmanager
async def connect(url: str) -> AsyncIterator[Redis]:
    """A client of the Redis at a URL; nothing is asked of it yet.

    Raises:
        UsageError: that is no URL of a Redis.
    """
    try:
        pool = BlockingConnectionPool.from_url(
            url,
            protocol=2,
            max_connections=_MAX_CONNECTIONS,
            socket_timeout=None,  # with one, a cancellation can be lost in the client; `reaching` has its own
            socket_connect_timeout=_CONNECT_SECONDS,
            retry=Retry(NoBackoff(), 1),  # a connection that a restart has broken is made anew at once
            timeout=_SILENT_SECONDS,
        )
        pool.connection_class(**pool.connection_kwargs)  # words behind the ? are judged only here
        pool.connection_class = type("PrimaryConnection", (_LeavingReplicas, pool.connection_class), {})
    except (ValueError, TypeError) as error:  # it is not shown: it may hold a password
        raise UsageError("the address of the queue is none: name one such as redis://localhost:6379/0") from error
    client: Redis = Redis.from_pool(pool)
    try:
        yield client
    finally:
        await client.aclose()


class _LeavingReplicas(AbstractConnection):
    """A connection that ends where the server may only be read: its name may mean another one by now, the primary."""

    async def read_response(self, *args: Any, **keywords: Any) -> Any:
        """An answer of the server."""
        try:
            return await super().read_response(*args, **keywords)
        except ResponseError as error:
            if _READ_ONLY in str(error):
                await self.disconnect()
            raise


async def examine_queue(url: str) -> None:
    """Ask the Redis of a URL for a sign of life.

    Raises:
        ServiceError: it gives none, or that is no URL of a Redis.
    """
    async with connect(url) as redis, reaching():
        await redis.ping()


@asynccontextmanager
async def reaching() -> AsyncIterator[None]:
    """Turn what the client raises, and a silence that is too long, into the service's own error."""
    try:
        async with asyncio.timeout(_SILENT_SECONDS):
            yield
    except (RedisError, OSError) as error:
        # An error of a script has it in its midst.
        full = isinstance(error, RedisError) and _FULL in str(error)
        raise UnreachableError(OUT_OF_MEMORY if full else f"the queue does not answer: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """Why, without where: runs and callers are told of it, and the address is the operator's business."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno is not None:
            return os.strerror(cause.errno) if cause.errno > 0 else str(cause.strerror)
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, TimeoutError):  # of `reaching`; that of a connection has a text or a number
        return f"it was silent for {_SILENT_SECONDS:g} seconds"
    text = _PLACE.sub("", " ".join(str(error).split()))
    if number := _NUMBER.fullmatch(text):  # all that is left where the client tells no cause
        return os.strerror(int(number[1]))
    return text[:200] or type(error).__name__
