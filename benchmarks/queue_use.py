"""How busy a run keeps the slots of a pool, by how long evaluations last: `python -m benchmarks.queue_use`.

A real Redis, one run that always has something to evaluate, and a process whose slots lease, wait and complete. The
share of the time in which the slots have a task is 1 less what they wait for the run.
"""

import asyncio
import json
import subprocess
import sys
import time
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import Any

from redis import Redis

from benchmarks.fleet_clients import POOL
from benchmarks.harness import arguments, report
from benchmarks.queue_calls import BUNDLE, GOOD, task
from evolve.version import __version__
from service.errors import UnreachableError
from service.ports import WorkerHeartbeat
from service.queue.connection import connect
from service.queue.evaluator import QueuedEvaluator, open_queued_evaluator
from service.queue.redis import RedisEvaluationLeases, RedisEvaluationQueue
from service.telemetry import configure_logging
from tests.services import redis_server

WARM_SECONDS = 2.0
POINTS = ((2, 0.001), (8, 0.02), (32, 0.2))


async def slots(url: str, count: int, evaluation_seconds: float) -> None:
    """A worker that only waits, without end."""
    async with connect(url) as client:
        leases = RedisEvaluationLeases(client, POOL, "waits")
        heartbeat = WorkerHeartbeat(
            worker_id="waits",
            pool=POOL,
            slots=count,
            busy=0,
            isolation="none",
            version=__version__,
            started_at=datetime.now(UTC),
        )

        async def slot() -> None:
            while True:
                lease = await leases.lease(5.0)
                if lease is not None:
                    await asyncio.sleep(evaluation_seconds)
                    await leases.complete(lease, GOOD)

        async def beat() -> None:
            while True:
                with suppress(UnreachableError):
                    await leases.heartbeat(heartbeat)
                await asyncio.sleep(1.0)

        await asyncio.gather(beat(), *(slot() for _ in range(count)))


async def rate(url: str, count: int, seconds: float) -> float:
    """Evaluations a second of a run on the slots of a worker."""
    done, numbers = 0, iter(range(10**9))

    async def evaluate(evaluator: QueuedEvaluator) -> None:
        nonlocal done
        while True:
            one = task(next(numbers))
            await evaluator.evaluate(one.program, one.evaluation_id)
            done += 1

    async with connect(url) as client, aclosing(RedisEvaluationQueue(client)) as queue:
        while await queue.share(POOL, 0) != count:  # noqa: ASYNC110 - another process says so
            await asyncio.sleep(0.05)
        async with open_queued_evaluator(queue, BUNDLE, POOL) as evaluator:
            calls = [asyncio.create_task(evaluate(evaluator)) for _ in range(evaluator.slots)]
            await asyncio.sleep(WARM_SECONDS)
            before, began = done, time.monotonic()
            await asyncio.sleep(seconds)
            found = (done - before) / (time.monotonic() - began)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
    return found


def measure(url: str, count: int, evaluation_seconds: float, seconds: float) -> dict[str, Any]:
    """One point, on an empty queue."""
    with Redis.from_url(url) as client:
        client.flushdb()
    words = ["--slots", url, str(count), str(evaluation_seconds)]
    worker = subprocess.Popen([sys.executable, "-m", "benchmarks.queue_use", *words])
    try:
        found = asyncio.run(rate(url, count, seconds))
    finally:
        worker.kill()
        worker.wait()
    return {
        "slots": count,
        "evaluation_seconds": evaluation_seconds,
        "a_second": round(found, 1),
        "use": round(found * evaluation_seconds / count, 4),
    }


def main() -> None:
    configure_logging(-1)
    parser = arguments(__doc__ or "")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--slots", nargs=3, help="be the slots: queue, how many, seconds of an evaluation")
    options = parser.parse_args()
    if options.slots:
        url, count, seconds = options.slots
        asyncio.run(slots(url, int(count), float(seconds)))
        return
    found = []
    with redis_server() as server:
        url = server.database_url(0)
        for count, evaluation_seconds in POINTS:
            found.append(measure(url, count, evaluation_seconds, options.seconds))
            sys.stderr.write(json.dumps(found[-1]) + "\n")
    report("queue_use", {"points": found}, options.out)


if __name__ == "__main__":
    main()
