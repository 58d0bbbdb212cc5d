"""Runs go on while the processes under them are killed and stalled: nothing is lost, doubled or left over."""

import json
import os
import random
import secrets
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from service.bootstrap.storage import open_storage
from service.config import load_settings
from tests import services
from tests.e2e.evolving import Evolve
from tests.e2e.test_remote_workers import free_port
from tests.fakes.openai_server import OpenAIServer, openai_server
from tests.faults import orphans, record
from tests.faults.clients import Crowd
from tests.faults.faults import Faults
from tests.faults.problems import SHAPES, model
from tests.faults.processes import Postgres, Redis, Role, Victim

SECONDS, SEED = "EVOLVE_FAULT_SECONDS", "EVOLVE_FAULT_SEED"
DEFAULT_SECONDS = 60.0
ENDING_SECONDS = 60.0
LEAVING_SECONDS = 20.0
GONE_SECONDS = 10.0
# The line of a request in the audit follows its answer, and the database may be away by then.
MAY_FAIL = ("audit.failed",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Everything that runs, and where it leaves what it leaves."""

    postgres: Postgres
    redis: Redis
    roles: Sequence[Role]
    url: str
    key: str
    scratch: Path

    @property
    def victims(self) -> list[Victim]:
        return [self.postgres, self.redis, *self.roles]


@contextmanager
def installed(folder: Path, model_url: str, draw: random.Random) -> Iterator[Installation]:
    """The servers, an API, two runners, and three workers, one of which knows the API alone; all at work."""
    with (
        services.scratch("evolve-pg-") as postgres_home,
        services.scratch("evolve-redis-") as redis_home,
        services.scratch("evolve-faults-") as scratch,
        ExitStack() as stack,
    ):
        scratch.chmod(0o755)
        postgres, redis = Postgres(postgres_home), Redis(redis_home, draw)
        for server in (postgres, redis):
            server.start()
            stack.callback(server.kill)
        evolve = Evolve(folder)
        evolve.environment |= {
            "TMPDIR": str(scratch),
            "EVOLVE_DATABASE__URL": postgres.url,
            "EVOLVE_QUEUE__URL": redis.url,
            "EVOLVE_API__SECRET": secrets.token_hex(32),
            "EVOLVE_API__REQUESTS_PER_MINUTE": "1000000",
            "EVOLVE_POLICIES__ALLOW": model_url,
            "EVOLVE_POLICIES__PRIVATE": "true",
        }
        evolve.call("db", "upgrade")
        key, leases = folder / "key", folder / "leases"
        evolve.call("keys", "create", "faults", "-o", str(key))
        evolve.call("keys", "create", "worker", "--scope", "evaluations:lease", "-o", str(leases))
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        remote = ["worker", "--slots", "2", "--server", url, "--api-key-file", str(leases)]
        plans = [("api", "api", ["api", "--port", str(port)], "serving at")]
        plans += [("runner", f"runner-{n}", ["runner", "--runs", "4"], "driving up to") for n in (1, 2)]
        plans += [("worker", f"worker-{n}", ["worker", "--slots", str(n)], "taking evaluations") for n in (1, 2)]
        plans += [("worker", "worker-3", remote, "taking evaluations")]
        roles = [Role(kind, name, words, ready, evolve.environment, folder) for kind, name, words, ready in plans]
        for role in roles:
            role.start()
            stack.callback(role.kill)
        for role in roles:
            role.await_ready()
        shown = key.read_text().strip()
        yield Installation(postgres=postgres, redis=redis, roles=roles, url=url, key=shown, scratch=scratch)


def weathered(place: Installation, server: OpenAIServer, seconds: float, seed: int) -> tuple[Crowd, Faults]:
    """Have everybody use the installation while faults go on, then let every run come to its end."""
    crowd = Crowd(place.url, place.key, place.postgres.url, server, seed)
    faults = Faults(place.victims, random.Random(f"{seed}/faults"), crowd.submit_soon)
    try:
        crowd.start()
        faults.rage(seconds)
        crowd.close()
        late = crowd.await_ends(ENDING_SECONDS)
        crowd.failures += [f"run {run_id} has not ended after {ENDING_SECONDS:g} s without faults" for run_id in late]
    finally:
        crowd.leave()
    return crowd, faults


def recorded(place: Installation, crowd: Crowd) -> tuple[list[record.Run], list[str]]:
    """Every run, and what breaks a rule."""
    with open_storage(load_settings(), place.postgres.url) as storage:
        records = storage.reader.runs(limit=10_000)
        complaints = list(record.submissions(records, crowd.runs))
        runs = [record.read(storage, told) for told in crowd.runs.values()]
    for run in runs:
        complaints += [
            f"{run.told.shape.name} run {run.record.id}: {complaint}"
            for rule in record.RULES
            for complaint in rule(run)
        ]
    return runs, [*complaints, *record.repeats(runs)]


def ended(place: Installation) -> list[str]:
    """End every role in order; what is left of them, or was said by them that must not be."""
    for role in place.roles:
        role.end(LEAVING_SECONDS)
    for server in (place.postgres, place.redis):
        server.end()
    complaints = [complaint for role in place.roles for complaint in role.complaints]
    complaints += [
        f"{role.name} said: {line[:1500]}"
        for role in place.roles
        for line in role.log.read_text(errors="replace").splitlines()
        if "Traceback" in line or ('"level": "error"' in line and not any(word in line for word in MAY_FAIL))
    ]
    deadline = time.monotonic() + GONE_SECONDS
    while (left := orphans.living()) and time.monotonic() < deadline:
        time.sleep(0.1)  # what other processes do is only seen by looking
    complaints += [f"process {pid} is left over: {command}" for pid, command in left.items()]
    return complaints + [f"{entry.name} is left over" for entry in sorted(place.scratch.iterdir())]


def logged(place: Installation) -> Counter[str]:
    """How often the roles logged what."""
    counts: Counter[str] = Counter()
    for role in place.roles:
        for line in role.log.read_text(errors="replace").splitlines():
            if line.startswith("{"):
                event = json.loads(line)
                counts[event.get("event", "")] += 1
                counts["redeliveries"] += event.get("event") == "evaluation.begun" and event["delivery"] > 1
    return counts


def report(place: Installation, faults: Faults, crowd: Crowd, runs: Sequence[record.Run]) -> str:
    """What happened, in a few lines."""
    said = logged(place)
    figures = {
        "faults": dict(sorted(faults.counts.items())) | {"redis came back empty": place.redis.emptied},
        "runs": dict(Counter(f"{run.told.shape.name} {run.record.state}" for run in runs)),
        "record": {
            "runs": len(runs),
            "events": sum(len(run.events) for run in runs),
            "proposals": sum(len(run.proposals) for run in runs),
            "candidates": sum(len(run.candidates) for run in runs),
            "evaluations": sum(run.evaluations.total() for run in runs),
            "evaluations lost": sum(run.lost for run in runs),
            "takeovers": sum(record.takeovers(run) for run in runs),
        },
        "queue": {
            "redeliveries": said["redeliveries"],
            "sent again": said["evaluation.sent_again"],
            "results not taken": said["evaluation.lost"],
        },
        "starts": dict(Counter({role.name: role.starts for role in place.roles})),
        "starts refused": sum(len(role.refusals) for role in place.roles),
        "clients": dict(sorted(crowd.counts.items())),
    }
    return "\n".join(f"{name:15} {json.dumps(value)}" for name, value in figures.items())


@pytest.mark.faults
@pytest.mark.timeout(0)  # as long as is asked for
def test_runs_weather_kills_and_stalls_of_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seconds = float(os.environ.get(SECONDS) or DEFAULT_SECONDS)
    seed = int(os.environ.get(SEED) or secrets.randbits(32))
    with capsys.disabled():
        print(f"\nfaults for {seconds:g} s, {SEED}={seed}, logs in {tmp_path}", flush=True)
    with (
        orphans.adopted(),
        openai_server(model(random.Random(f"{seed}/model"))) as server,
        installed(tmp_path, server.url, random.Random(f"{seed}/redis")) as place,
    ):
        crowd, faults = weathered(place, server, seconds, seed)
        runs, complaints = recorded(place, crowd)
        complaints += [*crowd.failures, *ended(place)]
        with capsys.disabled():
            print(report(place, faults, crowd, runs), flush=True)
    story = "\n".join([*complaints, "", f"{SEED}={seed}", *faults.told])
    assert not complaints, story
    assert faults.counts.total() >= seconds / 10
    assert len(runs) >= len(SHAPES)
