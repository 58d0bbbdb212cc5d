"""A fleet of workers over real Redis and PostgreSQL: `python -m benchmarks.worker_fleet`.

Clients that only wait lease, hold and complete evaluations of 200 runs as workers do, in two processes. A process
drives the runs by the real loop into PostgreSQL. Evaluation times are log-normal. Some clients die without a word, and
some go silent and come back with a late result. All times can be stretched, so that the rate is one that the machine
carries. Each size of the fleet is measured on servers of its own: use of the clients, fairness between runs, the time
to a lease, results lost or doubled by the logs, and what each process spends per 1,000 leases.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psycopg
from redis import Redis

from benchmarks.fleet_clients import END, FINISH, MEASURE, FleetPlan, Tally, http_leases, redis_leases, work
from benchmarks.fleet_runs import drive_runs
from benchmarks.harness import arguments, collect_rarely, report, scratch
from benchmarks.processes import Service, open_service
from service.telemetry import configure_logging

PROCESSES = 2
FILL_SECONDS = 600.0
# Times the mean of an evaluation: who came first gives up slots only as evaluations end.
WARM_MEANS = 2.0
CONNECTIONS = 2  # of a client: for its leases, and for its renewals
RESERVED = 400  # connections and files of everybody else
OPEN_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
TICK = os.sysconf("SC_CLK_TCK")
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 2**20


def processor_seconds(pid: int, *, with_children: bool = False) -> float:
    """Processor time of a process, and of those that it started."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    used = sum(int(field) for field in fields[11 : 15 if with_children else 13]) / TICK
    if with_children:
        used += sum(processor_seconds(child, with_children=True) for child in children(pid))
    return used


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def memory_mb(pid: int) -> float:
    """What a process holds that it shares with no file."""
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return (int(fields[1]) - int(fields[2])) * PAGE_MB


class Servers:
    """What the servers spent, by their own word and by that of the kernel."""

    def __init__(self, service: Service, processes: Mapping[str, Sequence[int]]) -> None:
        self._service, self._processes = service, processes
        self.redis: Any = Redis.from_url(service.queue)
        self._postgres = psycopg.connect(service.database, autocommit=True)
        backend = self._postgres.info.backend_pid
        self._postmaster = int(Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()[1])

    def spent(self) -> dict[str, float]:
        """Counters that only grow."""
        info = self.redis.info()
        wal, size = self._one("select pg_current_wal_lsn() - '0/0'::pg_lsn, pg_database_size(current_database())")
        commits = self._one("select xact_commit from pg_stat_database where datname = current_database()")[0]
        processor = {name: sum(processor_seconds(pid) for pid in pids) for name, pids in self._processes.items()}
        return {
            "redis_processor": info["used_cpu_user"] + info["used_cpu_sys"],
            "redis_commands": info["total_commands_processed"],
            "redis_bytes": info["total_net_input_bytes"] + info["total_net_output_bytes"],
            "postgres_processor": processor_seconds(self._postmaster, with_children=True),
            "postgres_commits": float(commits),
            "postgres_wal_bytes": float(wal),
            "postgres_bytes": float(size),
            **{f"{name}_processor": seconds for name, seconds in processor.items()},
        }

    def held(self) -> dict[str, float]:
        """Connections and memory now."""
        info = self.redis.info()
        backends = self._one("select count(*) from pg_stat_activity where datname = current_database()")[0]
        memory = {f"{name}_mb": round(sum(memory_mb(pid) for pid in pids)) for name, pids in self._processes.items()}
        return {
            "redis_mb": round(info["used_memory"] / 2**20, 1),
            "redis_connections": info["connected_clients"],
            "postgres_connections": int(backends),
            **memory,
        }

    def commands(self) -> dict[str, tuple[int, float]]:
        """Calls and seconds in Redis, by command."""
        stats = self.redis.info("commandstats")
        return {name.removeprefix("cmdstat_"): (one["calls"], one["usec"] / 1e6) for name, one in stats.items()}

    def pending(self) -> int:
        """Tasks in the hands of clients."""
        try:
            return int(self.redis.xpending("evolve:tasks:cpu", "workers")["pending"])
        except Exception:  # noqa: BLE001 - there is no group before the first client came
            return 0

    def _one(self, query: str) -> Any:
        return self._postgres.execute(query).fetchone()


