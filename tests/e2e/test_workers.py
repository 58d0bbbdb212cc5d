"""A run whose candidates are evaluated by workers, each a process of its own, through a real Redis."""

import asyncio
import json
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
import redis

from evolve.program import Program
from service.ports import EvaluationTask
from service.problems.load import load_problem
from service.queue.connection import connect
from service.queue.redis import RedisEvaluationQueue
from service.queue.workers import RedisWorkers
from tests.e2e.evolving import SEED, Evolve, EvolveHere, descendants_of, make_problem
from tests.e2e.test_interrupted_runs import EVALUATIONS, check_whole, wait_until_gone
from tests.integration.queue.server import running
from tests.patience import PATIENCE_SECONDS

SLOW_SEED = "import time\n" + SEED.replace("    return", "    time.sleep(0.05)\n    return")
ENDLESS_SEED = "import time\n\ndef give():\n    time.sleep(60)\n    return 1.0\n"


@pytest.fixture
def evolve(tmp_path: Path, redis_url: str) -> Iterator[Evolve]:
    made = EvolveHere(tmp_path)
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        made.environment |= {"TMPDIR": scratch, "EVOLVE_QUEUE__URL": redis_url}
        yield made


def problem_of(folder: Path, seed: str, *, wall_seconds: float = 5.0) -> Path:
    problem = make_problem(folder, evaluations=EVALUATIONS, wall_seconds=wall_seconds)
    (problem / "program.py").write_text(seed)
    return problem


class WorkerProcess:
    """`evolve worker`, and every process that it ever had as far as they were looked for."""

    def __init__(self, evolve: Evolve, slots: int = 1, words: Sequence[str] = ()) -> None:
        self.process = evolve.start("-v", "worker", "--slots", str(slots), *words)
        self.children: set[int] = set()
        self._lines = SimpleQueue[str]()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert "taking evaluations" in self.line()

    def _read(self) -> None:
        """Take each line at once: a worker whose log nobody reads stands still when the pipe is full."""
        for line in self.process.stderr or ():
            self._lines.put(line)
        self._lines.put("")

    def line(self) -> str:
        """The next line that it logs; empty: it ended."""
        return self._lines.get(timeout=PATIENCE_SECONDS)

    def look(self) -> None:
        self.children |= descendants_of(self.process.pid)

    def events(self, kind: str) -> Iterator[dict[str, Any]]:
        """Events of a kind that it logs, as they come; empty: of every kind."""
        for line in iter(self.line, ""):
            if line.startswith("{") and (event := json.loads(line))["event"] == (kind or event["event"]):
                yield event

    def end(self, number: int) -> int:
        self.look()
        self.process.send_signal(number)
        return self.process.wait(timeout=PATIENCE_SECONDS)

    def close(self) -> None:
        """Kill it, unless it has ended."""
        self.look()
        self.process.kill()
        self._reader.join(timeout=PATIENCE_SECONDS)
        with self.process:
            pass


@contextmanager
def workers(evolve: Evolve) -> Iterator[list[WorkerProcess]]:
    """Workers that a test adds; whatever becomes of it, none is left."""
    started: list[WorkerProcess] = []
    try:
        yield started
    finally:
        for worker in started:
            worker.close()
        assert wait_until_gone({child for worker in started for child in worker.children}) == set()


def start_run(evolve: Evolve, problem: Path) -> subprocess.Popen[str]:
    return evolve.start("run", str(problem), "--json")


def read_until(process: subprocess.Popen[str], kind: str, count: int) -> list[dict[str, Any]]:
    """Events of a run up to the one that is the last of a number of a kind."""
    assert process.stdout is not None
    events: list[dict[str, Any]] = []
    while sum(event["kind"] == kind for event in events) < count:
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        events.append(json.loads(line))
    return events


