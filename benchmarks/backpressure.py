"""Throughput and queue of a policy that watches its server, against fixed numbers: `python -m benchmarks.backpressure`.

A server in a process of its own computes K chains at once, each for two seconds, give or take one; further ones wait,
and its `/metrics` tells of both as vLLM does. A run with durable commits and evaluations that cost nothing asks it for
two chains of four answers a call: once by its own limit, and once for each fixed number of calls at once. The first
seconds, in which the limit grows, and the last ones are left out.
"""

import asyncio
import itertools
import multiprocessing
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.harness import (
    InstantEvaluator,
    Watch,
    arguments,
    new_job,
    open_log,
    report,
    scratch,
    toy_problem,
)
from evolve.configuration import BudgetConfig, RunConfig
from service.policy.openai import OpenAIPolicy
from service.policy.opening import serve as serve_policy
from service.policy_settings.settings import PolicySettings
from service.runner.desired_state import RunOrders
from service.runner.run_job import RunJob
from service.runner.run_loop import drive
from service.runner.status import RunObserver
from tests.fakes.openai_server import chain, openai_server

ANSWERS, SAMPLES = 4, 2
WARM_SECONDS = 15.0


def serve(channel: Connection, capacity: int, seconds: float, tells: bool) -> None:
    """A server that tells what waits, or keeps it to itself; at the end, its load in time."""

    def respond(body: Mapping[str, Any]) -> list[str]:
        first = int(body["seed"]) * ANSWERS * SAMPLES
        texts = [f"def value(x, y):\n    return {first + number}.5\n" for number in range(ANSWERS * body["n"])]
        return [chain(*texts[start : start + ANSWERS]) for start in range(0, len(texts), ANSWERS)]

    state = {"capacity": capacity, "service_seconds": seconds, "characters": 1 << 16, "context_tokens": 32_768}
    with openai_server(respond, **state) as server:
        server.metrics = None if tells else "nothing of the kind\n"
        channel.send(server.url)
        channel.recv()
        channel.send(server.loads)


async def observed(job: RunJob, policy: OpenAIPolicy, watch: RunObserver, seconds: float) -> None:
    """Drive a run for so many seconds."""
    orders = RunOrders()
    asyncio.get_running_loop().call_later(seconds, orders.leave)
    try:
        await policy.check()
        await drive(job, observer=watch, orders=orders)
    finally:
        await policy.close()


def measure(capacity: int, service_seconds: float, seconds: float, fixed: int | None) -> dict[str, Any]:
    """Candidates a second, and the queue, of one run."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(theirs, capacity, service_seconds, fixed is None)
    )
    process.start()
    times: list[tuple[float, int]] = []
    watch = Watch(lambda status: times.append((time.monotonic(), status.counters.evaluations)))
    problem, config = toy_problem(), RunConfig(budget=BudgetConfig(evaluations=10**6))
    try:
        with scratch() as folder:
            settings = PolicySettings(
                base_url=ours.recv(), answers=ANSWERS, samples=SAMPLES, concurrency=fixed or 8 * capacity
            )
            policy = serve_policy(settings, problem, RunConfig(), {})
            job = new_job(open_log(folder), problem, config, policy, InstantEvaluator())
            began = time.monotonic()
            asyncio.run(observed(job, policy, watch, seconds))
        ours.send("stop")
        loads = ours.recv()
    finally:
        process.join()
    return figures(capacity, loads, times, began + WARM_SECONDS, began + seconds - 1.0)


def figures(
    capacity: int, loads: list[tuple[float, int, int]], times: list[tuple[float, int]], lower: float, upper: float
) -> dict[str, Any]:
    """What the server and the run tell of the time between.

    Throughput is compared by the share of the batch that was busy, which says the same as chains a second and does not
    depend on how long those take that a run happens to draw.
    """
    steady = [load for load in loads if lower <= load[0] <= upper]
    busy = sum(before[1] * (after[0] - before[0]) for before, after in itertools.pairwise(steady))
    counted = [(moment, done) for moment, done in times if lower <= moment <= upper]
    return {
        "batch_busy": round(busy / capacity / (steady[-1][0] - steady[0][0]), 4),
        "candidates_per_second": round((counted[-1][1] - counted[0][1]) / (counted[-1][0] - counted[0][0]), 2),
        "max_waiting": max(waiting for _, _, waiting in steady),
        "max_waiting_ever": max(waiting for _, _, waiting in loads),
    }


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--capacity", type=int, default=16)
    parser.add_argument("--service", type=float, default=2.0)
    parser.add_argument("--seconds", type=float, default=45.0)
    options = parser.parse_args()
    capacity = options.capacity
    found: dict[str, Any] = {"capacity": capacity}
    for fixed in (capacity // SAMPLES, round(1.25 * capacity / SAMPLES), 2 * capacity // SAMPLES):
        found[f"fixed_{fixed}"] = measure(capacity, options.service, options.seconds, fixed)
    best = max(each["batch_busy"] for name, each in found.items() if name != "capacity")
    found["watched"] = measure(capacity, options.service, options.seconds, None)
    found["ratio_to_best_fixed"] = round(found["watched"]["batch_busy"] / best, 4)
    report("backpressure", found, options.out)


if __name__ == "__main__":
    main()
