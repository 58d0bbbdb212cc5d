"""The queue within one process: the same rules as on Redis, for a service of one process and for tests."""

import asyncio
import secrets
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evolve.evaluation import Evaluation
from service.errors import MissingBundleError, NotFoundError
from service.ports import (
    Bundle,
    Clock,
    EvaluationResult,
    EvaluationTask,
    Lease,
    LeaseName,
    LeaseState,
    PoolBacklog,
    WorkerHeartbeat,
    WorkerState,
)
from service.queue import wire
from service.queue.fairness import could_use, fair_share
from service.queue.lease_settings import LeaseSettings

MAX_BUNDLES = 64
MAX_DEAD = 1000

Inbox = asyncio.Queue[EvaluationResult]


@dataclass(slots=True)
class _Entry:
    """One submission of a task. `worker`: who has it; empty: nobody. `untaken`: what waits of its submitter."""

    id: str
    task: EvaluationTask
    bundle: Bundle
    inbox: Inbox
    submitted_at: float
    untaken: set[str]
    worker: str = ""
    delivery: int = 0
    renewed_at: float = 0.0
    cancelled: bool = False


@dataclass(slots=True)
class MemoryBroker:
    """What submitters and workers of one process share.

    Attributes:
        dead: tasks that nobody could do.
    """

    clock: Clock
    terms: LeaseSettings = field(default_factory=LeaseSettings)
    dead: deque[EvaluationTask] = field(default_factory=lambda: deque(maxlen=MAX_DEAD))
    waiting: dict[str, deque[_Entry]] = field(default_factory=dict)
    pending: dict[str, _Entry] = field(default_factory=dict)
    bundles: dict[str, Bundle] = field(default_factory=dict)
    heartbeats: dict[str, tuple[float, WorkerHeartbeat]] = field(default_factory=dict)
    drains: set[str] = field(default_factory=set)
    claims: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    def pool(self, name: str) -> deque[_Entry]:
        """What waits in a pool, the oldest first."""
        return self.waiting.setdefault(name, deque())

    async def add(self, entry: _Entry) -> None:
        """Have a task wait for a worker, with its problem's folder."""
        self.keep(entry.bundle)
        entry.untaken.add(entry.task.evaluation_id)
        self.pool(entry.task.pool).append(entry)
        async with self.arrived:
            self.arrived.notify_all()

    def keep(self, bundle: Bundle) -> None:
        """Keep a problem's folder; of those without tasks the longest unused goes when there are many."""
        self.bundles.pop(bundle.hash, None)
        self.bundles[bundle.hash] = bundle
        if len(self.bundles) > MAX_BUNDLES:
            entries = (*self.pending.values(), *(entry for pool in self.waiting.values() for entry in pool))
            needed = {bundle.hash, *(entry.task.bundle_hash for entry in entries)}
            unused = [bundle_hash for bundle_hash in self.bundles if bundle_hash not in needed]
            for bundle_hash in unused[: len(self.bundles) - MAX_BUNDLES]:
                del self.bundles[bundle_hash]

    def living(self) -> list[WorkerHeartbeat]:
        """Workers whose last word is not too old, by pool and id."""
        oldest = self.clock.monotonic() - self.terms.beat_seconds
        self.heartbeats = {id_: said for id_, said in self.heartbeats.items() if said[0] > oldest}
        return sorted(
            (heartbeat for _, heartbeat in self.heartbeats.values()),
            key=lambda heartbeat: (heartbeat.pool, heartbeat.worker_id),
        )

    def wanted(self, pool: str) -> dict[str, int]:
        """What each submitter wants of a pool whose last word is not too old."""
        oldest = self.clock.monotonic() - self.terms.claim_seconds
        self.claims = {claim: said for claim, said in self.claims.items() if said[0] > oldest}
        return {name: wants for (claimed, name), (_, wants) in self.claims.items() if claimed == pool}