def test_workers_that_are_killed_and_drained_cost_no_candidate(evolve: Evolve, tmp_path: Path) -> None:
    problem = problem_of(tmp_path / "toy", SLOW_SEED)
    with workers(evolve) as started:
        started += [WorkerProcess(evolve, slots=2), WorkerProcess(evolve)]
        run = start_run(evolve, problem)
        events = read_until(run, "candidate.evaluated", 10)
        assert started[0].end(signal.SIGKILL) == -signal.SIGKILL
        started.append(WorkerProcess(evolve))
        events += read_until(run, "candidate.evaluated", 10)
        assert started[1].end(signal.SIGTERM) == 0
        out, err = run.communicate(timeout=PATIENCE_SECONDS)
        assert run.returncode == 0, err
        assert started[2].end(signal.SIGTERM) == 0
    summary = json.loads(out.splitlines()[-1])
    assert (summary["reason"], summary["evaluations"]) == ("evaluations", EVALUATIONS)
    candidates = [one for one in check_whole(evolve, summary["run_id"]) if one["status"] == "evaluated"]
    assert not [one for one in candidates if one["outcome"] in ("lost", "cancelled", "timeout")]
    assert {one["isolation"].partition("/")[2] for one in candidates} == {"separate"}


def test_a_worker_that_hangs_past_its_lease_gives_no_second_result(evolve: Evolve, tmp_path: Path) -> None:
    problem = problem_of(tmp_path / "toy", SLOW_SEED)
    with workers(evolve) as started:
        started += [WorkerProcess(evolve), WorkerProcess(evolve)]
        run = start_run(evolve, problem)
        begun = next(started[0].events("evaluation.begun"))["evaluation_id"]
        started[0].process.send_signal(signal.SIGSTOP)
        out, err = run.communicate(timeout=PATIENCE_SECONDS)
        assert run.returncode == 0, err
        started[0].process.send_signal(signal.SIGCONT)
        late = (event for event in started[0].events("") if event.get("evaluation_id") == begun)
        ended = next(event for event in late if event["event"] != "evaluation.begun")
        assert ended["event"] == "evaluation.lost" or ended["taken"] is False
        assert [worker.end(signal.SIGTERM) for worker in started] == [0, 0]
    check_whole(evolve, json.loads(out.splitlines()[-1])["run_id"])


def test_a_redis_that_is_killed_and_starts_anew_costs_no_candidate(evolve: Evolve, tmp_path: Path) -> None:
    problem = problem_of(tmp_path / "toy", SLOW_SEED)
    with running() as server, workers(evolve) as started:
        evolve.environment["EVOLVE_QUEUE__URL"] = server.url
        started.append(WorkerProcess(evolve, slots=2))
        run = start_run(evolve, problem)
        read_until(run, "candidate.evaluated", 10)
        server.kill()
        server.start()
        out, err = run.communicate(timeout=PATIENCE_SECONDS)
        assert run.returncode == 0, err
        assert started[0].end(signal.SIGTERM) == 0
    assert "Traceback" not in err
    check_whole(evolve, json.loads(out.splitlines()[-1])["run_id"])


def test_a_redis_that_is_emptied_again_and_again_costs_no_candidate(
    evolve: Evolve, tmp_path: Path, postgres_url: str
) -> None:
    evolve.url = evolve.environment["EVOLVE_DATABASE__URL"] = postgres_url
    with running() as server, workers(evolve) as started, redis.Redis.from_url(server.url) as client:
        evolve.environment["EVOLVE_QUEUE__URL"] = server.url
        started += [WorkerProcess(evolve, slots=2), WorkerProcess(evolve)]
        runs = [start_run(evolve, problem_of(tmp_path / name, SLOW_SEED)) for name in ("one", "two")]
        with ThreadPoolExecutor(1) as reader:
            rest = reader.submit(runs[1].communicate)
            for _ in range(8):
                read_until(runs[0], "candidate.evaluated", 3)
                client.flushall()
            said = [runs[0].communicate(timeout=PATIENCE_SECONDS), rest.result(PATIENCE_SECONDS)]
        assert [run.returncode for run in runs] == [0, 0], said
        assert [worker.end(signal.SIGTERM) for worker in started] == [0, 0]
    for out, _ in said:
        candidates = check_whole(evolve, json.loads(out.splitlines()[-1])["run_id"])
        assert not [one for one in candidates if one.get("outcome") in ("lost", "cancelled", "timeout")]


