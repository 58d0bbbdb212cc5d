"""What Prometheus is told of waiting runs, queue and workers, asked of the queue whenever it is told."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from prometheus_client import Gauge

from service.errors import StorageError, UnreachableError
from service.ports import Workers, WorkerState

QUEUED = Gauge("evolve_runs_queued", "Runs that no runner has taken up yet")
DEPTH = Gauge("evolve_queue_depth", "Tasks that wait for a worker", ["pool"])
WORKERS = Gauge("evolve_workers", "Workers that live, by state", ["pool", "state"])
SLOTS = Gauge("evolve_worker_slots", "Slots of the active workers", ["pool"])
WANTED = Gauge("evolve_worker_slots_wanted", "Slots that runs and checks could use now", ["pool"])
BUSY = Gauge("evolve_worker_slots_busy", "Slots of the workers that live on which an evaluation goes on", ["pool"])


async def read_queue_gauges(workers: Workers) -> None:
    """Set the gauges of queue and workers to what holds now; those of pools that are gone fall to 0.

    Raises:
        UnreachableError: the queue does not answer; the gauges keep what they had.
    """
    depths, wants, heartbeats = await workers.depths(), await workers.wants(), await workers.workers()
    counts = Counter((heartbeat.pool, heartbeat.state) for heartbeat in heartbeats)
    slots: Counter[str] = Counter()
    busy: Counter[str] = Counter()
    for heartbeat in heartbeats:
        slots[heartbeat.pool] += heartbeat.slots if heartbeat.state is WorkerState.ACTIVE else 0
        busy[heartbeat.pool] += heartbeat.busy
    for pool in {*depths, *wants, *slots, *_shown()}:
        DEPTH.labels(pool).set(depths.get(pool, 0))
        SLOTS.labels(pool).set(slots[pool])
        WANTED.labels(pool).set(wants.get(pool, 0))
        BUSY.labels(pool).set(busy[pool])
        for state in WorkerState:
            WORKERS.labels(pool, state).set(counts[pool, state])


async def keep_gauges(workers: Workers, queued: Callable[[], int], pause_seconds: float) -> None:
    """Keep the gauges of queue, workers and waiting runs up to date, without end.

    Args:
        workers: of the queue.
        queued: how many runs wait for a runner.
        pause_seconds: between two readings.
    """
    while True:
        with suppress(UnreachableError):
            await read_queue_gauges(workers)
        with suppress(StorageError):
            QUEUED.set(await asyncio.to_thread(queued))
        await asyncio.sleep(pause_seconds)


def _shown() -> set[str]:
    """Pools that were told of before."""
    return {sample.labels["pool"] for metric in DEPTH.collect() for sample in metric.samples}
