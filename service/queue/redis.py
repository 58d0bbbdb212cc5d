"""The queue on Redis: a stream and a consumer group per pool, a stream of results per submitter."""

import asyncio
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import structlog
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from evolve.evaluation import Evaluation, Outcome
from service.errors import MissingBundleError, UnreachableError, UsageError
from service.net.retry import Backoff
from service.ports import (
    Bundle,
    EvaluationResult,
    EvaluationTask,
    Lease,
    LeaseName,
    LeaseState,
    PoolBacklog,
    WorkerHeartbeat,
    WorkerState,
)
from service.queue import connection, scripts, wire
from service.queue.backlog import Backlog, entry_id
from service.queue.connection import BLOCK_SECONDS, GROUP, reaching
from service.queue.fairness import fair_share
from service.queue.lease_settings import LeaseSettings
from service.queue.workers import living

RECHECK_SECONDS = 2.0
LOOKED_FOR_AT_ONCE = 200
# Between two looks for tasks whose workers went silent, by whichever worker of the pool comes first.
LOOK_SECONDS = 0.25
# Of one process that wait at Redis for a task, each on a connection of its own; who comes next has its turn.
WAITING_WORKERS = 64
BACKOFF = Backoff(first_seconds=0.2, max_seconds=5.0, jitter=0.0)
_FROM_THE_FIRST = "0-0"

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _PendingTask:
    """A task without a result. `entry`: its place in the stream; empty: it has not got there."""

    task: EvaluationTask
    bundle: Bundle
    entry: str = ""


