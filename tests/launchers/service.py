"""A service that launched workers take their tasks from: a real API, a real Redis, and runs beside them."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.evolving import Evolve
from tests.e2e.test_interrupted_runs import check_whole
from tests.e2e.test_workers import SLOW_SEED, problem_of
from tests.patience import PATIENCE_SECONDS

EVALUATIONS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchedRun:
    """A run whose candidates launched workers evaluate."""

    evolve: Evolve
    process: subprocess.Popen[str]

    def read_until(self, count: int) -> list[dict[str, Any]]:
        """Its events up to one that ends a number of evaluations."""
        assert self.process.stdout is not None
        events: list[dict[str, Any]] = []
        while sum(event["kind"] == "candidate.evaluated" for event in events) < count:
            line = self.process.stdout.readline()
            assert line, self.process.communicate()[1]
            events.append(json.loads(line))
        return events

    def finish(self) -> list[dict[str, Any]]:
        """Its candidates, after rules that hold whatever was killed: each is evaluated once, and none is lost."""
        out, err = self.process.communicate(timeout=PATIENCE_SECONDS)
        assert self.process.returncode == 0, err
        candidates = check_whole(self.evolve, json.loads(out.splitlines()[-1])["run_id"], EVALUATIONS)
        evaluated = [one for one in candidates if one["status"] == "evaluated"]
        assert not [one for one in evaluated if one["outcome"] in ("lost", "cancelled", "timeout")]
        return evaluated


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerService:
    """An API and what a launcher needs to know of it."""

    evolve: Evolve
    url: str
    key_file: Path
    folder: Path

    @property
    def words(self) -> list[str]:
        return ["--server", self.url, "--api-key-file", str(self.key_file)]

    @contextmanager
    def run(self) -> Iterator[LaunchedRun]:
        problem = problem_of(self.folder / "toy", SLOW_SEED)
        process = self.evolve.start("run", str(problem), "--evaluations", str(EVALUATIONS), "--json")
        try:
            yield LaunchedRun(evolve=self.evolve, process=process)
        finally:
            process.kill()
            process.communicate()


@contextmanager
def worker_service(evolve: Evolve, folder: Path) -> Iterator[WorkerService]:
    """A service with a key for workers."""
    evolve.call("db", "upgrade")
    key_file = folder / "worker.key"
    evolve.call("keys", "create", "worker", "--scope", "evaluations:lease", "-o", str(key_file))
    process = evolve.start("api", "--port", "0", "--json")
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        yield WorkerService(evolve=evolve, url=json.loads(line)["url"], key_file=key_file, folder=folder)
    finally:
        process.kill()
        process.communicate()
