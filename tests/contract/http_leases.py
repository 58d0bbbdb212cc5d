"""The queue as workers see it that come over HTTP: the API before another queue, and clients of it."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Any

import httpx

from service import keys
from service.api.app import create_api
from service.api.dependencies import ApiDependencies
from service.client.leases import RemoteEvaluationLeases, connect_service
from service.config import ApiSettings
from service.ports import DEFAULT_TENANT, AuditEntry, EvaluationLeases, KeyRecord, Scope
from service.queue.limiter import MemoryRateLimiter
from service.signer import Signer
from service.timestamps import SystemClock
from tests.contract.queueing import POOL, STARTED_AT, Bench


class Keys:
    """Keys by their hashes; of a key store, what the door of the API asks."""

    def __init__(self) -> None:
        self.records: dict[str, KeyRecord] = {}

    def make(self, signer: Signer, tenant: str = DEFAULT_TENANT, scopes: tuple[Scope, ...] = tuple(Scope)) -> str:
        minted = keys.mint(signer)
        record = KeyRecord(
            id=f"key_{len(self.records)}",
            tenant=tenant,
            name="worker",
            shown=minted.shown,
            scopes=scopes,
            created_at=STARTED_AT,
            created_by="test",
        )
        self.records[minted.hash] = record
        return minted.text

    def find(self, key_hash: str) -> KeyRecord | None:
        return self.records.get(key_hash)

    def has_beginning(self, shown: str) -> bool:
        return any(record.shown == shown for record in self.records.values())

    def used(self, key_id: str, at: datetime) -> None:
        pass


class HttpBench:
    """Another queue behind the API: workers come over HTTP, all else as before."""

    default: httpx.AsyncClient

    def __init__(self, under: Bench) -> None:
        self.under, self.keys, self.signer = under, Keys(), Signer("s" * 32)
        self.audited: list[AuditEntry] = []
        self.submitter, self.workers, self.now = under.submitter, under.workers, under.now
        self.lapse, self.silence, self.hush, self.dead = under.lapse, under.silence, under.hush, under.dead
        given: dict[str, Any] = dict.fromkeys(
            ApiDependencies.__dataclass_fields__
        )  # what the routes of workers have no use for
        clock = SystemClock()
        given |= {
            "settings": ApiSettings(),
            "clock": clock,
            "signer": self.signer,
            "keys": self.keys,
            "audit": self,
            "limiter": MemoryRateLimiter(50, clock),
            "leases": lambda pool, worker_id: under.worker(worker_id, pool),
        }
        self.app = create_api(ApiDependencies(**given))
        self.transport = httpx.ASGITransport(self.app)

    def write(self, entry: AuditEntry) -> None:
        self.audited.append(entry)

    def client(self, key: str) -> AbstractAsyncContextManager[httpx.AsyncClient]:
        return connect_service("https://evolve.test", key, self.transport)

    def worker(self, name: str, pool: str = POOL) -> EvaluationLeases:
        return RemoteEvaluationLeases(self.default, pool, name, hold_seconds=0.0)


@asynccontextmanager
async def http_bench(under: Bench) -> AsyncIterator[HttpBench]:
    bench = HttpBench(under)
    key = bench.keys.make(bench.signer, scopes=(Scope.EVALUATIONS_LEASE,))
    async with bench.app.router.lifespan_context(bench.app), bench.client(key) as bench.default:
        yield bench