class RedisEvaluationQueue:
    """Evaluations as one submitter sees them; what Redis loses is sent again, for its submitter still knows it."""

    def __init__(
        self, client: Redis, terms: LeaseSettings | None = None, recheck_seconds: float = RECHECK_SECONDS
    ) -> None:
        self._redis, self._terms, self._recheck_seconds = client, terms or LeaseSettings(), recheck_seconds
        self._submitter = secrets.token_hex(8)
        self._results = connection.results(self._submitter)
        self._share = client.register_script(scripts.SHARE)
        self._add = client.register_script(scripts.ADD)
        self._missing = client.register_script(scripts.MISSING)
        self._pools: set[str] = set()
        self._outstanding: dict[str, _PendingTask] = {}
        self._backlogs: defaultdict[str, Backlog] = defaultdict(Backlog)
        self._sending = asyncio.Lock()

    async def submit(self, task: EvaluationTask, bundle: Bundle) -> None:
        """Hand over a task; while Redis is away it is kept, and sent by `results`."""
        sent = self._outstanding[task.evaluation_id] = _PendingTask(task, bundle)
        self._backlogs[task.pool].add(task.evaluation_id)
        sending = asyncio.ensure_future(self._send_first(sent))
        try:
            await asyncio.shield(sending)
        except asyncio.CancelledError:
            await self.cancel(task.evaluation_id)
            await asyncio.wait([sending])  # Redis may have it already, and it is taken back when its place is known
            raise

    async def results(self) -> AsyncIterator[EvaluationResult]:
        """Results of this submitter's tasks as they come, without end; sends again what Redis has lost."""
        clock = asyncio.get_running_loop()
        failures, checked = 0, clock.time()
        while True:
            found, pause = [], 0.0
            try:
                found = await self._read(BLOCK_SECONDS)
                if clock.time() - checked >= self._recheck_seconds:
                    found += await self._send_again()
                    checked = clock.time()
                failures = 0
            except UnreachableError as error:
                log.info("queue.away", reason=str(error))
                failures += 1
                pause = BACKOFF.seconds(failures)
            for result in found:  # what has come before Redis went away comes but once
                yield result
            await asyncio.sleep(pause)

    async def cancel(self, evaluation_id: str) -> None:
        """Take a task back; where Redis is away, it may still be done, and its result is not taken."""
        sent = self._outstanding.pop(evaluation_id, None)
        if sent is None:
            return
        self._backlogs[sent.task.pool].remove(evaluation_id)
        if sent.entry:
            await self._take_back(sent)

    async def share(self, pool: str, wants: int) -> int:
        """Say how many evaluations are wanted at once, and learn how many slots are fairly this submitter's own."""
        stays = _milliseconds(self._terms.claim_seconds)
        self._pools.add(pool)
        async with reaching():
            keys = [connection.claims(pool), connection.wants(pool)]
            keys += [connection.workers(pool), connection.slots(pool), connection.ends(pool)]
            keys.append(connection.tasks(pool))
            said: Any = await self._share(keys=keys, args=[self._submitter, wants, stays, GROUP])
            slots, uncounted, flat, last, waited = said
            if uncounted > 0:
                heartbeats = await living(self._redis, pool, self._terms)
                slots = sum(heartbeat.slots for heartbeat in heartbeats if heartbeat.state is WorkerState.ACTIVE)
        self._backlogs[pool].heard(entry_id(last), waited / 1e3)
        wanted = {name.decode(): int(count) for name, count in zip(flat[::2], flat[1::2], strict=True)}
        return fair_share(slots, wanted, self._submitter)

    def backlog(self, pool: str) -> PoolBacklog:
        """What waits, as Redis last told with a share or with a task that was sent."""
        return self._backlogs[pool].now

    async def aclose(self) -> None:
        """Take back what has no result yet, and remove what is kept for this submitter."""
        await asyncio.gather(*(self.cancel(evaluation_id) for evaluation_id in list(self._outstanding)))
        with suppress(UnreachableError):
            async with reaching():
                await self._redis.delete(self._results)
            for pool in self._pools:
                await self.share(pool, 0)

    async def _send_first(self, sent: _PendingTask) -> None:
        async with self._sending:
            # Unless it was sent as one that is missing while this waited, or cancelled.
            if not sent.entry and self._outstanding.get(sent.task.evaluation_id) is sent:
                with suppress(UnreachableError):
                    await self._send(sent)

    async def _send(self, sent: _PendingTask) -> None:
        task, stays = sent.task, _milliseconds(self._terms.bundle_seconds)
        keys = [connection.bundle(sent.bundle.hash), connection.tasks(task.pool), connection.pools()]
        args: list[Any] = [stays, task.pool, wire.task_to_json(task), self._results, task.evaluation_id, GROUP]
        async with reaching():
            # Without the folder first: it may be large, and is nearly always there.
            said: Any = await self._add(keys=keys, args=args) or await self._add(keys, [*args, sent.bundle.content])
        entry, last, waited = said
        sent.entry, backlog = entry.decode(), self._backlogs[task.pool]
        if self._outstanding.get(task.evaluation_id) is not sent:
            await self._take_back(sent)
        else:
            backlog.sent(task.evaluation_id, entry_id(entry))
        backlog.heard(entry_id(last), waited / 1e3)

    async def _take_back(self, sent: _PendingTask) -> None:
        mark, stream = connection.cancellation(sent.task.pool, sent.entry), connection.tasks(sent.task.pool)
        with suppress(UnreachableError):
            async with reaching(), self._redis.pipeline(transaction=True) as steps:
                steps.set(mark, 1, px=_milliseconds(self._terms.result_seconds))
                steps.xdel(stream, sent.entry)
                await steps.execute()

    async def _read(self, block_seconds: float | None) -> list[EvaluationResult]:
        """What has come. It is deleted when it was read, so that reading begins at the first."""
        async with reaching():
            block = None if block_seconds is None else _milliseconds(block_seconds)
            read: Any = await self._redis.xread({self._results: _FROM_THE_FIRST}, block=block)
            if not read:
                return []
            entries = [(entry, fields) for _, stream in read for entry, fields in stream]
            await self._redis.xdel(self._results, *(entry for entry, _ in entries))
        return [result for _, fields in entries if (result := self._take(fields)) is not None]

    def _take(self, fields: Mapping[bytes, bytes]) -> EvaluationResult | None:
        """A result, once: none where the task was answered before, or taken back."""
        evaluation_id = fields.get(b"evaluation_id", b"").decode(errors="replace")
        sent = self._outstanding.pop(evaluation_id, None)
        if sent is None:
            return None
        self._backlogs[sent.task.pool].answered(evaluation_id)
        evaluation = wire.evaluation_from_json(fields.get(b"evaluation", b""))
        return EvaluationResult(evaluation_id=evaluation_id, evaluation=evaluation)

    async def _send_again(self) -> list[EvaluationResult]:
        """Send what is neither in its stream nor among the results; a result comes with the end of its entry."""
        async with self._sending:
            gone = await self._gone()
            found = await self._read(None) if gone else []
            with suppress(UnreachableError):  # the next time sends the rest
                for sent in gone:
                    if self._outstanding.get(sent.task.evaluation_id) is sent:
                        await self._send(sent)
                        log.info("evaluation.sent_again", evaluation_id=sent.task.evaluation_id)
        return found

    async def _gone(self) -> list[_PendingTask]:
        """What was sent and is not in its stream, and what could not be sent."""
        waiting = list(self._outstanding.values())
        gone = [sent for sent in waiting if not sent.entry]
        for pool in {sent.task.pool for sent in waiting}:
            sent_there = [sent for sent in waiting if sent.entry and sent.task.pool == pool]
            for some in _batched(sent_there, LOOKED_FOR_AT_ONCE):
                async with reaching():
                    missing: Any = await self._missing([connection.tasks(pool)], [sent.entry for sent in some])
                gone += [some[position - 1] for position in missing]
        return gone