def at(event: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(event["at"])


def evaluated(events: list[dict[str, Any]]) -> list[datetime]:
    return [at(event) for event in events if event["kind"] == "candidate.evaluated"]


def test_a_short_run_has_its_half_of_the_slots_beside_a_long_one(evolve: Evolve, tmp_path: Path) -> None:
    long = make_problem(tmp_path / "long", evaluations=1000)
    short = make_problem(tmp_path / "short", evaluations=24)
    for problem in (long, short):
        # The scorer sleeps, so that no child can leave it out: all evaluations take alike.
        scorer = (problem / "evaluator.py").read_text().replace("):\n", "):\n    time.sleep(0.3)\n", 1)
        (problem / "evaluator.py").write_text("import time\n" + scorer)
    with workers(evolve) as started:
        started.append(WorkerProcess(evolve, slots=4))
        first = start_run(evolve, long)
        before = read_until(first, "candidate.evaluated", 4)
        # Read at once: a run whose stream nobody reads waits for its reader.
        with ThreadPoolExecutor(1) as reader:
            during = reader.submit(lambda: [json.loads(line) for line in first.stdout or ()])
            second = start_run(evolve, short)
            events = read_until(second, "candidate.evaluated", 24)
            second.communicate(timeout=PATIENCE_SECONDS)
            first.send_signal(signal.SIGINT)
        first.communicate(timeout=PATIENCE_SECONDS)
        assert second.returncode == 0
        assert started[0].end(signal.SIGTERM) == 0
    # The first ones may have to wait until the long run has heard that it is not alone.
    mine = evaluated(events)[8:]
    theirs = [time for time in evaluated(before + during.result()) if mine[0] <= time <= mine[-1]]
    assert len(mine) / len(theirs) == pytest.approx(1.0, rel=0.5)


def test_a_worker_that_is_told_to_drain_ends_well(evolve: Evolve, tmp_path: Path, redis_url: str) -> None:
    problem = problem_of(tmp_path / "toy", SLOW_SEED)

    async def drain() -> str:
        async with connect(redis_url) as client:
            watch = RedisWorkers(client)
            [heartbeat] = await watch.workers()
            await watch.drain(heartbeat.worker_id)
            return heartbeat.worker_id

    with workers(evolve) as started:
        started.append(WorkerProcess(evolve))
        run = start_run(evolve, problem)
        read_until(run, "candidate.evaluated", 2)
        worker_id = asyncio.run(drain())
        started[0].look()
        assert started[0].process.wait(timeout=PATIENCE_SECONDS) == 0
        started.append(WorkerProcess(evolve))
        out, err = run.communicate(timeout=PATIENCE_SECONDS)
        assert run.returncode == 0, err
        assert started[1].end(signal.SIGTERM) == 0
    candidates = check_whole(evolve, json.loads(out.splitlines()[-1])["run_id"])
    assert {one["outcome"] for one in candidates if one["status"] == "evaluated"} <= {"ok", "error", "invalid"}
    assert worker_id


def test_a_run_without_workers_waits_and_says_so(evolve: Evolve, tmp_path: Path) -> None:
    problem = make_problem(tmp_path / "toy", evaluations=5)
    run = evolve.start("run", str(problem))
    assert run.stderr is not None
    said = ""
    while "waiting" not in said:
        said = run.stderr.readline()
        assert said
    assert "waiting: no worker takes evaluations of pool cpu" in said
    with workers(evolve) as started:
        started.append(WorkerProcess(evolve))
        _, err = run.communicate(timeout=PATIENCE_SECONDS)
        assert run.returncode == 0, err
    assert "waiting" not in err.splitlines()[-1]


def test_a_stopped_run_ends_its_evaluations_on_the_worker(evolve: Evolve, tmp_path: Path) -> None:
    problem = problem_of(tmp_path / "toy", ENDLESS_SEED, wall_seconds=60.0)
    with workers(evolve) as started:
        started.append(WorkerProcess(evolve))
        run = start_run(evolve, problem)
        assert next(started[0].events("evaluation.begun"))["delivery"] == 1
        run.send_signal(signal.SIGTERM)
        _, err = run.communicate(timeout=PATIENCE_SECONDS)
        assert run.returncode == 130, err
        ended = next(started[0].events("evaluation.done"))
        assert ended["outcome"] == "cancelled"
        assert ended["seconds"] < 30.0
        assert started[0].end(signal.SIGTERM) == 0


NAMED = """
import ctypes, signal, threading

def give():
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(15, b"endless-one")  # its name, by which it is found
    while True:
        pass
"""


def endless_ones(worker: WorkerProcess) -> set[int]:
    """Processes of the program among those of a worker."""
    worker.look()
    found = set()
    for pid in worker.children:
        with suppress(OSError):
            if (Path("/proc") / str(pid) / "comm").read_text().strip() == "endless-one":
                found.add(pid)
    return found


async def until(holds: Callable[[], bool]) -> float:
    """How long it took until something held."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < PATIENCE_SECONDS
        await asyncio.sleep(0.005)
    return time.monotonic() - began


async def test_cancelling_kills_the_program_within_a_second(evolve: Evolve, tmp_path: Path, redis_url: str) -> None:
    bundle = load_problem(make_problem(tmp_path / "toy", wall_seconds=60.0)).bundle
    program = Program.of({"program.py": NAMED})
    took = []
    with workers(evolve) as started:
        started.append(WorkerProcess(evolve, slots=2))
        async with connect(redis_url) as client, aclosing(RedisEvaluationQueue(client)) as queue:
            for number in range(5):
                evaluation_id = f"evl_{number:032x}"
                task = EvaluationTask(evaluation_id=evaluation_id, bundle_hash=bundle.hash, program=program, pool="cpu")
                await queue.submit(task, bundle)
                await until(lambda: bool(endless_ones(started[0])))
                began = time.monotonic()
                await queue.cancel(evaluation_id)
                await until(lambda: not endless_ones(started[0]))
                took.append(time.monotonic() - began)
        assert started[0].end(signal.SIGTERM) == 0
    assert max(took) < 1.0, took


def test_the_second_signal_leaves_at_once_and_nothing_behind(evolve: Evolve, tmp_path: Path) -> None:
    problem = problem_of(tmp_path / "toy", ENDLESS_SEED, wall_seconds=60.0)
    with workers(evolve) as started:
        started.append(WorkerProcess(evolve))
        run = start_run(evolve, problem)
        next(started[0].events("evaluation.begun"))
        started[0].process.send_signal(signal.SIGTERM)
        assert "Draining" in started[0].line()
        assert started[0].end(signal.SIGTERM) == 130
        assert wait_until_gone(started[0].children) == set()
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--queue", "unix:///nowhere/redis.sock"], 6, "the queue does not answer"),
        (["--queue", "http://localhost"], 2, "redis://localhost"),
        (["--pool", "a pool"], 2, "is not a name"),
    ],
)
def test_a_worker_that_cannot_work_says_why(evolve: Evolve, words: list[str], code: int, said: str) -> None:
    refused = evolve.said("worker", *words)
    assert refused.code == code, refused.err
    assert refused.err.count("evolve: ") == 1
    assert said in refused.err


def test_a_worker_without_a_queue_and_a_run_with_a_level_are_told_what_to_do(evolve: Evolve, tmp_path: Path) -> None:
    problem = make_problem(tmp_path / "toy")
    evolve.call("run", str(problem), "--require-isolation", "strong", code=2)
    del evolve.environment["EVOLVE_QUEUE__URL"]
    refused = evolve.said("worker")
    assert (refused.code, "--queue redis://" in refused.err) == (2, True)
