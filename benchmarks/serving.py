"""The API under load: `python -m benchmarks.serving`.

50 clients at once read a database with 100,000 programs in PostgreSQL (runs, pages of programs, the best, single
programs, events) while a run goes on; p50 and p99 by operation, over keep-alive connections from a process of its
own. Beside that: how long after its commit an event is on a stream, and the memory of a process that drives the run
of 100,000 programs.

With `--processes 1 2 --rate 200`, so many processes of `evolve api` share a port. The clients first ask without a
pause, then at that rate. There, a request counts from when it was due.
"""

import asyncio
import itertools
import json
import random
import re
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any, Self

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
from tests.services import free_port

CLIENTS = 50
WARMUP_SECONDS = 5.0


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


class Connection:
    """A client with a connection that stays open; a library's would take more of the two cores than the database."""

    def __init__(self, url: str, key: str) -> None:
        self._at = httpx.URL(url)
        self._head = f"Host: {self._at.netloc.decode()}\r\nAuthorization: Bearer {key}\r\nAccept-Encoding: gzip\r\n\r\n"

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self._at.host, self._at.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def get(self, path: str, params: Mapping[str, Any]) -> bytes:
        """The body of an answer, compressed as it comes."""
        target = str(httpx.URL(path, params=params)) if params else path
        self._writer.write(f"GET {target} HTTP/1.1\r\n{self._head}".encode())
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        assert head.startswith(b"http/1.1 200 "), head
        (length,) = re.findall(rb"\r\ncontent-length: (\d+)\r\n", head)
        return await self._reader.readexactly(int(length))


async def load(url: str, key: str, run: str, seconds: float, rate: float = 0.0) -> dict[str, list[float]]:
    """Seconds of each answer, by operation. `rate`: requests per second of all clients; 0: they never pause."""
    found: dict[str, list[float]] = defaultdict(list)
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
        first = await client.get(f"/v1/runs/{run}/candidates", params={"limit": 200})
        ids = [item["id"] for item in first.raise_for_status().json()["items"]]
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(Connection(url, key)) for _ in range(CLIENTS)]
        began = time.monotonic()
        reads = (
            _read(client, run, ids, _times(began, began + seconds, rate, number), found, random.Random(number))
            for number, client in enumerate(clients)
        )
        await asyncio.gather(*reads)
    return found


async def _times(began: float, until: float, rate: float, number: int) -> AsyncIterator[float]:
    """When a client makes its requests; one that is late makes the next at once, and its delay counts."""
    pause = CLIENTS / rate if rate else 0.0
    at = began + pause * number / CLIENTS
    while (now := time.monotonic()) < until:
        if rate and at > now:
            await asyncio.sleep(at - now)
        yield at if rate else now
        at += pause


async def _read(
    client: Connection,
    run: str,
    ids: list[str],
    times: AsyncIterator[float],
    found: dict[str, list[float]],
    draw: random.Random,
) -> None:
    async for due in times:
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
        await client.get(path, params)
        found[name].append(time.monotonic() - due)


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


def processes(
    service: Service, run: str, seconds: float, numbers: list[int], threads: list[int], rate: float
) -> dict[str, Any]:
    """The same load on one port that several processes share."""
    figures = {}
    for number, each in itertools.product(numbers, threads):
        with ExitStack() as stack:
            port, environment = free_port(), {"EVOLVE_API__THREADS": str(each)}
            words = ("api", "--port", str(port), "--share-port", "--json")
            started = [stack.enter_context(service.role(*words, environment=environment)) for _ in range(number)]
            (url,) = {json.loads(one.stdout.readline())["url"] for one in started if one.stdout}
            apart("--load", url, service.key, run, "--seconds", str(WARMUP_SECONDS))
            measured = {}
            for paced in sorted({0.0, rate}):
                found = apart("--load", url, service.key, run, "--seconds", str(seconds), "--rate", str(paced))
                total = summed(found)["all"]
                measured["paced" if paced else "without_pause"] = {
                    **total,
                    "answers_per_second": round(total["requests"] / seconds, 1),
                }
            figures[f"{number} processes, {each} threads"] = measured
    return figures


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--fill", metavar="URL", help="fill this database and tell of it")
    parser.add_argument("--load", nargs=3, metavar=("URL", "KEY", "RUN"), help="read from this API and tell of it")
    parser.add_argument(
        "--processes", type=int, nargs="+", default=[], help="so many processes at a port that they share"
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[4], help="of each of these processes")
    parser.add_argument("--rate", type=float, default=0.0, help="requests per second of all clients; 0: without pause")
    options = parser.parse_args()
    if options.fill:
        sys.stdout.write(json.dumps(fill(options.fill, options.programs)))
        return
    if options.load:
        url, key, run = options.load
        sys.stdout.write(json.dumps(asyncio.run(load(url, key, run, options.seconds, options.rate))))
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
        shared = processes(service, filled["run_id"], options.seconds, options.processes, options.threads, options.rate)
    figures = {
        "programs": options.programs,
        "clients": CLIENTS,
        "alone": calm,
        "while_a_run_goes_on": busy,
        "stream_delay_ms": {"events": len(delays), "p50": share(delays, 0.5), "p99": share(delays, 0.99)},
        "runner": filled,
        "processes_that_share_a_port": shared,
    }
    report("serving", figures, options.out)


if __name__ == "__main__":
    main()
