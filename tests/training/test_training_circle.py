"""The circle from a version to a better one, with the commands of the how-to and real training.

A version is registered and searched with. A job trains another, and its trainer is killed in the middle. The gate
decides on held-out mazes, and runs use the result.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evolve.domains.maze import KINDS, maze_of, mazes, render
from service.trainer.held_out_mazes import held_out_mazes, maze_name
from tests.e2e.evolving import Evolve, children_of
from tests.integration.test_trainer import alive
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    import subprocess

pytestmark = pytest.mark.training

ROOT = Path(__file__).parents[2]
BASE, EXAMPLE = ROOT / "models" / "maze-base", ROOT / "examples" / "maze"
STEPS, SAVE_EVERY, TESTED = 18, 6, 12
JOB = ("--method", "vector_max_at_k", "--k", "4", "--steps", str(STEPS), "--kinds", "small", "--seed", "5")


@pytest.fixture
def evolve(tmp_path: Path) -> Evolve:
    found = Evolve(tmp_path)
    found.environment["OMP_NUM_THREADS"] = "1"
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


def until(found: Callable[[], Any]) -> None:
    end = time.monotonic() + 4 * PATIENCE_SECONDS
    while not found():
        assert time.monotonic() < end
        time.sleep(0.1)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def policies_of(evolve: Evolve) -> set[str]:
    """The policies that the proposals of the newest run name."""
    events = evolve.lines("export", "last", "--format", "events")
    return {event["policy"] for event in events if event["kind"] == "proposal.created"}


def watched(evolve: Evolve, job: str) -> list[dict[str, Any]]:
    """The events of a job until it has succeeded."""
    found = evolve.said("training", "watch", job, "--json")
    assert found.code == 0, f"{found.out[-1000:]}{found.err}"
    return [json.loads(line) for line in found.out.splitlines()]


def test_a_version_is_trained_gated_and_searched_with(
    evolve: Evolve, tmp_path: Path, start_trainer: Callable[[], "subprocess.Popen[str]"]
) -> None:
    evolve.call("policy", "add", "walker", str(BASE))
    evolve.call("policy", "promote", "walker@1")
    evolve.call("run", str(EXAMPLE), "--policy", "walker", "--evaluations", "8")
    assert policies_of(evolve) == {"walker@1"}

    job = evolve.json(
        "training", "submit", "walker", "--base", "walker", *JOB, "--test-problems", str(TESTED), "--promote"
    )
    journal = tmp_path / "training" / job["id"] / "training" / "journal.jsonl"
    trainer = start_trainer()
    until(lambda: len(lines_of(journal)) >= SAVE_EVERY + 2)
    (backend,) = children_of(trainer.pid)
    os.kill(trainer.pid, signal.SIGKILL)
    trainer.wait()
    until(lambda: not alive(backend))
    done = len(lines_of(journal))
    assert SAVE_EVERY < done < STEPS

    trainer = start_trainer()
    events = watched(evolve, job["id"])
    first, second = (event["payload"]["checkpoint"] for event in events if event["kind"] == "training.started")
    assert (first, second["stage"]) == ({}, "reinforce")
    assert done - SAVE_EVERY < second["step"] <= done
    assert [row["step"] for row in lines_of(journal)] == list(range(1, STEPS + 1))

    told = events[-1]["payload"]
    assert (events[-1]["kind"], told["version"]) == ("training.succeeded", 2)
    (version,) = evolve.lines("policy", "show", "walker@2", "--json")
    (evaluation,) = version["evaluations"]
    assert evaluation["problems"] == [maze_name(render(maze)) for maze in mazes(next(iter(KINDS)), "test", TESTED)]
    seen = {maze_name(render(maze_of("small", "train", number))) for number in range(500)}
    assert not seen & set(evaluation["problems"])
    assert all(0 < value < 1 for value in (*evaluation["values"], *evaluation["baseline"]))
    better = evaluation["low"] > 0
    assert (told["promoted"], version["state"]) == (better, "promoted" if better else "candidate")
    assert ("must lie above 0" in told.get("refusal", "")) is not better

    evolve.call("training", "allow", "last")
    evolve.call("run", str(EXAMPLE), "--policy", "walker@2", "--evaluations", "8")
    assert policies_of(evolve) == {"walker@2"}
    again = evolve.json(
        "training",
        "submit",
        "walker",
        "--base",
        "walker@2",
        "--problem",
        "maze",
        *JOB[:4],
        "--steps",
        "2",
        "--test-problems",
        "8",
    )
    assert watched(evolve, again["id"])[-1]["payload"]["version"] == 3
    trained = evolve.lines("policy", "show", "walker@3", "--json")[0]["training"]
    assert trained["problems"] == [maze_name(render(maze_of("hard", "questions", 0)))]
    (gate,) = evolve.lines("policy", "show", "walker@3", "--json")[0]["evaluations"]
    assert gate["problems"] == [maze_name(render(maze)) for maze in held_out_mazes(["hard"], 8, ())]
    assert "8 mazes of the split `test`, kinds: hard" in evolve.lines("policy", "show", "walker@3", "--json")[0]["card"]
    assert len(trained["runs"]) == 1
    trainer.terminate()
    assert trainer.wait(PATIENCE_SECONDS) == 0