class MemoryEvaluationQueue:
    """Evaluations as one submitter sees them."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker = broker
        self._submitter = secrets.token_hex(8)
        self._inbox: Inbox = asyncio.Queue()
        self._outstanding: dict[str, _Entry] = {}
        self._untaken: defaultdict[str, set[str]] = defaultdict(set)

    async def submit(self, task: EvaluationTask, bundle: Bundle) -> None:
        """Hand over a task with its problem's folder."""
        task = wire.task_from_json(wire.task_to_json(task))
        now = self._broker.clock.monotonic()
        entry = _Entry(
            id=secrets.token_hex(8),
            task=task,
            bundle=bundle,
            inbox=self._inbox,
            submitted_at=now,
            untaken=self._untaken[task.pool],
        )
        self._outstanding[task.evaluation_id] = entry
        await self._broker.add(entry)

    async def results(self) -> AsyncIterator[EvaluationResult]:
        """Results of this submitter's tasks as they come, without end."""
        while True:
            result = await self._inbox.get()
            if self._outstanding.pop(result.evaluation_id, None) is not None:
                yield result

    async def cancel(self, evaluation_id: str) -> None:
        """Take a task back."""
        entry = self._outstanding.pop(evaluation_id, None)
        if entry is None:
            return
        entry.cancelled = True
        entry.untaken.discard(evaluation_id)
        waiting = self._broker.pool(entry.task.pool)
        if entry in waiting:
            waiting.remove(entry)

    async def share(self, pool: str, wants: int) -> int:
        """Say how many evaluations are wanted at once, and learn how many slots are fairly this submitter's own."""
        self._broker.claims.pop((pool, self._submitter), None)
        if wants:
            self._broker.claims[pool, self._submitter] = self._broker.clock.monotonic(), wants
        active = (
            heartbeat
            for heartbeat in self._broker.living()
            if heartbeat.pool == pool and heartbeat.state is WorkerState.ACTIVE
        )
        return fair_share(sum(heartbeat.slots for heartbeat in active), self._broker.wanted(pool), self._submitter)

    def backlog(self, pool: str) -> PoolBacklog:
        """What waits now."""
        waiting, now = self._broker.pool(pool), self._broker.clock.monotonic()
        return PoolBacklog(
            own=len(self._untaken[pool]), oldest_seconds=now - waiting[0].submitted_at if waiting else 0.0
        )

    async def aclose(self) -> None:
        """Take back what has no result yet, and give up the share."""
        for evaluation_id in list(self._outstanding):
            await self.cancel(evaluation_id)
        claims = self._broker.claims
        self._broker.claims = {claim: said for claim, said in claims.items() if claim[1] != self._submitter}


