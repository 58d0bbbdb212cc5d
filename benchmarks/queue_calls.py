"""What a call of the queue costs by the size of the fleet: `python -m benchmarks.queue_calls`.

A real Redis, on which so many workers live and hold a task each. Then each call is made again and again: processor time
of Redis and of the caller, in milliseconds a call. It should not grow with the fleet.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from redis.asyncio import Redis

from benchmarks.fleet_clients import POOL
from benchmarks.harness import arguments, report
from evolve.evaluation import Evaluation, Outcome
from evolve.program import Program
from evolve.version import __version__
from service.ports import Bundle, EvaluationTask, Lease, WorkerHeartbeat
from service.queue.connection import connect
from service.queue.lease_settings import LeaseSettings
from service.queue.redis import RedisEvaluationLeases, RedisEvaluationQueue
from service.telemetry import configure_logging
from tests.services import redis_server

# Nothing lapses while it is measured, however slow the machine is.
TERMS = LeaseSettings(lease_seconds=3600.0, beat_seconds=3600.0, claim_seconds=3600.0)
BUNDLE = Bundle(hash="0" * 64, content=b"nothing")
GOOD = Evaluation(outcome=Outcome.OK, scores={"value": 1.0})


def task(number: int) -> EvaluationTask:
    program = Program.of({"program.py": f"def value(x, y):\n    return {number} * x + y\n" * 40})
    return EvaluationTask(evaluation_id=f"evl_{number:032x}", bundle_hash=BUNDLE.hash, program=program, pool=POOL)


def heartbeat(name: str) -> WorkerHeartbeat:
    return WorkerHeartbeat(
        worker_id=name,
        pool=POOL,
        slots=1,
        busy=1,
        isolation="none",
        version=__version__,
        started_at=datetime.now(UTC),
    )


class Measured:
    """Milliseconds a call, of Redis and of this process."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self.found: dict[str, dict[str, float]] = {}

    async def measure(self, name: str, times: int, call: Callable[[int], Awaitable[object]]) -> None:
        await call(0)  # scripts are known to the server from then on
        before, began = await self._spent(), time.process_time()
        for number in range(1, times + 1):
            await call(number)
        own, after = time.process_time() - began, await self._spent()
        self.found[name] = {
            "redis_ms": round(1000 * (after - before) / times, 3),
            "caller_ms": round(1000 * own / times, 3),
        }

    async def _spent(self) -> float:
        info: Any = await self._client.info("cpu")
        return float(info["used_cpu_user"] + info["used_cpu_sys"])


async def calls(url: str, workers: int, times: int) -> dict[str, dict[str, float]]:
    """What each call costs while so many workers live and hold a task each."""
    async with connect(url) as client:
        queue, measured = RedisEvaluationQueue(client, TERMS), Measured(client)
        fleet = [RedisEvaluationLeases(client, POOL, f"worker-{number}", TERMS) for number in range(workers)]
        await fleet[0].lease(0.001)
        leases: list[Lease] = []

        async def lease(number: int) -> None:
            found = await fleet[number % workers].lease(1.0)
            assert found is not None
            leases.append(found)

        async def beat(number: int) -> None:
            name = f"worker-{number % workers}"  # made anew for each call, as the API does it
            await RedisEvaluationLeases(client, POOL, name, TERMS).heartbeat(heartbeat(name))

        for number, worker in enumerate(fleet):
            await queue.submit(task(number), BUNDLE)
            await lease(number)
            await worker.heartbeat(heartbeat(f"worker-{number}"))
        held = list(leases)
        await measured.measure("submit", times, lambda number: queue.submit(task(workers + number), BUNDLE))
        await measured.measure("lease", times, lease)
        await measured.measure("renew", times, lambda number: fleet[number % workers].renew(held[number % workers]))
        await measured.measure("heartbeat", times, beat)
        await measured.measure("share", times, lambda _: queue.share(POOL, 1))
        await measured.measure("recheck", 3, lambda _: queue._send_again())  # noqa: SLF001 - made by `results` in turn
        mine = leases[workers:]
        await measured.measure(
            "complete", times - 1, lambda number: fleet[number % workers].complete(mine[number], GOOD)
        )
        return measured.found


def main() -> None:
    configure_logging(-1)
    parser = arguments(__doc__ or "")
    parser.add_argument("--workers", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--times", type=int, default=100)
    options = parser.parse_args()
    found = {}
    for workers in options.workers:
        with redis_server() as server:
            found[workers] = asyncio.run(calls(server.database_url(0), workers, options.times))
    report("queue_calls", {"times": options.times, "workers": found}, options.out)


if __name__ == "__main__":
    main()
