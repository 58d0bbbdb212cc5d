"""What Prometheus is told of queue and workers, asked of the queue whenever it is told."""

from collections import Counter

from prometheus_client import Gauge

from service.ports import Workers, WorkerState

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


def _shown() -> set[str]:
    """Pools that were told of before."""
    return {sample.labels["pool"] for metric in DEPTH.collect() for sample in metric.samples}