class MemoryWorkers:
    """The workers of all pools."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker = broker

    async def workers(self) -> Sequence[WorkerHeartbeat]:
        """Workers that live, by pool and id."""
        return self._broker.living()

    async def drain(self, worker_id: str) -> None:
        """Have a worker finish what it has and end.

        Raises:
            NotFoundError: no such worker lives.
        """
        if worker_id not in {heartbeat.worker_id for heartbeat in self._broker.living()}:
            raise NotFoundError(f"no worker {worker_id[:80]} lives")
        self._broker.drains.add(worker_id)

    async def depths(self) -> Mapping[str, int]:
        """How many tasks wait for a worker, by pool."""
        pools = {*self._broker.waiting, *(heartbeat.pool for heartbeat in self._broker.living())}
        return {pool: len(self._broker.pool(pool)) for pool in sorted(pools)}

    async def wants(self) -> Mapping[str, int]:
        """How many slots the submitters with work could use now, by pool."""
        pools = sorted({*await self.depths(), *(pool for pool, _ in self._broker.claims)})
        return {pool: could_use(self._broker.wanted(pool).values()) for pool in pools}

    async def waits(self) -> Mapping[str, float]:
        """For how many seconds the oldest task has waited that no worker ever had, by pool."""
        now = self._broker.clock.monotonic()
        return {
            pool: now - entries[0].submitted_at for pool, entries in sorted(self._broker.waiting.items()) if entries
        }


class MemoryEvaluationLeases:
    """Evaluations of one pool as one worker sees them."""

    def __init__(self, broker: MemoryBroker, pool: str, worker_id: str) -> None:
        self._broker, self._pool, self._worker_id = broker, pool, worker_id

    async def lease(self, timeout_seconds: float) -> Lease | None:
        """The next task: first one whose worker went silent, then the oldest; None when none comes in time."""
        try:
            async with asyncio.timeout(timeout_seconds), self._broker.arrived:
                while (entry := self._next()) is None:
                    await self._broker.arrived.wait()
        except TimeoutError:
            return None
        entry.worker, entry.delivery = self._worker_id, entry.delivery + 1
        entry.untaken.discard(entry.task.evaluation_id)
        now = entry.renewed_at = self._broker.clock.monotonic()
        self._broker.pending[entry.id] = entry
        waited_seconds = now - entry.submitted_at
        return Lease(id=entry.id, task=entry.task, delivery=entry.delivery, waited_seconds=waited_seconds)

    async def renew(self, lease: LeaseName) -> LeaseState:
        """Say that the task is being worked at."""
        entry = self._held(lease)
        if entry is None:
            return LeaseState.LOST
        if entry.cancelled:
            return LeaseState.CANCELLED
        entry.renewed_at = self._broker.clock.monotonic()
        return LeaseState.HELD

    async def complete(self, lease: LeaseName, evaluation: Evaluation) -> bool:
        """Give the result; False and nothing done where the lease is not this worker's, or no longer."""
        entry = self._held(lease)
        if entry is None:
            return False
        del self._broker.pending[lease.id]
        self._answer(entry, wire.evaluation_from_json(wire.evaluation_to_json(evaluation)))
        return True

    async def release(self, lease: LeaseName) -> bool:
        """Return a task undone; it is handed out again as if it were new."""
        entry = self._held(lease)
        if entry is None:
            return False
        del self._broker.pending[lease.id]
        if not entry.cancelled:
            entry.id, entry.worker, entry.delivery = secrets.token_hex(8), "", 0
            await self._broker.add(entry)
        return True

    async def bundle(self, bundle_hash: str) -> Bundle:
        """A problem's folder."""
        try:
            return self._broker.bundles[bundle_hash]
        except KeyError:
            raise MissingBundleError(bundle_hash) from None

    async def heartbeat(self, heartbeat: WorkerHeartbeat) -> bool:
        """Publish that this worker lives; whether it was told to drain."""
        clock = self._broker.clock
        self._broker.heartbeats[self._worker_id] = (clock.monotonic(), replace(heartbeat, seen_at=clock.now()))
        return self._worker_id in self._broker.drains

    async def leave(self) -> None:
        """Publish that this worker has ended."""
        self._broker.heartbeats.pop(self._worker_id, None)
        self._broker.drains.discard(self._worker_id)

    def _held(self, lease: LeaseName) -> _Entry | None:
        entry = self._broker.pending.get(lease.id)
        mine = entry is not None and (entry.worker, entry.delivery) == (self._worker_id, lease.delivery)
        return entry if mine else None

    def _next(self) -> _Entry | None:
        oldest = self._broker.clock.monotonic() - self._broker.terms.lease_seconds
        silent = [entry for entry in self._broker.pending.values() if entry.renewed_at <= oldest]
        for entry in silent:
            if entry.task.pool != self._pool:
                continue
            if not entry.cancelled and entry.delivery < self._broker.terms.deliveries:
                return entry
            del self._broker.pending[entry.id]
            if not entry.cancelled:
                self._broker.dead.append(entry.task)
                self._answer(entry, self._broker.terms.given_up)
        waiting = self._broker.pool(self._pool)
        return waiting.popleft() if waiting else None

    def _answer(self, entry: _Entry, evaluation: Evaluation) -> None:
        entry.inbox.put_nowait(EvaluationResult(evaluation_id=entry.task.evaluation_id, evaluation=evaluation))
