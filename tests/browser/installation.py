"""A service as people start it, in a process and with a database of its own, and runs for its pages to show."""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from service.ports import ENDED
from tests.command_line import EVOLVE
from tests.e2e.evolving import Evolve
from tests.patience import PATIENCE_SECONDS

# Two objectives, two measures, an evaluator that fails at some values, and words in the feedback that no page may run.
PROBLEM = """
schema = 1
name = "{name}"
description = "A large value from a short candidate, <b>as text</b>."
seeds = ["program.py"]

[evaluator]
file = "evaluator.py"
entry = "give"

[limits]
wall_seconds = 20.0
memory_mb = 128
processes = 8
disk_mb = 4
output_kb = 16

[[objectives]]
name = "value"
low = -10
high = 30

[[objectives]]
name = "length"
direction = "minimize"
low = 0
high = 200

[[measures]]
name = "complexity"
bins = 8

[[measures]]
name = "digits"
bins = 6
low = 0
high = 12
"""
PROGRAM = "def give():\n    a = 1.5\n    b = 2.5\n    c = 0.25\n    return a * b - c\n"
EVALUATOR = """
import time

def score(outputs, program):
    if outputs[0]["error"]:
        return {{"error": outputs[0]["error"]}}
    time.sleep({seconds})
    value = max(-10, min(30, float(outputs[0]["value"])))
    if int(abs(value) * 1000) % 5 == 3:
        raise ValueError("a value that cannot be scored")
    text = "".join(program.values())
    digits = sum(character.isdigit() for character in text)
    feedback = "<script>throw new Error('feedback was run')</script><b>Larger</b> & shorter."
    return {{"value": value, "length": min(len(text), 200), "digits": min(digits, 12), "feedback": feedback}}
"""
# One whose candidates answer a number, or what no page may run.
ANSWERING = """
HOSTILE = {hostile!r}

def score(outputs, program):
    value = float(outputs[0]["value"] or 0.0) if outputs[0]["error"] is None else 0.0
    text = "".join(program.values())
    value = max(-10, min(30, value))
    answer = HOSTILE + " " + "long" * 100 if value < 3.5 else [round(value)]
    return {{"value": value, "length": min(len(text), 200), "digits": 1, "answer": answer}}
"""
FINISHED, ENDLESS = "landscape", "endless"
CONFIG = {"islands": 3, "migration_interval": 6, "migration_rate": 0.3, "reset_after": 12, "seed": 7}


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """A service that runs.

    Attributes:
        url: where it listens.
        login: the address that opens a session once.
        evolve: the command on the same database.
        log: what the service writes on its standard error.
        pid: of its process.
    """

    url: str
    login: str
    evolve: Evolve
    log: Path
    pid: int


@contextmanager
def installed(home: Path) -> Iterator[Installation]:
    """Serve API, pages, runs and evaluations from one process, for as long as the block takes."""
    evolve, log = Evolve(home), home / "serve.log"
    evolve.environment |= {"EVOLVE_API__REQUESTS_PER_MINUTE": "100000", "EVOLVE_DEBUG": "1"}
    command = [EVOLVE, "serve", "--json", "--port", "0", "--slots", "2"]
    with (
        log.open("wb") as said,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True, env=evolve.environment) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, log.read_text(encoding="utf-8")
            started = json.loads(line)
            told = {"url": started["url"], "login": started["login"]}
            yield Installation(**told, evolve=evolve, log=log, pid=process.pid)
        finally:
            _end(process)


def _end(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


class Service:
    """The API of an installation, as the person who is signed in at the browser asks it."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def get(self, path: str) -> Any:
        """What the API answers at a path."""
        return self.client.get(path).raise_for_status().json()

    def create_problem(self, name: str, *, seconds: float = 0.0) -> None:
        """Store the problem, whose evaluations take so long at least."""
        evaluator = EVALUATOR.format(seconds=seconds)
        files = {"problem.toml": PROBLEM.format(name=name), "program.py": PROGRAM, "evaluator.py": evaluator}
        self.client.post("/v1/problems", json={"files": files}).raise_for_status()

    def submit(self, problem: str, *, evaluations: int, labels: Mapping[str, str] | None = None) -> str:
        """Submit a run of a problem, written by the policy that needs no model, and return its id."""
        config = {**CONFIG, "budget": {"evaluations": evaluations}}
        body = {"problem": problem, "policy": "syntax", "config": config, "labels": labels or {}}
        return str(self.client.post("/v1/runs", json=body).raise_for_status().json()["id"])

    def end(self, run_id: str) -> dict[str, Any]:
        """Wait until a run has ended, and return it."""
        run: dict[str, Any] = until(lambda: self._if(run_id, lambda run: run["state"] in ENDED))
        return run

    def begin(self, run_id: str, *, evaluated: int) -> dict[str, Any]:
        """Wait until a run has evaluated so many candidates, and return it."""
        run: dict[str, Any] = until(lambda: self._if(run_id, lambda run: run["progress"]["evaluated"] >= evaluated))
        return run

    def cancel(self, run_id: str) -> None:
        """Ask a run to end, and wait until it has; one that has ended stays as it is."""
        self.client.post(f"/v1/runs/{run_id}/cancel")
        self.end(run_id)

    def _if(self, run_id: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
        run: dict[str, Any] = self.get(f"/v1/runs/{run_id}")
        return run if holds(run) else None


def until(holds: Callable[[], Any]) -> Any:
    """What at last was found."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (held := holds()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return held
