"""Runs that train their policy within them, and trainers without torch that make the versions."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.evolving import Evolve, essence
from tests.fakes.update_backend import STARTED
from tests.integration.test_trainer import alive
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
StartTrainer = Callable[..., "subprocess.Popen[str]"]


@contextmanager
def trainers(evolve: Evolve, home: Path) -> Iterator[StartTrainer]:
    """Starts trainers, which end with the block at the latest. Their jobs are in the folder `jobs` of the home."""
    started: list[subprocess.Popen[str]] = []

    def start(seconds: float = 0.0, *words: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "tests.fakes.update_backend", "trainer", evolve.url]
        command += [str(home / "jobs"), str(seconds), *words]
        started.append(subprocess.Popen(command, env=evolve.environment, cwd=ROOT, text=True))
        return started[-1]

    yield start
    for trainer in started:
        trainer.kill()
        trainer.wait()


def until(found: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not found():
        assert time.monotonic() < end
        time.sleep(0.05)


def begun(folder: Path) -> list[int]:
    """Processes that began an update."""
    return [int(pid) for path in folder.glob(f"jobs/*/{STARTED}") for pid in path.read_text().split()]


def end_with_a_killed_trainer(run: "subprocess.Popen[str]", home: Path, start_trainer: StartTrainer) -> None:
    """Kill a trainer within the first update of a run, and let another go on."""
    trainer = start_trainer(2.0)
    until(lambda: begun(home))
    trainer.send_signal(signal.SIGKILL)
    trainer.wait()
    until(lambda: not any(alive(pid) for pid in begun(home)))
    start_trainer()
    run.communicate(timeout=PATIENCE_SECONDS)
    assert run.returncode == 0


def updates(evolve: Evolve) -> list[dict[str, Any]]:
    """The updates of the last run."""
    return [
        event for event in evolve.lines("export", "last", "--format", "events") if event["kind"] == "policy.updated"
    ]


def candidates(evolve: Evolve) -> list[dict[str, Any]]:
    """What of the candidates of the last run is equal in an equal run."""
    return [essence(json.loads(line)) for line in evolve.call("export", "last").splitlines()]


def asked(evolve: Evolve) -> set[str]:
    """The policies that the last run asked."""
    events = evolve.lines("export", "last", "--format", "events")
    return {event["policy"] for event in events if event["kind"] == "proposal.created"}
