"""Durable candidates a second: `python -m benchmarks.durable`.

The commit stage alone (events and what they project into PostgreSQL, in batches as a runner makes them, fsync on).
Then end to end through PostgreSQL and Redis, with `evolve runner` and workers as processes of their own: with
evaluations that cost nothing, and with every layer of the sandbox. Beside them, the same work by one `evolve run`
on SQLite.
"""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import text

from benchmarks.harness import (
    InstantEvaluator,
    InstantPolicy,
    Watch,
    arguments,
    new_job,
    open_log,
    play,
    program_text,
    report,
    scratch,
    toy_problem,
)
from benchmarks.processes import EVOLVE, Service, open_service, problem_files
from evolve.configuration import ArchiveConfig, BudgetConfig, RunConfig
from evolve.evaluation import PLAIN, Evaluation, Outcome, ScoringRequest
from evolve.ports import Evaluator
from evolve.program import Program
from evolve.version import __version__
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.db.schema_upgrade import upgrade
from service.ports import Bundle, LoggedEvent, NewRun, WorkerHeartbeat
from service.queue.connection import connect
from service.queue.redis import RedisEvaluationLeases
from service.telemetry import configure_logging
from service.timestamps import SystemClock
from service.worker.worker import Worker
from tests.services import postgres_server

POOL = "cpu"


class Tape(SqlRunLog):
    """A log that remembers what was created and the batches that were committed."""

    created: NewRun
    batches: list[list[LoggedEvent]]

    def create(self, run: NewRun) -> None:
        self.created, self.batches = run, []
        super().create(run)

    def append(self, run_id: str, fence: int, events: Sequence[LoggedEvent]) -> None:
        super().append(run_id, fence, events)
        self.batches.append(list(events))


def commit_stage(candidates: int, per_batch: int, url: str) -> dict[str, float]:
    """What PostgreSQL takes of a run's events, in batches of about so many candidates.

    Each size has programs of its own: one that is stored already would be skipped.
    """
    config = RunConfig(archive=ArchiveConfig(kind="top", size=200), budget=BudgetConfig(evaluations=candidates))
    with scratch() as folder:
        tape = Tape(open_log(folder)._database, SystemClock())  # noqa: SLF001 - the benchmark plays the log's own part
        policy = InstantPolicy(write=lambda number: program_text(number + 1_000_000 * per_batch))
        play(new_job(tape, toy_problem(), config, policy, InstantEvaluator()), Watch())
    events = [event for batch in tape.batches for event in batch]
    batches, batch, held = [], [], 0
    for event in events:
        batch.append(event)
        held += event.event.kind == "candidate.evaluated"
        if held == per_batch:
            batches.append(batch)
            batch, held = [], 0
    batches.append(batch)
    database = open_database(url)
    log = SqlRunLog(database, SystemClock())
    log.create(tape.created)
    fence = log.take(tape.created.id, "benchmark", 3600.0)
    with database.read() as connection:
        server = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    times = []
    began, client_before, server_before = time.monotonic(), time.process_time(), processor_seconds(server)
    for one in batches:
        first = time.monotonic()
        log.append(tape.created.id, fence, one)
        times.append(time.monotonic() - first)
    wall = time.monotonic() - began
    client, server = time.process_time() - client_before, processor_seconds(server) - server_before
    database.close()
    times.sort()
    return {
        "candidates_per_batch": per_batch,
        "candidates_per_second": round(candidates / wall, 1),
        "client_milliseconds": round(1000 * client / candidates, 3),
        "server_milliseconds": round(1000 * server / candidates, 3),
        "commit_p50_ms": round(1000 * times[len(times) // 2], 2),
        "commit_p99_ms": round(1000 * times[int(0.99 * (len(times) - 1))], 2),
    }


def processor_seconds(pid: int) -> float:
    """Processor time of a process of this machine."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


class NothingToDo:
    """Scores at once, without running anything."""

    slots, waiting = 8, ""

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        del evaluation_id, scoring
        return Evaluation(outcome=Outcome.OK, scores={"value": int(program.id[4:12], 16) / 2**32})


async def idle_worker(url: str) -> None:
    """A worker over the real queue whose evaluations cost nothing."""

    @asynccontextmanager
    async def opened(bundle: Bundle) -> AsyncIterator[Evaluator]:
        del bundle
        yield NothingToDo()

    heartbeat = WorkerHeartbeat(
        worker_id="idle",
        pool=POOL,
        slots=8,
        busy=0,
        isolation="none",
        version=__version__,
        started_at=datetime.now(UTC),
    )
    async with connect(url) as client:
        worker = Worker(RedisEvaluationLeases(client, POOL, heartbeat.worker_id), opened, heartbeat)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.drain.set)
        await worker.run()


@contextmanager
def idle_process(service: Service) -> Iterator[None]:
    command = [sys.executable, "-m", "benchmarks.durable", "--idle-worker", service.queue]
    process = subprocess.Popen(command, env={**service.environment, "PYTHONPATH": str(Path.cwd())})
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


def end_to_end(service: Service, seconds: float, *, isolated: bool) -> float:
    files = problem_files("isolated" if isolated else "idle")
    with service.role("runner"):
        worker = service.role("worker", "--slots", "2") if isolated else idle_process(service)
        with worker:
            run = service.submit("bench", files, budget={"evaluations": 1_000_000}, concurrency={"policy": 4})
            rate = service.rate(run, 200, seconds)
            service.cancel(run)
    return round(rate, 1)


def single_process(seconds: float) -> float:
    """The same work by `evolve run`, with every layer of the sandbox, on SQLite."""
    with scratch() as folder:
        problem = Path(folder) / "problem"
        problem.mkdir()
        for name, text in problem_files("single").items():
            (problem / name).write_text(text)
        command = [EVOLVE, "run", str(problem), "--db", f"{folder}/runs.db", "--evaluations", "1000000", "-q"]
        command += ["--set", f"budget.wall_seconds={seconds}", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    evaluated = sum('"kind": "candidate.evaluated"' in line for line in done.stdout.splitlines())
    return round(evaluated / seconds, 1)


def main() -> None:
    configure_logging(-1)
    parser = arguments(__doc__ or "")
    parser.add_argument("--candidates", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--idle-worker", help="be a worker of this queue whose evaluations cost nothing")
    parser.add_argument("--sizes", type=int, nargs="+", default=[5, 20, 100], help="candidates of a batch")
    parser.add_argument("--commit-only", action="store_true", help="measure the commit stage alone")
    options = parser.parse_args()
    if options.idle_worker:
        asyncio.run(idle_worker(options.idle_worker))
        return
    if options.commit_only:
        with postgres_server(durable=True) as postgres:
            database = postgres.create_database("benchmark")
            upgrade(database)
            commits = [commit_stage(options.candidates, size, database) for size in options.sizes]
        report("durable", {"commit": commits}, options.out)
        return
    with scratch() as folder, open_service(Path(folder)) as service:
        figures = {
            "commit": [commit_stage(options.candidates, size, service.database) for size in options.sizes],
            "end_to_end_idle_per_second": end_to_end(service, options.seconds, isolated=False),
            "end_to_end_isolated_per_second": end_to_end(service, options.seconds, isolated=True),
            "single_process_isolated_per_second": single_process(options.seconds),
        }
    report("durable", figures, options.out)


if __name__ == "__main__":
    main()
