"""The parts of the API over a database, a queue and the rest of the service."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from service.api.app import refuse_unaudited
from service.api.cached_check import CachedCheck, Check
from service.api.dependencies import ApiDependencies
from service.bootstrap.evaluators import queue_url
from service.bootstrap.leftovers import make_leftovers, remove_before_deletion
from service.bootstrap.storage import open_storage
from service.bootstrap.submissions import make_registry, make_submissions
from service.bootstrap.trainers import make_training_jobs
from service.config import Settings
from service.db.annotations import SqlAnnotations, SqlShares
from service.db.engine import Database, refuse_outdated
from service.db.evaluated import SqlEvaluationRecords
from service.db.requests import SqlRequests
from service.db.secret import open_seal
from service.db.sessions import SqlSessions
from service.db.tenant_usage import SqlHoldings
from service.db.webhooks import SqlWebhooks
from service.net.address import check_address
from service.problems.repository.bases import RepositoryBases
from service.queue.memory import MemoryBroker
from service.queue.service_queue import ServiceQueue, local_queue, open_redis_queue
from service.timestamps import SystemClock
from service.usecases.flywheel_reader import StoredFlywheels
from service.webhooks.sign import new_secret

if TYPE_CHECKING:
    from service.api.local_key import LocalKey
    from service.api.one_time_login import OneTimeLogin
    from service.db.storage import SqlStorage

# Connections for what a process does beside requests: webhooks, deletions, counts for the metrics.
BESIDE_REQUESTS = 12


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
        override, queue: in place of those of the settings; broker, login, local_key: of a service on this machine.

    Raises:
        UsageError: no secret is named, or the audit is to leave out an operation that there is not.
        StorageError: the database cannot be opened.
    """
    refuse_unaudited(settings.api.unaudited)
    async with AsyncExitStack() as stack:
        storage = stack.enter_context(open_storage(settings, override, connections=_connections(settings)))
        found = await stack.enter_async_context(_open_queue(settings, queue, broker))
        yield ApiDependencies(
            settings=settings.api,
            clock=storage.clock,
            signer=open_seal(settings, override),
            unit=storage.unit,
            readers=storage.readers,
            standings=storage.reader.sequences,
            queued=storage.reader.queued,
            intents=storage.intents,
            **_upkeep(storage),
            problems=storage.problems,
            repositories=RepositoryBases(storage.problems.bundle),
            submissions=make_submissions(settings, storage, queue=queue, broker=broker),
            batches=storage.batches,
            registry=make_registry(settings, storage),
            **_training(settings, storage),
            columns=storage.columns,
            views=storage.views,
            annotations=lambda tenant: SqlAnnotations(storage.database, tenant),
            shares=SqlShares(storage.database),
            keys=storage.keys,
            sessions=SqlSessions(storage.database),
            audit=storage.audit,
            requests=SqlRequests(storage.database),
            accounts=storage.accounts,
            holdings=SqlHoldings(storage.database, storage.database.clock),
            retention=settings.retention,
            webhooks=SqlWebhooks(storage.database),
            check_webhook=lambda address: check_address(address, private=settings.webhooks.private),
            new_webhook_secret=new_secret,
            limiter=found.limiter,
            workers=found.workers,
            evaluated=SqlEvaluationRecords(storage.database),
            leases=found.leases,
            login=login,
            local_key=local_key,
            checks=_cached(found.checks, storage.database, stack),
        )


def _upkeep(storage: "SqlStorage") -> dict[str, Any]:
    return {"deletions": storage.deletions, "partitions": storage.partitions}


def _training(settings: Settings, storage: "SqlStorage") -> dict[str, Any]:
    jobs = make_training_jobs(settings, storage)
    leftovers = partial(remove_before_deletion, make_leftovers(settings, storage))
    flywheels = StoredFlywheels(storage.batches, jobs, storage.readers)
    return {"training": jobs, "flywheels": flywheels, "leftovers": leftovers}


def _connections(settings: Settings) -> int:
    return settings.api.threads + BESIDE_REQUESTS


def _open_queue(
    settings: Settings, override: str | None, broker: MemoryBroker | None
) -> AbstractAsyncContextManager[ServiceQueue]:
    """The queue of a service: Redis where one is named, else that of this process."""
    rate = settings.api.requests_per_minute
    if (url := queue_url(settings, override)) is not None:
        return open_redis_queue(url, rate)
    return nullcontext(local_queue(broker or MemoryBroker(clock=SystemClock()), rate))


def _cached(checks: Mapping[str, Check], database: Database, stack: AsyncExitStack) -> dict[str, CachedCheck]:
    async def check() -> None:
        await run_in_threadpool(refuse_outdated, database)

    cached = {name: CachedCheck(one) for name, one in {"database": check, **checks}.items()}
    for one in cached.values():
        stack.push_async_callback(one.aclose)
    return cached
