"""Training jobs of the back end `trl`, with real training: runs of programs in, versions of an adapter out."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from service.bootstrap.storage import open_storage
from service.config import Settings
from service.ports import JOB_ENDED, TrainingJob
from tests.e2e.evolving import Evolve, children_of
from tests.fakes.adapter_server import AdapterServer, adapter_server
from tests.fakes.openai_server import openai_server
from tests.integration.test_trainer import alive
from tests.patience import PATIENCE_SECONDS
from tests.training.problem import make_point, point
from tests.training.spelling_model import make_spelling_model

if TYPE_CHECKING:
    import subprocess

pytestmark = [pytest.mark.training, pytest.mark.timeout(1500)]

STEPS, SAVE_EVERY = 8, 2
SMALL = tuple(
    word
    for value in ("rank=2", "max_tokens=6000", "batch=1", "completions=2", "completion_tokens=8")
    for word in ("--set", value)
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with random weights, whose context holds the prompts of a run."""
    return make_spelling_model(tmp_path_factory.mktemp("model"), m=1, steps=0, context=8192)


@pytest.fixture
def server() -> Iterator[AdapterServer]:
    with adapter_server() as found:
        yield found


@pytest.fixture
def evolve(tmp_path: Path) -> Evolve:
    """A place with a run of programs that a model wrote, and that may be trained on."""
    found = Evolve(tmp_path)
    found.environment["OMP_NUM_THREADS"] = "1"
    numbers = iter(range(10_000))

    def written(_: Mapping[str, Any]) -> list[str]:
        number = next(numbers)
        return [f"```python\n{point(number % 37 / 37, number % 23 / 23)}\n```"]

    with openai_server(written) as policy:
        words = ("--policy", policy.url, "--param", "format=single", "--param", "answers=1", "--param", "samples=1")
        folder = make_point(tmp_path / "point")
        found.call("run", str(folder), *words, "--evaluations", "60", "--set", "selection={uniform=1}")
    found.call("training", "allow", "last")
    return found


@pytest.fixture
def start_trainer(evolve: Evolve, tmp_path: Path) -> Iterator[Callable[[], "subprocess.Popen[str]"]]:
    """Starts a trainer, which ends with the test at the latest."""
    started: list[subprocess.Popen[str]] = []

    def start() -> "subprocess.Popen[str]":
        words = ("--folder", str(tmp_path / "training"), "--threads", "1", "--save-every", str(SAVE_EVERY))
        started.append(evolve.start("trainer", *words))
        return started[-1]

    yield start
    for trainer in started:
        trainer.kill()
        trainer.communicate()


def until(found: Callable[[], Any]) -> Any:
    end = time.monotonic() + 6 * PATIENCE_SECONDS
    while not (value := found()):
        assert time.monotonic() < end
        time.sleep(1)
    return value


def job_of(evolve: Evolve, job: str) -> TrainingJob:
    """A job as the database has it: on a busy machine, a command for each look would take the processor."""
    with open_storage(Settings(), evolve.url) as storage:
        return storage.training.get("default", job)


def events_of(evolve: Evolve, job: str) -> list[dict[str, Any]]:
    """The events of a job until it has ended."""
    until(lambda: job_of(evolve, job).state in JOB_ENDED)
    found = evolve.said("training", "watch", job, "--json")
    return [json.loads(line) for line in found.out.splitlines()]


def submit(evolve: Evolve, *words: str) -> str:
    asked = ("training", "submit", "writer", "--new", "--backend", "trl", "--run", "last", *words)
    return str(evolve.json(*asked)["id"])


def test_runs_of_programs_become_an_adapter_and_a_kill_loses_no_more_than_a_checkpoint_interval(
    evolve: Evolve, tmp_path: Path, model: Path, server: AdapterServer, start_trainer: Callable[[], Any]
) -> None:
    words = ("--method", "sft", "--model", str(model), "--served", server.url, "--steps", str(STEPS), *SMALL)
    job = submit(evolve, *words, "--test-problems", "6", "--promote")
    log = tmp_path / "training" / job / "training" / "log.jsonl"

    def done() -> int:
        return len(log.read_text().splitlines()) if log.exists() else 0

    trainer = start_trainer()
    until(lambda: done() > SAVE_EVERY or job_of(evolve, job).error)
    (backend,) = children_of(trainer.pid)
    os.kill(trainer.pid, signal.SIGKILL)
    trainer.wait()
    until(lambda: not alive(backend))
    lost = done()
    start_trainer()
    events = events_of(evolve, job)
    assert events[-1]["kind"] == "training.succeeded", events[-1]
    first, second = (event["payload"]["checkpoint"] for event in events if event["kind"] == "training.started")
    assert (first, second["stage"]) == ({}, "update")
    assert lost - SAVE_EVERY <= second["step"] <= lost
    steps = [event["payload"] for event in events if event["kind"] == "training.progress"]
    assert (steps[-1]["stage"], steps[-1]["steps"]) == ("sft", STEPS)
    # On a busy machine all steps may be done before the kill. Then the second start finds them, and tells none.
    assert max(steps[-1]["step"], second["step"]) == STEPS
    assert 0 < steps[-1]["figures"]["loss"] < 20
    assert [json.loads(line)["step"] for line in log.read_text().splitlines()] == list(range(1, STEPS + 1))
    assert (events[-1]["payload"]["version"], events[-1]["payload"]["promoted"]) == (1, True)
    assert next(iter(server.adapters)).startswith("writer-")

    (version,) = evolve.lines("policy", "show", "writer@1", "--json")
    trained = version["training"]
    assert (trained["backend"], trained["method"], len(trained["runs"])) == ("trl", "sft", 1)
    assert all(name.startswith(("parent ", "problem point ")) for name in trained["problems"])
    assert version["base"] == str(model)
    assert not (tmp_path / "training" / job / "runs").exists()

    again = submit(evolve, *words, "--test-problems", "6", "--promote")
    told = events_of(evolve, again)[-1]
    assert told["kind"] == "training.succeeded", told
    (evaluation,) = evolve.lines("policy", "show", "writer@2", "--json")[0]["evaluations"]
    assert (evaluation["metric"], len(evaluation["problems"])) == ("set reward", 6)
    assert not set(evaluation["problems"]) & set(trained["problems"])
    # A model of random letters writes no program, before and after.
    assert "must lie above 0" in told["payload"]["refusal"]
    assert len(server.adapters) == 1


def test_a_job_of_an_adapter_is_cancelled_and_resumed_from_its_checkpoint(
    evolve: Evolve, model: Path, server: AdapterServer, start_trainer: Callable[[], Any]
) -> None:
    words = ("--method", "sft", "--model", str(model), "--served", server.url, "--steps", "400", *SMALL)
    job = submit(evolve, *words, "--test-problems", "0")
    start_trainer()
    until(lambda: job_of(evolve, job).checkpoint)
    evolve.call("training", "cancel", job)
    assert events_of(evolve, job)[-1]["kind"] == "training.cancelled"
    evolve.call("training", "resume", job)
    until(lambda: job_of(evolve, job).state == "running")
    evolve.call("training", "cancel", job)
    started = [
        event["payload"]["checkpoint"] for event in events_of(evolve, job) if event["kind"] == "training.started"
    ]
    assert started[-1]["step"] >= SAVE_EVERY
