"""Runners as processes over a real PostgreSQL and a real Redis: they share runs, and outlive each other."""

import json
import os
import queue
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from evolve.evaluation import Outcome
from evolve.events import EventKind
from service.bootstrap.storage import open_storage
from service.config import load_settings
from service.db.intents import SqlRunIntents
from service.db.models import RunRow
from service.db.storage import SqlStorage
from service.errors import StorageError
from service.ports import CANCELLED, ENDED, PAUSED, RUNNING, LoggedEvent, RunRecord
from service.timestamps import SystemClock
from service.usecases.plan import RunOrder, new_run, plan_new
from tests.e2e.evolving import EVALUATOR, Evolve, EvolveHere, make_problem
from tests.e2e.test_interrupted_runs import EVALUATIONS, check_whole
from tests.patience import PATIENCE_SECONDS
from tests.services import PostgresServer, free_port

# In the evaluator, where no mutation makes a long time of a short one.
SLOW = "import time\n" + EVALUATOR.replace("    if ", "    time.sleep(0.05)\n    if ", 1)
AT_ONCE_SECONDS = 5.0
TAKEOVER_SECONDS = 15.0
POLL_SECONDS = 0.05


class RunnerProcess:
    """`evolve runner`, and what it logs."""

    def __init__(self, evolve: Evolve, *words: str) -> None:
        self.process = evolve.start("-v", "runner", *words)
        self.said: queue.Queue[str] = queue.Queue()
        self.log: list[str] = []
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        self.wait_for("driving up to")

    @property
    def pid(self) -> int:
        return self.process.pid

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            self.said.put(line)

    def wait_for(self, words: str) -> str:
        """The first line not heard yet that holds some words."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            line = self.said.get(timeout=max(0.0, deadline - time.monotonic()))
            if words in line:
                return line

    def stop(self) -> None:
        """Let it stand still: on a busy machine its threads may write on for a while after the signal was sent."""
        self.process.send_signal(signal.SIGSTOP)
        assert os.waitid(os.P_PID, self.pid, os.WSTOPPED) is not None

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE_SECONDS)
        self._reading.join(PATIENCE_SECONDS)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdout.close()
        self.process.stderr.close()
        return code


class Installation:
    """A database with runs in it, and the processes of a test."""

    def __init__(self, evolve: Evolve, storage: SqlStorage, stack: ExitStack) -> None:
        self.evolve, self.storage, self._stack = evolve, storage, stack
        self.intents = SqlRunIntents(storage.database, "default", SystemClock())
        self.runners: list[RunnerProcess] = []

    def runner(self, *words: str) -> RunnerProcess:
        runner = RunnerProcess(self.evolve, *words)
        self._stack.callback(_kill, runner)
        self.runners.append(runner)
        return runner

    def standby(self, *words: str) -> RunnerProcess:
        """One that stands still until it is continued, so that another finds the runs first."""
        runner = self.runner(*words)
        runner.stop()
        return runner

    def stop_between_writes(self, runner: RunnerProcess) -> None:
        """Let a runner stand still, but not in the middle of a write, which would lock all others out of SQLite."""
        while True:
            runner.stop()
            try:
                with self.storage.database.write():
                    return
            except StorageError:
                runner.process.send_signal(signal.SIGCONT)

    def create(self, problem: Path, *, seed: int = 0, policy: str | None = None, **changes: Any) -> str:
        order = RunOrder(
            problem=problem, flags={"seed": seed}, policies=[policy] if policy else [], model="m" if policy else None
        )
        plan = plan_new(order, problem, datetime.now(UTC))
        self.storage.log.create(replace(new_run(plan, "workers", datetime.now(UTC)), **changes))
        return plan.run_id

    def record(self, run: str) -> RunRecord:
        return self.storage.reader.run(run)

    def events(self, run: str) -> list[LoggedEvent]:
        return list(self.storage.log.events(run))

    def holder(self, run: str) -> int | None:
        """The process that holds a run."""
        with self.storage.database.read() as connection:
            owner = connection.execute(select(RunRow.lease_owner).where(RunRow.id == run)).scalar_one()
        return self.process(owner) if owner else None

    def process(self, owner: str) -> int:
        """The process that an owner of leases is."""
        folder = Path(self.evolve.environment["HOME"]) / ".local/share/evolve/owners"
        return int((folder / owner.split(":")[2]).read_text())

    def takers(self, events: Sequence[LoggedEvent]) -> list[int]:
        """Processes that took a run up, one after the other."""
        taken = [entry for entry in events if entry.event.kind in (EventKind.RUN_STARTED, EventKind.RUN_RESUMED)]
        return [self.process(entry.event.payload["by"]) for entry in taken]

    def until(self, met: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> float:
        """Wait for something that must come about in time; how long it took."""
        began = time.monotonic()
        while not met():
            assert time.monotonic() - began < seconds, self._state()
            time.sleep(POLL_SECONDS)  # what other processes do is only seen by looking
        return time.monotonic() - began

    def _state(self) -> str:
        """What stands in the database, and what each runner logged last."""
        states = [run.state for run in self.storage.reader.runs()]
        return "\n".join([str(states), *("".join(runner.log[-20:]) for runner in self.runners)])

    def until_ended(self, *runs: str) -> None:
        self.until(lambda: all(self.record(run).state in ENDED for run in runs), 2 * PATIENCE_SECONDS)

    def until_evaluated(self, runs: Sequence[str], count: int) -> None:
        self.until(lambda: all(self.record(run).counters.evaluations >= count for run in runs))


def _kill(runner: RunnerProcess) -> None:
    if runner.process.poll() is None:
        runner.process.send_signal(signal.SIGCONT)
        runner.end(signal.SIGKILL)


@contextmanager
def installed(home: Path, database: str) -> Iterator[Installation]:
    evolve = EvolveHere(home)
    evolve.url = evolve.environment["EVOLVE_DATABASE__URL"] = database
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        Path(scratch).chmod(0o755)
        evolve.environment["TMPDIR"] = scratch
        storage = stack.enter_context(open_storage(load_settings(), database))
        yield Installation(evolve, storage, stack)


@pytest.fixture
def service(tmp_path: Path, postgres_url: str, redis_url: str) -> Iterator[Installation]:
    """PostgreSQL, Redis, and a worker of two slots."""
    with installed(tmp_path, postgres_url) as installation:
        installation.evolve.environment["EVOLVE_QUEUE__URL"] = redis_url
        worker = installation.evolve.start("worker", "--slots", "2")
        try:
            assert worker.stderr is not None
            assert "taking evaluations" in worker.stderr.readline()
            yield installation
        finally:
            worker.terminate()
            worker.communicate(timeout=PATIENCE_SECONDS)


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Installation]:
    """SQLite, and nothing beside the runner."""
    with installed(tmp_path, f"sqlite:///{tmp_path / 'runs.db'}") as installation:
        yield installation


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    problem = make_problem(tmp_path / "slow", evaluations=EVALUATIONS)
    (problem / "evaluator.py").write_text(SLOW)
    return problem


def test_a_runner_takes_over_the_runs_of_one_that_was_killed(service: Installation, slow: Path) -> None:
    second = service.standby("--runs", "8")
    runs = [service.create(slow, seed=seed) for seed in range(4)]
    first = service.runner("--runs", "2")
    service.until(lambda: sum(service.holder(run) == first.pid for run in runs) == 2)
    second.process.send_signal(signal.SIGCONT)
    service.until_evaluated(runs, 3)
    lost = [run for run in runs if service.holder(run) == first.pid]
    assert {service.holder(run) for run in runs if run not in lost} == {second.pid}
    assert len(lost) == 2
    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    service.until(lambda: all(service.holder(run) == second.pid for run in lost), TAKEOVER_SECONDS)
    service.until_ended(*runs)
    for run in runs:
        check_whole(service.evolve, run)
        assert (service.record(run).state, service.record(run).counters.evaluations) == ("succeeded", EVALUATIONS)
        assert service.takers(service.events(run)) == ([first.pid, second.pid] if run in lost else [second.pid])
    assert second.end(signal.SIGTERM) == 0


@pytest.mark.slow
def test_a_runner_that_hangs_past_its_lease_never_writes_again(service: Installation, slow: Path) -> None:
    second = service.standby()
    run = service.create(slow)
    first = service.runner()
    service.until_evaluated([run], 5)
    service.stop_between_writes(first)
    stopped = time.monotonic()
    second.process.send_signal(signal.SIGCONT)
    service.until(lambda: service.holder(run) == second.pid)
    assert time.monotonic() - stopped < TAKEOVER_SECONDS
    service.until_ended(run)
    told = service.events(run)
    first.process.send_signal(signal.SIGCONT)
    assert json.loads(first.wait_for("run.lost"))["run_id"] == run
    assert first.end(signal.SIGTERM) == 0
    assert service.events(run) == told
    assert service.takers(told) == [first.pid, second.pid]
    check_whole(service.evolve, run)


def test_a_runner_that_is_told_to_end_hands_its_runs_over_at_once(service: Installation, slow: Path) -> None:
    second = service.standby()
    runs = [service.create(slow, seed=seed) for seed in range(2)]
    first = service.runner()
    service.until_evaluated(runs, 5)
    second.process.send_signal(signal.SIGCONT)
    began = time.monotonic()
    assert first.end(signal.SIGTERM) == 0
    service.until(lambda: all(service.holder(run) == second.pid for run in runs), AT_ONCE_SECONDS)
    assert time.monotonic() - began < AT_ONCE_SECONDS
    service.until_ended(*runs)
    for run in runs:
        check_whole(service.evolve, run)
        assert not [entry for entry in service.events(run) if entry.event.kind is EventKind.RUN_PAUSED]
        assert service.takers(service.events(run)) == [first.pid, second.pid]


def test_what_people_want_of_a_run_takes_effect_within_a_second(service: Installation, slow: Path) -> None:
    run = service.create(slow)
    runner = service.runner()
    service.until_evaluated([run], 5)

    def wanted(state: str, kind: EventKind) -> float:
        """Seconds from wanting a state to the event that follows."""
        seen, asked = service.record(run).sequence, datetime.now(UTC)
        service.intents.want(run, state, "ada")

        def found() -> list[LoggedEvent]:
            return [entry for entry in service.storage.log.events(run, after=seen) if entry.event.kind is kind]

        service.until(lambda: bool(found()))
        return (found()[0].at - asked).total_seconds()

    assert wanted(PAUSED, EventKind.RUN_PAUSING) < 1.0
    service.until(lambda: service.record(run).state == "paused" and service.holder(run) is None)
    service.intents.extend(run, {"evaluations": 1000}, "bob")
    assert wanted(RUNNING, EventKind.RUN_RESUMED) < 2.0  # the policy and the queue are opened anew
    service.until_evaluated([run], EVALUATIONS + 5)
    assert service.record(run).config["budget"]["evaluations"] == 1000
    assert wanted(CANCELLED, EventKind.RUN_CANCELLED) < 2.0
    service.until(lambda: service.holder(run) is None)
    events = service.events(run)
    assert [entry.sequence for entry in events] == list(range(1, len(events) + 1))
    assert [entry.event.payload["by"] for entry in events if entry.event.kind is EventKind.RUN_CANCELLED] == ["ada"]
    left = [
        one for one in service.storage.reader.candidates(run, limit=2000) if one.status in ("pending", "evaluating")
    ]
    assert left == []
    assert runner.end(signal.SIGTERM) == 0


def test_a_run_that_cannot_go_on_waits_or_fails_and_others_go_on(service: Installation, tmp_path: Path) -> None:
    problem = make_problem(tmp_path / "toy", evaluations=10)
    off = service.create(problem, config={"strategy": "nonsense"})
    waits = service.create(problem, policy="http://127.0.0.1:9/v1")
    fine = service.create(problem)
    service.runner()
    service.until_ended(off, fine)
    assert (service.record(off).state, service.record(fine).state) == ("failed", "succeeded")
    last = service.events(off)[-1].event
    assert (last.kind, last.payload["reason"]) == (EventKind.RUN_FINISHED, "error")
    assert "strategy" in last.payload["detail"]
    service.until(lambda: service.record(waits).waiting is not None)
    waiting = service.record(waits)
    assert waiting.waiting is not None
    assert (waiting.state, "127.0.0.1:9" in waiting.waiting["reason"]) == ("queued", True)
    service.intents.want(waits, CANCELLED, "ada")
    assert service.until(lambda: service.record(waits).state == "cancelled") < AT_ONCE_SECONDS


def test_a_runner_without_a_queue_evaluates_by_itself_and_again_on_wish(alone: Installation, tmp_path: Path) -> None:
    problem = make_problem(tmp_path / "toy", evaluations=10)
    runs = [alone.create(problem, seed=seed) for seed in range(3)]
    runner = alone.runner("--runs", "2")
    alone.until_ended(*runs)
    assert {alone.record(run).counters.evaluations for run in runs} == {10}
    best = alone.record(runs[0]).best_candidate_id
    assert best is not None
    before = alone.record(runs[0])
    assert alone.intents.reevaluate(runs[0], [best], "ada", datetime.now(UTC)) == 1
    alone.until(lambda: len(alone.storage.reader.evaluations(best)) == 2)
    assert [one.outcome for one in alone.storage.reader.evaluations(best)] == [Outcome.OK, Outcome.OK]
    assert alone.record(runs[0]).best_fitness == before.best_fitness
    assert runner.end(signal.SIGINT) == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--db", "postgresql://nobody@127.0.0.1:9/none"], 1, "does not answer"),
        (["--queue", "http://localhost"], 2, "redis://localhost"),
        (["--runs", "0"], 2, "--runs"),
    ],
)
def test_a_runner_that_cannot_begin_says_why(alone: Installation, words: list[str], code: int, said: str) -> None:
    refused = alone.evolve.said("runner", *words)
    assert refused.code == code, refused.err
    assert refused.err.count("evolve: ") == 1
    assert said in refused.err


@pytest.mark.parametrize(
    ("words", "ready"),
    [
        (["runner"], "driving up to"),
        (["api", "--host", "0.0.0.0", "--port", "0"], "and every other address, at port"),
    ],
)
def test_a_process_waits_for_the_schema_of_its_version(
    tmp_path: Path, postgres_server: PostgresServer, redis_url: str, words: list[str], ready: str
) -> None:
    name = f"empty_{words[0]}_{os.getpid()}"
    evolve = EvolveHere(tmp_path)
    evolve.environment["EVOLVE_DATABASE__URL"] = postgres_server.create_database(name)
    evolve.environment |= {"EVOLVE_QUEUE__URL": redis_url, "EVOLVE_API__SECRET": "of tests, and of nobody else at all"}
    try:
        waiting, leaving = evolve.start(*words), evolve.start(*words)
        assert waiting.stderr is not None
        assert leaving.stderr is not None
        assert "schema.awaited" in leaving.stderr.readline()
        leaving.terminate()
        leaving.communicate(timeout=PATIENCE_SECONDS)
        assert leaving.returncode == 130
        assert "evolve db upgrade" in waiting.stderr.readline()
        evolve.call("db", "upgrade")
        lines = iter(waiting.stderr.readline, "")
        assert any(ready in line for line in lines)
        waiting.terminate()
        waiting.communicate(timeout=PATIENCE_SECONDS)
        assert waiting.returncode == 0
    finally:
        for process in (waiting, leaving):
            process.kill()
        postgres_server.drop_database(name)


def test_an_api_that_waits_for_its_schema_answers_probes_and_serves_nothing(
    tmp_path: Path, postgres_server: PostgresServer, redis_url: str
) -> None:
    name, port = f"empty_probed_{os.getpid()}", free_port()
    evolve = EvolveHere(tmp_path)
    evolve.environment["EVOLVE_DATABASE__URL"] = postgres_server.create_database(name)
    evolve.environment |= {"EVOLVE_QUEUE__URL": redis_url, "EVOLVE_API__SECRET": "of tests, and of nobody else at all"}
    waiting = evolve.start("api", "--port", str(port))
    try:
        assert waiting.stderr is not None
        assert "evolve db upgrade" in waiting.stderr.readline()
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS) as client:
            lives, ready = client.get("/healthz"), client.get("/readyz")
            assert (lives.status_code, lives.json()["status"]) == (200, "ok")
            assert (ready.status_code, ready.json()["status"]) == (503, "not_ready")
            assert "evolve db upgrade" in ready.json()["checks"]["database"]
            for refused in (client.get("/v1/runs"), client.get("/login"), client.post("/readyz"), client.get("/")):
                assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
                assert int(refused.headers["retry-after"]) > 0
        evolve.call("db", "upgrade")
        lines = iter(waiting.stderr.readline, "")
        assert any("serving at" in line for line in lines)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS) as client:
            assert (client.get("/readyz").status_code, client.get("/v1/runs").status_code) == (200, 401)
        waiting.terminate()
        waiting.communicate(timeout=PATIENCE_SECONDS)
        assert waiting.returncode == 0
    finally:
        waiting.kill()
        postgres_server.drop_database(name)
