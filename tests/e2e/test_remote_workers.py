"""Workers that reach the service over HTTP and nothing else: a real API, real workers, a real Redis."""

import json
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import httpx
import pytest

from evolve.program import Program
from service.ports import EvaluationTask
from service.problems.load import load_problem
from service.queue.connection import connect
from service.queue.redis import RedisEvaluationQueue
from tests.command_line import Said
from tests.e2e.evolving import Evolve, EvolveHere, make_problem
from tests.e2e.test_interrupted_runs import check_whole
from tests.e2e.test_workers import (
    NAMED,
    SLOW_SEED,
    WorkerProcess,
    endless_ones,
    problem_of,
    read_until,
    start_run,
    until,
    workers,
)
from tests.patience import PATIENCE_SECONDS
from tests.repositories import LIBRARY, make_repository
from tests.repositories import make_problem as make_repository_problem
from tests.services import free_port


@pytest.fixture
def evolve(tmp_path: Path, redis_url: str) -> Iterator[Evolve]:
    made = EvolveHere(tmp_path)
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        made.environment |= {"TMPDIR": scratch, "EVOLVE_QUEUE__URL": redis_url, "EVOLVE_API__SECRET": "s" * 40}
        yield made


@pytest.fixture
def server(evolve: Evolve) -> Iterator[str]:
    """The address of an API of its own."""
    evolve.call("db", "upgrade")
    process = evolve.start("api", "--port", "0", "--json")
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        yield json.loads(line)["url"]
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def words(evolve: Evolve, server: str, tmp_path: Path) -> list[str]:
    """What a worker is started with."""
    evolve.call("keys", "create", "worker", "--scope", "evaluations:lease", "-o", str(tmp_path / "key"))
    return ["--server", server, "--api-key-file", str(tmp_path / "key")]


def test_a_run_is_evaluated_by_workers_that_know_the_api_alone(
    evolve: Evolve, tmp_path: Path, words: list[str]
) -> None:
    problem, port = problem_of(tmp_path / "toy", SLOW_SEED), free_port()
    with workers(evolve) as started:
        run = start_run(evolve, problem)
        queue = evolve.environment.pop("EVOLVE_QUEUE__URL")
        started += [WorkerProcess(evolve, 2, [*words, "--metrics-port", str(port)]), WorkerProcess(evolve, 1, words)]
        evolve.environment["EVOLVE_QUEUE__URL"] = queue
        read_until(run, "candidate.evaluated", 10)
        shown = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_SECONDS).text
        assert started[1].end(signal.SIGKILL) == -signal.SIGKILL
        out, err = run.communicate(timeout=PATIENCE_SECONDS)
        assert run.returncode == 0, err
        assert started[0].end(signal.SIGTERM) == 0
    candidates = check_whole(evolve, json.loads(out.splitlines()[-1])["run_id"])
    assert {one["outcome"] for one in candidates if one["status"] == "evaluated"} <= {"ok", "error", "invalid"}
    samples = dict(line.rsplit(" ", 1) for line in shown.splitlines() if not line.startswith("#"))
    assert float(samples['evolve_evaluations_total{outcome="ok"}']) >= 1
    assert float(samples["evolve_queue_wait_seconds_count"]) >= 1
    assert time.time() - float(samples["evolve_worker_last_heartbeat_timestamp_seconds"]) < 60


def test_a_repository_is_evaluated_by_a_worker_that_knows_the_api_alone(
    evolve: Evolve, tmp_path: Path, words: list[str]
) -> None:
    """Its setup runs where the worker is, and the commit comes with the problem."""
    make_repository(tmp_path / "library")
    problem = make_repository_problem(tmp_path / "problem", more='setup = "echo 5 > made.txt"')
    (tmp_path / "library" / "bench.py").unlink()
    with workers(evolve) as started:
        run = evolve.start("run", str(problem), "--evaluations", "8", "--json")
        queue = evolve.environment.pop("EVOLVE_QUEUE__URL")
        started.append(WorkerProcess(evolve, 2, words))
        evolve.environment["EVOLVE_QUEUE__URL"] = queue
        out, err = run.communicate(timeout=PATIENCE_SECONDS)
        assert run.returncode == 0, err
        assert started[0].end(signal.SIGTERM) == 0
    candidates = check_whole(evolve, json.loads(out.splitlines()[-1])["run_id"], 8)
    evaluated = [one for one in candidates if one["status"] == "evaluated"]
    assert len(evaluated) == 8
    assert evaluated[0]["scores"] == {"size": len(LIBRARY["lib/core.py"])}
    assert {one["outcome"] for one in evaluated} <= {"ok", "invalid"}


async def test_cancelling_kills_the_program_of_a_remote_worker_within_a_second(
    evolve: Evolve, tmp_path: Path, words: list[str], redis_url: str
) -> None:
    bundle = load_problem(make_problem(tmp_path / "toy", wall_seconds=60.0)).bundle
    program, took = Program.of({"program.py": NAMED}), []
    with workers(evolve) as started:
        started.append(WorkerProcess(evolve, 1, words))
        async with connect(redis_url) as client, aclosing(RedisEvaluationQueue(client)) as queue:
            for number in range(3):
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


def test_a_worker_whose_key_is_off_says_so_and_ends(evolve: Evolve, tmp_path: Path, words: list[str]) -> None:
    def refused(*given: str) -> Said:
        said = evolve.said("worker", *given)
        assert "Traceback" not in said.err
        assert said.err.count("evolve: ") == 1
        return said

    server = words[1]
    (tmp_path / "other").write_text("evo_nobodys\n")
    (tmp_path / "empty").write_text("\n")
    evolve.call("keys", "create", "reader", "--scope", "runs:read", "-o", str(tmp_path / "reader"))
    evolve.call("keys", "create", "guest", "--tenant", "guest", "-o", str(tmp_path / "guest"))
    assert refused("--server", server, "--api-key-file", str(tmp_path / "other")).code == 4
    assert "evaluations:lease" in refused("--server", server, "--api-key-file", str(tmp_path / "reader")).err
    assert "tenant default" in refused("--server", server, "--api-key-file", str(tmp_path / "guest")).err
    assert refused("--server", server, "--api-key-file", str(tmp_path / "empty")).code == 2
    assert refused("--server", server, "--api-key-file", str(tmp_path / "nowhere")).code == 2
    assert refused("--server", server).code == 2
    assert refused(*words, "--queue", evolve.environment["EVOLVE_QUEUE__URL"]).code == 2
    assert refused("--server", f"http://127.0.0.1:{free_port()}", *words[2:]).code == 6


def test_metrics_that_cannot_be_served_end_the_worker_with_a_sentence(evolve: Evolve) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = evolve.said("worker", "--metrics-port", str(taken.getsockname()[1]))
    assert (said.code, said.err.count("evolve: metrics cannot be served at 127.0.0.1:")) == (2, 1)
