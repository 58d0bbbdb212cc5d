"""An installation that `evolve db` backs up and restores on another machine carries on there, on either database."""

import itertools
import json
import secrets
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from service.db.account_models import DeliveryRow
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.policy.request_log import SEEDS
from service.timestamps import SystemClock
from tests.command_line import call_here
from tests.e2e.evolving import SEED, Evolve
from tests.e2e.test_point_in_time import PROBLEM, SLOW, Machine, answered, run_of, until
from tests.fakes.openai_server import OpenAIServer, Received, openai_server
from tests.integration.webhooks.receiver import Answer, Heard, open_receiver
from tests.services import PostgresServer

BUDGETS = {"ended": 4, "paused": 120, "under-way": 121}
FIRST_SECRET, OTHER_SECRET = "of the first installation, and of no other", "of an installation that is not the first"
BOOT = "/proc/sys/kernel/random/boot_id"
AS_ANOTHER = f'mount --bind "$1" {BOOT} && echo "$2" >/proc/sys/kernel/hostname && shift 2 && exec "$@"'

Log = Sequence[Mapping[str, Any]]


class Moved(Machine):
    """A machine with a home, a host name and a boot of its own, as far as this one lets a process have them."""

    def __init__(self, home: Path, database: str, secret: str | None) -> None:
        super().__init__(home, database)
        self.evolve = Evolve(home, identity_of(home))
        self.evolve.environment |= {
            "EVOLVE_DATABASE__URL": database,
            "EVOLVE_WEBHOOKS__PRIVATE": "true",
            "EVOLVE_POLICIES__PRIVATE": "true",
        }
        if secret is not None:
            self.evolve.environment["EVOLVE_API__SECRET"] = secret

    def logs(self, runs: Mapping[str, str]) -> dict[str, Log]:
        """The events of runs, by the names that the runs are given by."""
        database = open_database(self.evolve.environment["EVOLVE_DATABASE__URL"])
        try:
            log = SqlRunLog(database, SystemClock())
            return {name: [logged.as_json() for logged in log.events(run)] for name, run in runs.items()}
        finally:
            database.close()

    def let_deliveries_fall_due(self) -> None:
        """As if the minutes until the next try had passed."""
        database = open_database(self.evolve.environment["EVOLVE_DATABASE__URL"])
        try:
            with database.write() as connection:
                due = update(DeliveryRow).where(DeliveryRow.state == "pending")
                connection.execute(due.values(next_at=database.clock.now()))
        finally:
            database.close()


def identity_of(home: Path) -> list[str]:
    """Words that give a command another host name and boot; none where that takes rights that we lack."""
    boot = home / "boot_id"
    boot.write_text(f"{secrets.token_hex(4)}-0000-4000-8000-{secrets.token_hex(6)}\n")
    unshare = shutil.which("unshare")
    if unshare is None:
        return []
    words = [unshare, "--mount", "--uts", "sh", "-c", AS_ANOTHER, "sh", str(boot), home.name]
    done = subprocess.run([*words, "cat", BOOT], capture_output=True, text=True, check=False)
    return words if done.stdout == boot.read_text() else []


class Site:
    """A kind of database, and the secret beside it.

    Attributes:
        secret: as settings name it; None: it is in a file beside the database.
    """

    secret: str | None

    def __init__(self, folder: Path, server: PostgresServer | None) -> None:
        self._folder, self._server = folder, server
        self.secret = FIRST_SECRET if server else None

    def machine(self, name: str, secret: str | None = None) -> Moved:
        """A machine with an empty database of its own, of this version."""
        if self._server is None:
            database = f"sqlite:///{self._folder / name / 'evolve.db'}"
        else:
            database = self._server.create_database(f"{name}_{secrets.token_hex(8)}")
        machine = Moved(self._folder / name, database, secret)
        if self._server is not None:
            machine.evolve.call("db", "upgrade")
        return machine

    def check_without_secret(self, machine: Moved, key: str) -> None:
        """What is said where the first installation's secret is not carried along."""
        if self._server is None:
            said = machine.evolve.said("serve", "--port", "0", "--json")
            assert said.code == 4, said.err
            assert "evolve.secret, the secret that they were made with, is missing: copy it from" in said.err
            assert "Traceback" not in said.err
            assert not (self._folder / "second" / "evolve.secret").exists()
            return
        machine.evolve.environment["EVOLVE_API__SECRET"] = OTHER_SECRET
        with machine.serving(key, "api") as client:
            for response in (client.get("/v1/runs"), client.post("/v1/session", json={"key": key})):
                assert response.status_code == 401
                assert "made with another api.secret than this service has" in response.json()["detail"]
            unknown = client.get("/v1/runs", headers={"Authorization": f"Bearer {key[:-1]}"})
            assert "unknown or void" in unknown.json()["detail"]

    def carry_secret(self, machine: Moved) -> None:
        """Carry the first installation's secret to another machine."""
        if self._server is None:
            shutil.copy(self._folder / "first" / "evolve.secret", self._folder / "second")
        else:
            machine.evolve.environment["EVOLVE_API__SECRET"] = FIRST_SECRET


