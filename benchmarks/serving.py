"""The API under load: `python -m benchmarks.serving`.

50 clients at once read a database with 100,000 programs in PostgreSQL (runs, pages of programs, the best, single
programs, events) while a run goes on; p50 and p99 by operation, over keep-alive connections from a process of its
own. Beside that: how long after its commit an event is on a stream, and the memory of a process that drives the run
of 100,000 programs.
"""

import asyncio
import json
import random
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from benchmarks.harness import (
    InstantEvaluator,
    InstantPolicy,
    Watch,
    arguments,
    new_job,
    play,
    report,
    scratch,
    toy_problem,
)
from benchmarks.processes import Service, open_service, problem_files
from evolve.configuration import ArchiveConfig, BudgetConfig, RunConfig
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.timestamps import SystemClock

CLIENTS = 50


def fill(url: str, programs: int) -> dict[str, Any]:
    """Drive a run of so many programs into the database; what the process that drove it came to."""
    config = RunConfig(archive=ArchiveConfig(kind="top", size=programs), budget=BudgetConfig(evaluations=programs))
    database = open_database(url)
    job = new_job(SqlRunLog(database, SystemClock()), toy_problem(), config, InstantPolicy(), InstantEvaluator())
    began = time.monotonic()
    play(job, Watch())
    wall = time.monotonic() - began
    database.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"run_id": job.run_id, "peak_mb": round(peak), "candidates_per_second": round(programs / wall, 1)}


async def load(url: str, key: str, run: str, seconds: float) -> dict[str, list[float]]:
    """Seconds of each answer, by operation."""
    found: dict[str, list[float]] = defaultdict(list)
    headers = {"Authorization": f"Bearer {key}"}
    limits = httpx.Limits(max_connections=CLIENTS, max_keepalive_connections=CLIENTS)
    async with httpx.AsyncClient(base_url=url, headers=headers, limits=limits, timeout=60) as client:
        page = (
            (await client.get(f"/v1/runs/{run}/candidates", params={"limit": 200})).raise_for_status().json()["items"]
        )
        ids = [item["id"] for item in page]
        until = time.monotonic() + seconds
        await asyncio.gather(*(_reader(client, run, ids, until, found, number) for number in range(CLIENTS)))
    return found


async def _reader(
    client: httpx.AsyncClient, run: str, ids: list[str], until: float, found: dict[str, list[float]], number: int
) -> None:
    draw = random.Random(number)
    while time.monotonic() < until:
        reads: dict[str, tuple[str, Mapping[str, Any]]] = {
            "list_runs": ("/v1/runs", {}),
            "get_run": (f"/v1/runs/{run}", {}),
            "list_candidates": (f"/v1/runs/{run}/candidates", {"limit": 50}),
            "best_programs": (f"/v1/runs/{run}/candidates", {"limit": 10, "order": "fitness"}),
            "get_candidate": (f"/v1/candidates/{draw.choice(ids)}", {}),
            "list_events": (f"/v1/runs/{run}/events", {"limit": 50, "after": draw.randrange(400_000)}),
        }
        name = draw.choice(list(reads))
        path, params = reads[name]
        began = time.monotonic()
        answer = await client.get(path, params=params)
        answer.raise_for_status()
        found[name].append(time.monotonic() - began)


async def stream_delay(service: Service, run: str, seconds: float) -> list[float]:
    """Seconds from an event's time to its arrival on a stream."""
    delays: list[float] = []
    headers = {"Authorization": f"Bearer {service.key}", "Accept": "text/event-stream"}
    until = time.monotonic() + seconds
    after = service.read(run)["sequence"]
    async with (
        httpx.AsyncClient(base_url=service.url, timeout=60) as client,
        client.stream("GET", f"/v1/runs/{run}/events", params={"after": after}, headers=headers) as answer,
    ):
        async for line in answer.aiter_lines():
            if line.startswith("data: {"):
                at = datetime.fromisoformat(json.loads(line.removeprefix("data: "))["at"])
                delays.append(time.time() - at.timestamp())
            if time.monotonic() > until:
                break
    return delays


def share(times: list[float], part: float) -> float:
    return round(1000 * sorted(times)[int(part * (len(times) - 1))], 1)


def summed(found: Mapping[str, list[float]]) -> dict[str, Any]:
    every = [one for times in found.values() for one in times]
    return {
        name: {"requests": len(times), "p50_ms": share(times, 0.5), "p99_ms": share(times, 0.99)}
        for name, times in [*sorted(found.items()), ("all", every)]
    }


def apart(*words: str) -> Any:
    """This benchmark's other half in a process of its own, so that its work is nobody else's."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.serving", *words], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--fill", metavar="URL", help="fill this database and tell of it")
    parser.add_argument("--load", nargs=3, metavar=("URL", "KEY", "RUN"), help="read from this API and tell of it")
    options = parser.parse_args()
    if options.fill:
        sys.stdout.write(json.dumps(fill(options.fill, options.programs)))
        return
    if options.load:
        url, key, run = options.load
        sys.stdout.write(json.dumps(asyncio.run(load(url, key, run, options.seconds))))
        return
    with scratch() as folder, open_service(Path(folder)) as service:
        filled = apart("--fill", service.database, "--programs", str(options.programs))
        words = ("--load", service.url, service.key, filled["run_id"], "--seconds", str(options.seconds))
        calm = summed(apart(*words))
        with service.role("runner"), service.role("worker", "--slots", "2"):
            files = problem_files("sleeping", 0.2)
            run = service.submit("sleeping", files, budget={"evaluations": 1_000_000})
            service.rate(run, 10, 1.0)
            delays = asyncio.run(stream_delay(service, run, options.seconds))
            busy = summed(apart(*words))
            service.cancel(run)
    figures = {
        "programs": options.programs,
        "clients": CLIENTS,
        "alone": calm,
        "while_a_run_goes_on": busy,
        "stream_delay_ms": {"events": len(delays), "p50": share(delays, 0.5), "p99": share(delays, 0.99)},
        "runner": filled,
    }
    report("serving", figures, options.out)


if __name__ == "__main__":
    main()
