"""The queue within one process: the same rules as on Redis, for a service of one process and for tests."""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from evolve.evaluation import Evaluation
from service.errors import NotFoundError
from service.ports import Bundle, Clock, EvaluationResult, EvaluationTask, Lease, Standing, WorkerBeat
from service.queue import wire
from service.queue.terms import Terms

Inbox = asyncio.Queue[EvaluationResult]


@dataclass(slots=True)
class _Entry:
    """One submission of a task. `worker`: who has it; empty: nobody."""

    id: str
    task: EvaluationTask
    inbox: Inbox
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
    terms: Terms = field(default_factory=Terms)
    dead: list[EvaluationTask] = field(default_factory=list)
    waiting: dict[str, deque[_Entry]] = field(default_factory=dict)
    pending: dict[str, _Entry] = field(default_factory=dict)
    bundles: dict[str, Bundle] = field(default_factory=dict)
    beats: dict[str, tuple[float, WorkerBeat]] = field(default_factory=dict)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    def pool(self, name: str) -> deque[_Entry]:
        """What waits in a pool, the oldest first."""
        return self.waiting.setdefault(name, deque())


class MemoryEvaluationQueue:
    """Evaluations as one submitter sees them."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker = broker
        self._inbox: Inbox = asyncio.Queue()
        self._outstanding: dict[str, _Entry] = {}

    async def submit(self, task: EvaluationTask, bundle: Bundle) -> None:
        """Hand over a task with its problem's folder."""
        task = wire.task_from_json(wire.task_to_json(task))
        entry = _Entry(id=secrets.token_hex(8), task=task, inbox=self._inbox)
        self._outstanding[task.evaluation_id] = entry
        self._broker.bundles[bundle.hash] = bundle
        self._broker.pool(task.pool).append(entry)
        async with self._broker.arrived:
            self._broker.arrived.notify_all()

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
        waiting = self._broker.pool(entry.task.pool)
        if entry in waiting:
            waiting.remove(entry)

    async def workers(self, pool: str) -> Sequence[WorkerBeat]:
        """Workers of a pool that live."""
        oldest = self._broker.clock.monotonic() - self._broker.terms.beat_seconds
        beats = sorted(self._broker.beats.items())
        return [beat for _, (at, beat) in beats if beat.pool == pool and at > oldest]


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
        entry.renewed_at = self._broker.clock.monotonic()
        self._broker.pending[entry.id] = entry
        return Lease(id=entry.id, task=entry.task, delivery=entry.delivery)

    async def renew(self, lease: Lease) -> Standing:
        """Say that the task is being worked at."""
        entry = self._held(lease)
        if entry is None:
            return Standing.LOST
        if entry.cancelled:
            return Standing.CANCELLED
        entry.renewed_at = self._broker.clock.monotonic()
        return Standing.HELD

    async def complete(self, lease: Lease, evaluation: Evaluation) -> bool:
        """Give the result; False and nothing done where the lease is not this worker's, or no longer."""
        entry = self._held(lease)
        if entry is None:
            return False
        del self._broker.pending[lease.id]
        self._answer(entry, wire.evaluation_from_json(wire.evaluation_to_json(evaluation)))
        return True

    async def bundle(self, bundle_hash: str) -> Bundle:
        """A problem's folder."""
        try:
            return self._broker.bundles[bundle_hash]
        except KeyError:
            raise NotFoundError(f"the queue does not have the problem {bundle_hash[:12]}") from None

    async def beat(self, beat: WorkerBeat) -> None:
        """Publish that this worker lives."""
        self._broker.beats[self._worker_id] = (self._broker.clock.monotonic(), beat)

    async def leave(self) -> None:
        """Publish that this worker has ended."""
        self._broker.beats.pop(self._worker_id, None)

    def _held(self, lease: Lease) -> _Entry | None:
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
