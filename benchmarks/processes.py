"""The service as real processes for benchmarks: PostgreSQL that keeps its word, Redis, runner, workers, API."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx

from service.db.schema_upgrade import upgrade
from tests.services import postgres_server, redis_server

NONE: Mapping[str, str] = MappingProxyType({})
EVOLVE = str(Path(sys.executable).with_name("evolve"))
SECRET = "of a benchmark, and of nobody else in the world"
PROBLEM = """
schema = 1
name = "{name}"
seeds = ["program.py"]

[evaluator]
file = "evaluator.py"
entry = "give"

[limits]
wall_seconds = 5.0
memory_mb = 128
processes = 8
disk_mb = 4
output_kb = 16

[[objectives]]
name = "value"

[search]
islands = 2
"""
SEED = "{imports}\n\ndef give():\n{sleep}    a = 1.5\n    b = 2.5\n    c = 0.25\n    return a * b - c\n"
EVALUATOR = """
def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    return {"value": outputs[0]["value"]}
"""


def problem_files(name: str, sleep_seconds: float = 0.0) -> dict[str, str]:
    """A problem whose evaluations cost nothing, or sleep; the program's numbers are what evolves."""
    sleep = f"    time.sleep({sleep_seconds})\n" if sleep_seconds else ""
    imports = "import time\n" if sleep_seconds else ""
    evaluator = EVALUATOR
    if sleep_seconds:  # the scorer sleeps, so that no child can leave it out
        evaluator = "import time\n" + EVALUATOR.replace(
            "    if outputs", f"    time.sleep({sleep_seconds})\n    if outputs", 1
        )
        sleep, imports = "", ""
    return {
        "problem.toml": PROBLEM.format(name=name),
        "program.py": SEED.format(sleep=sleep, imports=imports).lstrip("\n"),
        "evaluator.py": evaluator,
    }


@dataclass
class Service:
    """PostgreSQL, Redis and an API; runners and workers as they are wanted. `pid`: of the API."""

    home: Path
    database: str
    queue: str
    url: str = ""
    key: str = ""
    pid: int = 0
    stack: ExitStack = field(default_factory=ExitStack)

    @property
    def environment(self) -> Mapping[str, str]:
        kept = {key: value for key, value in os.environ.items() if key in {"PATH", "LANG", "LC_ALL", "TMPDIR"}}
        return kept | {
            "HOME": str(self.home),
            "EVOLVE_DATABASE__URL": self.database,
            "EVOLVE_QUEUE__URL": self.queue,
            "EVOLVE_API__SECRET": SECRET,
            "EVOLVE_API__REQUESTS_PER_MINUTE": "1000000",
        }

    @contextmanager
    def role(self, *words: str, environment: Mapping[str, str] = NONE) -> Iterator[subprocess.Popen[str]]:
        """A process of the service, ended with SIGTERM. `environment`: variables that only it has."""
        log = self.stack.enter_context((self.home / f"{words[0]}.log").open("a"))
        process = subprocess.Popen(
            [EVOLVE, *words], env={**self.environment, **environment}, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.key}"}, timeout=60)

    def submit(self, name: str, files: Mapping[str, str], **config: Any) -> str:
        """A new run of a problem that is stored with it."""
        with self.client() as client:
            problem = client.post("/v1/problems", json={"name": name, "files": files}).raise_for_status().json()["id"]
            body = {"problem": problem, "config": config, "policy": "syntax"}
            run: str = client.post("/v1/runs", json=body).raise_for_status().json()["id"]
            return run

    def read(self, run_id: str) -> dict[str, Any]:
        with self.client() as client:
            found: dict[str, Any] = client.get(f"/v1/runs/{run_id}").raise_for_status().json()
            return found

    def evaluated(self, run_id: str) -> int:
        return int(self.read(run_id)["progress"]["evaluated"])

    def rate(self, run_id: str, warm: int, seconds: float) -> float:
        """Candidates a second over a time, once so many are done."""
        deadline = time.monotonic() + 60
        while self.evaluated(run_id) < warm:
            assert time.monotonic() < deadline, f"the run does not get on: {self.read(run_id)}"
            time.sleep(0.1)
        began, first = time.monotonic(), self.evaluated(run_id)
        time.sleep(seconds)
        return (self.evaluated(run_id) - first) / (time.monotonic() - began)

    def cancel(self, run_id: str) -> None:
        with self.client() as client:
            client.post(f"/v1/runs/{run_id}/cancel").raise_for_status()
        while self.read(run_id)["state"] not in {"cancelled", "succeeded", "failed"}:
            time.sleep(0.1)


@contextmanager
def open_service(home: Path) -> Iterator[Service]:
    """The servers, an upgraded database, a key and an API."""
    with postgres_server(durable=True) as postgres, redis_server() as redis:
        database = postgres.create_database("benchmark")
        upgrade(database)
        service = Service(home=home, database=database, queue=redis.database_url(0))
        made = subprocess.run(
            [EVOLVE, "keys", "create", "--json"], env=service.environment, capture_output=True, text=True, check=True
        )
        service.key = json.loads(made.stdout)["key"]
        with service.role("api", "--port", "0", "--json") as api:
            assert api.stdout is not None
            service.url, service.pid = json.loads(api.stdout.readline())["url"], api.pid
            try:
                yield service
            except BaseException:
                for log in sorted(home.glob("*.log")):
                    sys.stderr.write(f"--- {log.name}\n{log.read_text()[-3000:]}\n")
                raise
            finally:
                service.stack.close()