class RedisEvaluationLeases:
    """Evaluations of one pool as one worker sees them."""

    def __init__(
        self,
        client: Redis,
        pool: str,
        worker_id: str,
        terms: LeaseSettings | None = None,
        waiting: asyncio.Semaphore | None = None,
    ) -> None:
        """Make it.

        Args:
            client: of the queue.
            pool: whose tasks are taken.
            worker_id: a name that no other worker has.
            terms: what all agree on.
            waiting: lets in as many of the workers of this process as may wait at Redis at once, the others in turn.
        """
        self._redis, self._pool, self._worker_id, self._terms = client, pool, worker_id, terms or LeaseSettings()
        self._waiting = waiting or asyncio.Semaphore(WAITING_WORKERS)
        self._stream, self._dead = connection.tasks(pool), connection.dead_letters(pool)
        self._lease = client.register_script(scripts.LEASE)
        self._renew = client.register_script(scripts.RENEW)
        self._complete = client.register_script(scripts.COMPLETE)
        self._release = client.register_script(scripts.RELEASE)
        self._bury = client.register_script(scripts.BURY)
        self._heartbeat = client.register_script(scripts.HEARTBEAT)
        self._leave = client.register_script(scripts.LEAVE)

    async def lease(self, timeout_seconds: float) -> Lease | None:
        """The next task: first one whose worker went silent, then the oldest; None when none comes in time."""
        clock = asyncio.get_running_loop()
        until = clock.time() + timeout_seconds
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._waiting.acquire()
        except TimeoutError:
            return None
        try:
            return await self._next(until - clock.time())
        finally:
            self._waiting.release()

    async def _next(self, timeout_seconds: float) -> Lease | None:
        async with reaching():
            taken = await self._take() or await self._wait(timeout_seconds)
            if taken is None:
                return None
            entry, fields, delivery, now = taken
            try:
                task = wire.task_from_json(fields.get(b"task", b""))
            except UsageError as error:
                await self._put_away(entry, str(error))
                return None
        waited_seconds = max(0.0, now - int(entry.partition("-")[0]) / 1e3)
        return Lease(id=entry, task=task, delivery=delivery, waited_seconds=waited_seconds)

    async def renew(self, lease: LeaseName) -> LeaseState:
        """Say that the task is being worked at."""
        keys = [self._stream, connection.cancellation(self._pool, lease.id)]
        async with reaching():
            said: bytes = await self._renew(keys=keys, args=[GROUP, lease.id, self._worker_id, lease.delivery])
        return LeaseState(said.decode())

    async def complete(self, lease: LeaseName, evaluation: Evaluation) -> bool:
        """Give the result; False and nothing done where the lease is not this worker's, or no longer."""
        answer, stays = wire.evaluation_to_json(evaluation), _milliseconds(self._terms.result_seconds)
        args: list[str | int] = [GROUP, lease.id, self._worker_id, lease.delivery, answer, stays]
        async with reaching():
            return bool(await self._complete(keys=[self._stream], args=args))

    async def release(self, lease: LeaseName) -> bool:
        """Return a task undone: its submitter misses its entry, and sends it again with its problem's folder."""
        args: list[str | int] = [GROUP, lease.id, self._worker_id, lease.delivery]
        async with reaching():
            return bool(await self._release(keys=[self._stream], args=args))

    async def bundle(self, bundle_hash: str) -> Bundle:
        """A problem's folder, which stays a while longer for it."""
        async with reaching():
            stays = _milliseconds(self._terms.bundle_seconds)
            content: Any = await self._redis.getex(connection.bundle(bundle_hash), px=stays)
        if content is None:
            raise MissingBundleError(bundle_hash)
        return Bundle(hash=bundle_hash, content=content)

    async def heartbeat(self, heartbeat: WorkerHeartbeat) -> bool:
        """Publish that this worker lives; whether it was told to drain."""
        pool, terms = self._pool, self._terms
        gives = heartbeat.slots if heartbeat.state is WorkerState.ACTIVE else 0
        args: list[str | int] = [
            *(pool, self._worker_id, wire.heartbeat_to_json(heartbeat), _milliseconds(terms.beat_seconds), gives),
            *(GROUP, _milliseconds(terms.forget_seconds), connection.worker(pool, "")),
        ]
        async with reaching():
            own = self._own_keys()
            keys = [connection.pools(), *own, self._stream, connection.sweep(pool)]
            return bool(await self._heartbeat(keys=keys, args=args))

    async def leave(self) -> None:
        """Publish that this worker has ended."""
        async with reaching():
            await self._leave(keys=[self._stream, *self._own_keys()], args=[GROUP, self._worker_id])

    def _own_keys(self) -> list[str]:
        """Where it is known and counted."""
        pool, own = self._pool, self._worker_id
        known = [connection.workers(pool), connection.worker(pool, own), connection.drain(own)]
        return [*known, connection.slots(pool), connection.ends(pool)]

    async def _take(self) -> tuple[str, Mapping[bytes, bytes], int, float] | None:
        """What can be had without waiting."""
        terms = self._terms
        found: Any = await self._lease(
            keys=[self._stream, self._dead, connection.look(self._pool)],
            args=[
                *(GROUP, self._worker_id, _milliseconds(terms.lease_seconds), terms.deliveries),
                *(wire.evaluation_to_json(terms.given_up), _milliseconds(terms.result_seconds)),
                _milliseconds(LOOK_SECONDS),
            ],
        )
        if not found:
            return None
        entry, flat, delivery, seconds, microseconds = found
        now = int(seconds) + int(microseconds) / 1e6
        return entry.decode(), dict(zip(flat[::2], flat[1::2], strict=True)), int(delivery), now

    async def _wait(self, timeout_seconds: float) -> tuple[str, Mapping[bytes, bytes], int, float] | None:
        """What comes in time."""
        block = max(1, _milliseconds(min(timeout_seconds, BLOCK_SECONDS)))
        try:
            read: Any = await self._redis.xreadgroup(GROUP, self._worker_id, {self._stream: ">"}, count=1, block=block)
        except ResponseError as error:
            # There is no group before the first worker came, nor after Redis was emptied, even while it was waited.
            if not str(error).startswith(("NOGROUP", "UNBLOCKED")):
                raise
            with suppress(ResponseError):  # another worker was faster
                await self._redis.xgroup_create(self._stream, GROUP, id="0", mkstream=True)
            return None
        if not read:
            return None
        [(_, [(entry, fields)])] = read
        seconds, microseconds = await self._redis.time()
        return entry.decode(), fields, 1, seconds + microseconds / 1e6

    async def _put_away(self, entry: str, reason: str) -> None:
        """To the dead letters with what nobody can read."""
        log.warning("evaluation.unreadable", entry=entry, reason=reason)
        answer = wire.evaluation_to_json(Evaluation(outcome=Outcome.LOST, reason=reason))
        stays = _milliseconds(self._terms.result_seconds)
        await self._bury(keys=[self._stream, self._dead], args=[GROUP, entry, answer, stays])


def _batched(tasks: Sequence[_PendingTask], size: int) -> Iterator[Sequence[_PendingTask]]:
    """Tasks in lists of a size."""
    return (tasks[start : start + size] for start in range(0, len(tasks), size))


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)