@pytest.fixture(params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    sqlite = request.param == "sqlite"
    return Site(tmp_path, None if sqlite else request.getfixturevalue("postgres_server"))


@pytest.fixture
def policy() -> Iterator[OpenAIServer]:
    """A policy that is paid for each answer, and writes a new program each time."""
    numbers = itertools.count(1)

    def write(body: Mapping[str, Any]) -> list[str]:
        return [f"```python\n{SEED}\n\nNUMBER = {next(numbers)}\n```" for _ in range(body.get("n", 1))]

    with openai_server(write, latency_seconds=0.1) as server:
        yield server


def submit(client: httpx.Client, name: str, policy: OpenAIServer) -> str:
    files = {"problem.toml": PROBLEM.format(name=name), "program.py": SEED, "evaluator.py": SLOW}
    answered(client.post("/v1/problems", json={"files": files}))
    described = {"base_url": policy.url, "format": "single", "price": {"input": "1", "output": "2"}}
    # A seed of its own, so that the seed of a request tells which proposal it is for.
    config = {"budget": {"evaluations": BUDGETS[name]}, "seed": BUDGETS[name]}
    body = {"problem": name, "config": config, "policy": described}
    run: str = answered(client.post("/v1/runs", json=body))["id"]
    return run


def has_evaluated(client: httpx.Client, run: str, count: int) -> bool:
    return bool(run_of(client, run)["progress"]["evaluated"] >= count)


def message_of(heard: Heard) -> tuple[str, str, str]:
    """Its type, its run, and its id."""
    message = json.loads(heard.body)
    return message["type"], message["data"]["id"], heard.headers["webhook-id"]


def states_of(client: httpx.Client, deliveries: str) -> list[str]:
    return sorted(one["state"] for one in answered(client.get(deliveries))["items"] if one["attempts"])


def seeds_of(events: Log) -> set[int]:
    """The seeds of the proposals that were answered; each has its own."""
    numbers = {event["proposal_number"] for event in events if event["kind"] == "proposal.answered"}
    created = [event for event in events if event["kind"] == "proposal.created"]
    return {event["seed"] % SEEDS for event in created if event["proposal_number"] in numbers}


def check_messages(before: Sequence[Heard], after: Sequence[Heard], runs: Mapping[str, str]) -> None:
    """Each event comes once: one that was delivered is not repeated, and the one that was due has kept its id."""
    done, due = map(message_of, before[:2])
    assert done[:2] == ("run.succeeded", runs["ended"])
    heard = [message_of(one) for one in after]
    assert due in heard
    expected = {("run.paused", "paused"), ("run.succeeded", "paused"), ("run.succeeded", "under-way")}
    assert sorted(message[:2] for message in heard) == sorted((kind, runs[name]) for kind, name in expected)


def check_logs(before: Mapping[str, Log], after: Mapping[str, Log]) -> None:
    """Each run goes on from its log, and evaluates each candidate once."""
    for name in after:
        assert after[name][: len(before[name])] == before[name]
        evaluated = Counter(event["candidate_id"] for event in after[name] if event["kind"] == "candidate.evaluated")
        assert set(evaluated.values()) == {1}
        assert evaluated.total() == BUDGETS[name]


def check_paid_once(before: Mapping[str, Log], after: Mapping[str, Log], asked: Sequence[Received]) -> None:
    """No answer of the backup is asked for again, and none twice."""
    counts = Counter(request.body["seed"] for request in asked)
    assert set(counts.values()) == {1}
    paid = set().union(*map(seeds_of, before.values()))
    assert len(paid) >= 20
    assert not paid & counts.keys()
    assert set().union(*map(seeds_of, after.values())) - paid <= counts.keys()


@pytest.mark.slow
def test_keys_runs_and_webhooks_carry_on_from_a_backup_on_another_machine(
    tmp_path: Path, site: Site, policy: OpenAIServer
) -> None:
    with open_receiver() as receiver:
        first = site.machine("first", site.secret)
        key = first.evolve.json("keys", "create", "mine")["key"]
        with first.serving(key) as client:
            hook = {"url": f"{receiver.url}/hook", "types": ["run.succeeded", "run.paused"]}
            deliveries = f"/v1/webhooks/{answered(client.post('/v1/webhooks', json=hook))['id']}/deliveries"
            runs = {"ended": submit(client, "ended", policy)}
            until(lambda: states_of(client, deliveries) == ["delivered"])
            runs |= {name: submit(client, name, policy) for name in ("paused", "under-way")}
            for name in ("paused", "under-way"):
                until(partial(has_evaluated, client, runs[name], 10))
            # Nobody takes a message until the power fails.
            receiver.answers = [Answer(status=503)]
            answered(client.post(f"/v1/runs/{runs['paused']}/pause"))
            until(lambda: states_of(client, deliveries) == ["delivered", "pending"])
            said = call_here(["db", "backup", str(tmp_path / "backup")], first.evolve.environment)
        assert said.code == 0, said.err
        second = site.machine("second", None)
        second.evolve.call("db", "restore", str(tmp_path / "backup"), "--yes")
        site.check_without_secret(second, key)
        site.carry_secret(second)
        second.let_deliveries_fall_due()
        before, refused, asked = second.logs(runs), len(receiver.heard), len(policy.chats)
        receiver.answers = [Answer()]
        with second.serving(key) as client:
            assert [run_of(client, runs[name])["state"] for name in ("ended", "paused")] == ["succeeded", "paused"]
            answered(client.post(f"/v1/runs/{runs['paused']}/resume"))
            until(lambda: states_of(client, deliveries) == ["delivered"] * 4)
            assert {run_of(client, run)["state"] for run in runs.values()} == {"succeeded"}
        after = second.logs(runs)
    check_messages(receiver.heard[:refused], receiver.heard[refused:], runs)
    check_logs(before, after)
    check_paid_once(before, after, policy.chats[asked:])