def jain(values: Sequence[float]) -> float:
    """Jain's index: 1 where all have the same, 1/n where one has all."""
    squares = sum(value * value for value in values)
    return round(sum(values) ** 2 / (len(values) * squares), 4) if squares else 0.0


def quantile(values: Sequence[float], part: float) -> float | None:
    return round(1000 * sorted(values)[int(part * (len(values) - 1))], 1) if values else None


@contextmanager
def part(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A process of this benchmark that tells its figures at its end."""
    command = [sys.executable, "-m", "benchmarks.worker_fleet", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)


def wait_for(condition: Callable[[], bool], seconds: float) -> float:
    began = time.monotonic()
    while not condition() and time.monotonic() - began < seconds:
        time.sleep(0.5)
    return round(time.monotonic() - began, 1)


def started(
    stack: ExitStack, service: Service, plan: FleetPlan, door: str
) -> tuple["subprocess.Popen[str]", list["subprocess.Popen[str]"]]:
    """The processes of a fleet: that of the runs, and those of the clients."""
    text = json.dumps(asdict(plan))
    each = json.dumps(asdict(plan) | {"clients": plan.clients // PROCESSES})
    where = (service.url, service.key) if door == "http" else ("", "")

    def drive() -> "subprocess.Popen[str]":
        return stack.enter_context(part("--drive", text, service.database, service.queue))

    def let_work() -> list["subprocess.Popen[str]"]:
        words = [("--work", each, service.queue, *where, str(number)) for number in range(PROCESSES)]
        return [stack.enter_context(part(*one)) for one in words]

    with Redis.from_url(service.queue) as queue:
        queue.config_set("maxclients", min(OPEN_FILES - RESERVED, CONNECTIONS * plan.clients + RESERVED))
        if plan.apart is not None:
            workers = let_work()
            wait_for(lambda: queue.zcard("evolve:ends:cpu") >= 0.97 * plan.clients, FILL_SECONDS)
            return drive(), workers
        driver = drive()  # the runs are there before the clients: none has all of them
        wait_for(lambda: queue.zcard("evolve:claims:cpu") >= plan.runs or driver.poll() is not None, FILL_SECONDS)
        return driver, let_work()


def fleet(service: Service, plan: FleetPlan, door: str, warm: float, seconds: float) -> dict[str, Any]:
    """One fleet: filled, measured from so many mean times later on, and finished."""
    with ExitStack() as stack:
        driver, workers = started(stack, service, plan, door)
        pids = {"driver": [driver.pid], "clients": [worker.pid for worker in workers], "api": [service.pid]}
        servers = Servers(service, pids)
        filled = wait_for(lambda: servers.pending() >= 0.97 * plan.clients or driver.poll() is not None, FILL_SECONDS)
        sys.stderr.write(f"{plan.clients} clients: {servers.pending()} at work after {filled} s\n")
        time.sleep(max(0.0, (plan.apart or 0.0) * plan.runs - filled))
        time.sleep(warm * plan.mean_seconds * plan.scale)
        servers.redis.set("fleet:phase", MEASURE)
        time.sleep(1)
        before, commands, began = servers.spent(), servers.commands(), time.monotonic()
        time.sleep(seconds)
        wall = time.monotonic() - began
        after, commands_after, held = servers.spent(), servers.commands(), servers.held()
        in_hand = servers.pending()
        servers.redis.set("fleet:phase", FINISH)
        sys.stderr.write(f"{plan.clients} clients: measured, finishing\n")
        log = json.loads(first_line(driver, servers))
        tallies = [json.loads(process.communicate()[0]) for process in workers]
    spent = {name: after[name] - before[name] for name in after}
    busiest = {
        name: {
            "calls": count - commands.get(name, (0, 0.0))[0],
            "seconds": round(taken - commands.get(name, (0, 0.0))[1], 2),
        }
        for name, (count, taken) in commands_after.items()
    }
    figures = summed(plan, log, tallies, spent, wall)
    top = sorted(busiest, key=lambda name: -busiest[name]["seconds"])[:8]
    return {
        **asdict(plan),
        "door": door,
        "filled_after_seconds": filled,
        "in_hand_at_end": in_hand,
        **figures,
        "held": held,
        "redis_commands": {name: busiest[name] for name in top},
    }


def first_line(driver: "subprocess.Popen[str]", servers: Servers) -> str:
    """What the driver says when its runs are left; then everybody ends."""
    assert driver.stdout is not None
    line = driver.stdout.readline()
    servers.redis.set("fleet:phase", END)
    return line


def summed(
    plan: FleetPlan,
    log: Mapping[str, Any],
    tallies: Sequence[Mapping[str, Any]],
    spent: Mapping[str, float],
    wall: float,
) -> dict[str, Any]:
    """Figures of a fleet from what its processes saw."""
    runs = log["runs"]
    leases = sum(tally["leases"] for tally in tallies)
    completed = [name for tally in tallies for name in tally["completed"]]
    committed = set(log["evaluation_ids"])
    times = [one for tally in tallies for one in tally["lease_seconds"]]
    waits = [one for tally in tallies for one in tally["waited_seconds"]]
    idle = sum(tally["idle_seconds"] for tally in tallies)
    alive = sum(tally["alive_seconds"] for tally in tallies)
    greedy = [run["in_flight"] for run in runs if not run["cap"]]
    part_of_each = (plan.clients - sum(run["cap"] for run in runs)) / max(1, len(greedy))
    got, due = Counter[str](), Counter[str]()
    for run in runs:
        got[run["tenant"]] += run["in_flight"]
        due[run["tenant"]] += run["cap"] or part_of_each
    thousand = max(leases, 1) / 1000
    return {
        "leases": leases,
        "leases_per_second": round(leases / wall, 1),
        "utilisation": round(1 - idle / alive, 4) if alive else None,
        "lease_ms": {"p50": quantile(times, 0.5), "p99": quantile(times, 0.99)},
        "queue_wait_ms": {"p50": quantile(waits, 0.5), "p99": quantile(waits, 0.99)},
        "jain_runs": jain(greedy),
        "jain_tenants": jain([got[tenant] / due[tenant] for tenant in due]),
        "shares": held_by_runs(plan, runs, tallies),
        "created": sum(run["created"] for run in runs),
        "committed": sum(run["evaluated"] for run in runs),
        "doubles": sum(run["doubles"] for run in runs),
        "accepted_not_committed": len(set(completed) - committed),
        "accepted_twice": len(completed) - len(set(completed)),
        **{name: sum(tally[name] for tally in tallies) for name in _COUNTS},
        "cores": {
            name.removesuffix("_processor"): round(value / wall, 3)
            for name, value in spent.items()
            if name.endswith("_processor")
        },
        "per_1000_leases": {name: round(value / thousand, 2) for name, value in spent.items()},
    }


WINDOW_SECONDS = 15


def held_by_runs(
    plan: FleetPlan, runs: Sequence[Mapping[str, Any]], tallies: Sequence[Mapping[str, Any]]
) -> list[dict[str, float]]:
    """How the clients were shared in each quarter of a minute, by the tasks that they had.

    Returns:
        The part of the clients that had one, Jain's index, and the least of a run, as a part of an equal share.
    """
    samples = [
        {int(second): {int(run): count for run, count in counts.items()} for second, counts in tally["held"].items()}
        for tally in tallies
    ]
    greedy = [number for number, run in enumerate(runs) if not run["cap"]]
    equal = (plan.clients - sum(run["cap"] for run in runs)) / max(1, len(greedy))
    seconds = [second for sample in samples for second in sample]
    found, began = [], min(seconds, default=0)
    for start in range(began, max(seconds, default=-1) + 1, WINDOW_SECONDS):
        means = dict.fromkeys(range(plan.runs), 0.0)
        for sample in samples:  # each process misses other seconds
            inside = [counts for second, counts in sample.items() if start <= second < start + WINDOW_SECONDS]
            for counts in inside:
                for run, count in counts.items():
                    means[run] += count / len(inside)
        found.append(
            {
                "after_seconds": start - began,
                "busy": round(sum(means.values()) / plan.clients, 3),
                "jain": jain([means[run] for run in greedy]),
                "least": round(min(means[run] for run in greedy) / equal, 3),
            }
        )
    return found


_COUNTS = ("died", "stalled", "refused", "lost", "redelivered", "unreachable")


async def clients(plan: FleetPlan, queue: str, url: str, key: str, process: int) -> dict[str, Any]:
    opening, tally = http_leases(url, key) if url else redis_leases(queue, plan), Tally()
    async with opening as opened:
        await work(opened, queue, plan, process, tally)
    return asdict(tally)


def main() -> None:
    configure_logging(-1)
    parser = arguments(__doc__ or "")
    parser.add_argument("--clients", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--mean", type=float, nargs="+", default=[10.0], help="seconds of an evaluation, unstretched")
    parser.add_argument("--sigma", type=float, default=1.0, help="of the logarithm of its time")
    parser.add_argument("--scale", type=float, nargs="+", default=[1.0], help="by how much all times are stretched")
    parser.add_argument("--deaths", type=float, default=0.002, help="chance that a client dies in an evaluation")
    parser.add_argument("--stalls", type=float, default=0.002, help="chance that a client goes silent in one")
    parser.add_argument("--apart", type=float, help="seconds between two runs, once clients wait; else runs come first")
    parser.add_argument("--warm", type=float, default=WARM_MEANS, help="mean times before it is measured")
    parser.add_argument("--door", choices=["redis", "http"], default="redis")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--drive", nargs=3, help="drive the runs: plan, database, queue")
    parser.add_argument("--work", nargs=5, help="be clients: plan, queue, address, key, number of the process")
    options = parser.parse_args()
    collect_rarely()
    if options.drive:
        plan, database, queue = options.drive
        sys.stdout.write(json.dumps(asyncio.run(drive_runs(database, queue, FleetPlan(**json.loads(plan))))) + "\n")
        return
    if options.work:
        plan, queue, url, key, number = options.work
        found = asyncio.run(clients(FleetPlan(**json.loads(plan)), queue, url, key, int(number)))
        sys.stdout.write(json.dumps(found) + "\n")
        return
    fleets = []
    for count, mean, scale in points(options.clients, options.mean, options.scale):
        plan = FleetPlan(
            clients=count,
            runs=min(options.runs, count),
            mean_seconds=mean,
            sigma=options.sigma,
            scale=scale,
            deaths=options.deaths,
            stalls=options.stalls,
            apart=options.apart,
        )
        with scratch() as folder, open_service(Path(folder)) as service:
            fleets.append(fleet(service, plan, options.door, options.warm, options.seconds))
        sys.stderr.write(json.dumps(fleets[-1]) + "\n")
    report("worker_fleet", {"seconds": options.seconds, "fleets": fleets}, options.out)


def points(clients: Sequence[int], means: Sequence[float], scales: Sequence[float]) -> list[tuple[int, float, float]]:
    """Sizes with a mean and a scale each; one that is given once is that of all."""
    count = len(clients)
    every = [list(values) * count if len(values) == 1 else list(values) for values in (means, scales)]
    return list(zip(clients, every[0], every[1], strict=True))


if __name__ == "__main__":
    main()
