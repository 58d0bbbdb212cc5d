"""The parts of the API over a database, a queue and the rest of the service."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from service.api.app import refuse_unaudited
from service.api.cached_check import CachedCheck, Check
from service.api.dependencies import ApiDependencies
from service.bootstrap.evaluators import queue_url
from service.bootstrap.submissions import make_submissions
from service.config import Settings, database_url
from service.db.annotations import SqlAnnotations, SqlShares
from service.db.engine import Database, open_database
from service.db.evaluated import SqlEvaluationRecords
from service.db.requests import SqlRequests
from service.db.run_columns import SqlColumnStore
from service.db.schema import Revision
from service.db.schema import revision as revision_of
from service.db.secret import open_seal
from service.db.sessions import SqlSessions
from service.db.storage import SqlStorage
from service.db.tenant_usage import SqlHoldings
from service.db.webhooks import SqlWebhooks
from service.errors import StorageError
from service.net.address import check_address
from service.ports import EvaluationLeases, RateLimiter, Workers
from service.queue.connection import connect
from service.queue.limiter import MemoryRateLimiter, RedisRateLimiter
from service.queue.memory import MemoryBroker, MemoryEvaluationLeases, MemoryWorkers
from service.queue.redis import RedisEvaluationLeases
from service.queue.workers import RedisWorkers
from service.timestamps import SystemClock
from service.webhooks.sign import new_secret

if TYPE_CHECKING:
    from service.api.local_key import LocalKey
    from service.api.one_time_login import OneTimeLogin

# Connections for what a process does beside requests: webhooks, deletions, counts for the metrics.
BESIDE_REQUESTS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Queue:
    """What the API has of the queue."""

    workers: Workers
    leases: Callable[[str, str], EvaluationLeases]
    limiter: RateLimiter
    checks: Mapping[str, Check]


@asynccontextmanager
async def open_parts(
    settings: Settings,
    override: str | None = None,
    *,
    queue: str | None = None,
    broker: MemoryBroker | None = None,
    login: "OneTimeLogin | None" = None,
    local_key: "LocalKey | None" = None,
) -> AsyncIterator[ApiDependencies]:
    """Everything that the API stands on.

    Args:
        settings: of this installation.
        override, queue: database and Redis to use instead of those of the settings.
        broker: the queue of this process, where there is no Redis.
        login, local_key: for a browser and for commands of whoever runs the service on this machine.

    Raises:
        UsageError: no secret is named, or the audit is to leave out an operation that there is not.
        StorageError: the database cannot be opened.
    """
    refuse_unaudited(settings.api.unaudited)
    signer = open_seal(settings, override)
    async with AsyncExitStack() as stack:
        database = stack.enter_context(closing(_open_database(settings, override)))
        storage = SqlStorage(database, database_url(settings, override))
        found = await stack.enter_async_context(_queue(settings, queue_url(settings, queue), broker))
        yield ApiDependencies(
            settings=settings.api,
            clock=storage.clock,
            signer=signer,
            unit=storage.unit,
            readers=storage.readers,
            standings=storage.reader.sequences,
            queued=storage.reader.queued,
            intents=storage.intents,
            deletions=storage.deletions,
            problems=storage.problems,
            submissions=make_submissions(settings, storage, queue=queue, broker=broker),
            batches=storage.batches,
            columns=SqlColumnStore(database),
            annotations=lambda tenant: SqlAnnotations(database, tenant),
            shares=SqlShares(database),
            keys=storage.keys,
            sessions=SqlSessions(database),
            audit=storage.audit,
            requests=SqlRequests(database),
            accounts=storage.accounts,
            holdings=SqlHoldings(database, database.clock),
            retention=settings.retention,
            webhooks=SqlWebhooks(database),
            check_webhook=lambda address: check_address(address, private=settings.webhooks.private),
            new_webhook_secret=new_secret,
            limiter=found.limiter,
            workers=found.workers,
            evaluated=SqlEvaluationRecords(database),
            leases=found.leases,
            login=login,
            local_key=local_key,
            checks=_kept({"database": _database_check(database), **found.checks}, stack),
        )


def _open_database(settings: Settings, override: str | None) -> Database:
    connections = settings.api.threads + BESIDE_REQUESTS
    return open_database(database_url(settings, override), connections=connections)


def _kept(checks: Mapping[str, Check], stack: AsyncExitStack) -> dict[str, CachedCheck]:
    kept = {name: CachedCheck(check) for name, check in checks.items()}
    for check in kept.values():
        stack.push_async_callback(check.aclose)
    return kept


def _database_check(database: Database) -> Check:
    def read() -> Revision:
        with database.read() as connection:
            return revision_of(connection)

    async def check() -> None:
        revision = await run_in_threadpool(read)
        if revision.foreign or revision.behind:
            raise StorageError(f"the database is at revision {revision.current}, and {revision.head} is needed")

    return check


@asynccontextmanager
async def _queue(settings: Settings, url: str | None, broker: MemoryBroker | None) -> AsyncIterator[_Queue]:
    """The queue of a service: Redis where one is named, else that of this process."""
    rate = settings.api.requests_per_minute
    if url is None:
        here = broker or MemoryBroker(clock=SystemClock())
        yield _Queue(
            workers=MemoryWorkers(here),
            leases=lambda pool, worker_id: MemoryEvaluationLeases(here, pool, worker_id),
            limiter=MemoryRateLimiter(rate, SystemClock()),
            checks={},
        )
        return
    async with connect(url) as client:
        workers = RedisWorkers(client)

        async def check() -> None:
            await workers.depths()

        yield _Queue(
            workers=workers,
            leases=lambda pool, worker_id: RedisEvaluationLeases(client, pool, worker_id),
            limiter=RedisRateLimiter(client, rate),
            checks={"queue": check},
        )
