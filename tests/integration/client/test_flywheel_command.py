"""Flywheels: rounds of search, training, gate and promotion, with kill -9 in each phase, and with a service."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from service.bootstrap.storage import open_storage
from service.bootstrap.trainers import make_trainer
from service.config import DatabaseSettings, Settings
from tests.e2e.evolving import Evolve, EvolveHere, make_problem
from tests.fakes.counting_flywheel import EVALUATIONS, PROBLEMS, ROUNDS, WALKER, WalkingBackend
from tests.integration.client.served import Service
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).parents[3]
PROBLEM = 'schema = 1\nname = "maze"\n[domain]\nname = "maze"\nkind = "small"\nsplit = "questions"\nnumber = 7\n'
WORDS = ("--policy", "walker", "--problems", str(PROBLEMS), "--evaluations", str(EVALUATIONS), "--test-problems", "8")


class Place:
    """A flywheel in processes of its own that can be killed."""

    def __init__(self, home: Path) -> None:
        self.evolve, self.family, self.folder = EvolveHere(home), home / "maze", home / "training"
        self.family.mkdir()
        (self.family / "problem.toml").write_text(PROBLEM)
        self.evolve.call("policy", "add", "walker", str(WALKER))
        self.evolve.call("policy", "promote", "walker@1")

    def start(self, seconds: float = 0.0, gain: float = 0.1) -> "subprocess.Popen[str]":
        words = [self.evolve.url, str(self.family), str(self.folder), str(seconds), str(gain)]
        environment = self.evolve.environment | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            [sys.executable, "-m", "tests.fakes.counting_flywheel", *words],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def lines(self, *words: str) -> list[dict[str, Any]]:
        return self.evolve.lines(*words, "--json")

    def rounds(self) -> list[dict[str, Any]]:
        found = self.evolve.said("flywheel", "show", "mazes", "--json")
        return [] if found.code else found.lines

    def kill_when(self, found: Callable[[], Any], **words: float) -> None:
        """Start it, and kill it as soon as something is so."""
        process = self.start(**words)
        end = time.monotonic() + PATIENCE_SECONDS
        while not found():
            assert time.monotonic() < end
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_flywheel_that_is_killed_in_each_phase_does_every_round_once(place: Place) -> None:
    slow = {"seconds": 0.1}
    place.kill_when(lambda: place.evolve.said("runs", "--json").lines, **slow)
    searching = place.rounds()
    assert [(found["number"], found["phase"], found["job"]) for found in searching] == [(1, "search", "")]
    place.kill_when(lambda: any(job["checkpoint"] for job in place.lines("training", "list")), **slow)
    (training,) = place.rounds()
    assert (training["phase"], training["batch"], training["ended"]) == ("train", searching[0]["batch"], PROBLEMS)
    # Between a version and the next round.
    place.kill_when(lambda: len(place.rounds()) == 2, **slow)
    process = place.start()
    said = process.communicate(timeout=PATIENCE_SECONDS)[0]
    assert process.returncode == 0, said

    rounds = place.rounds()
    assert [(found["number"], found["phase"], found["policy"]) for found in rounds] == [
        (1, "done", "walker@1"),
        (2, "done", "walker@2"),
    ]
    assert [(found["version"], found["promoted"]) for found in rounds] == [(2, True), (3, True)]
    assert rounds[0]["batch"] == searching[0]["batch"]
    assert rounds[0]["job"] == training["job"]
    assert [share["evaluations"] for share in rounds[1]["shares"]] == [EVALUATIONS // 2, EVALUATIONS]
    assert len(place.lines("batches")) == len(place.lines("training", "list")) == ROUNDS
    runs = place.lines("runs")
    assert {run["state"] for run in runs} == {"succeeded"}
    assert sorted(run["problem_name"] for run in runs) == ["maze-10", "maze-7", "maze-8", "maze-9"]
    learnt = {job["version"]: set(job["runs"]) for job in place.lines("training", "list")}
    assert learnt[2] < learnt[3] == {run["run_id"] for run in runs}

    again = place.start().communicate(timeout=PATIENCE_SECONDS)[0]
    assert "searching" not in again
    assert place.rounds() == rounds


def test_a_version_that_the_gate_refuses_is_not_searched_with(place: Place) -> None:
    process = place.start(gain=-0.1)
    said = process.communicate(timeout=PATIENCE_SECONDS)[0]
    assert process.returncode == 0, said
    rounds = place.rounds()
    assert [(found["policy"], found["promoted"]) for found in rounds] == [("walker@1", False), ("walker@1", False)]
    assert all("must lie above 0" in found["refusal"] for found in rounds)
    table = place.evolve.call("flywheel", "show", "mazes")
    assert "@2, not promoted" in table
    assert f"solved at {EVALUATIONS}" in table
    assert [found["flywheel"] for found in place.lines("flywheel", "list")] == ["mazes"]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    made.start()
    yield made
    made.stop()


def test_a_flywheel_runs_with_a_service_and_its_trainer(service: Service, tmp_path: Path) -> None:
    place, words = Place(tmp_path), service.words()
    settings = Settings(database=DatabaseSettings(url=SecretStr(place.evolve.url)))
    with open_storage(settings) as storage:
        backends = {"maze": WalkingBackend()}
        trainer = make_trainer(settings, storage, folder=tmp_path / "training", backends=backends)
        thread = threading.Thread(target=trainer.run)
        thread.start()
        try:
            rounds = ("--rounds", "2", "--steps", "10", "--allow-training")
            said = service.evolve.said("flywheel", "run", "mazes", str(place.family), *WORDS, *rounds, *words)
        finally:
            trainer.leave()
            thread.join()
    assert said.code == 0, said.err
    assert "round 2: training walker" in said.err
    shown = [
        json.loads(line) for line in service.evolve.call("flywheel", "show", "mazes", "--json", *words).splitlines()
    ]
    assert [(found["policy"], found["version"]) for found in shown] == [("walker@1", 2), ("walker@2", 3)]
    permissions = service.evolve.call("training", "permissions", "--json", *words).splitlines()
    assert len(permissions) == 2 * PROBLEMS
    refused = service.evolve.said(
        "flywheel", "run", "b", str(place.family), *WORDS, "--allow-training", "--threads", "2", *words
    )
    assert (refused.code, "leave it out with a service" in refused.err) == (2, True)


def test_a_flywheel_needs_a_promoted_version_a_permission_a_family_and_the_words_that_it_began_with(
    tmp_path: Path,
) -> None:
    evolve = Evolve(tmp_path)
    family = tmp_path / "maze"
    family.mkdir()
    (family / "problem.toml").write_text(PROBLEM)
    single = make_problem(tmp_path / "toy")

    def said(*words: str) -> tuple[int, str]:
        found = evolve.said("flywheel", *words)
        assert "Traceback" not in found.err
        return found.code, found.err

    code, text = said("run", "mazes", str(single), *WORDS)
    assert (code, "is a single problem" in text) == (2, True)
    code, text = said("run", "mazes", str(family), *WORDS)
    assert (code, "there is no policy 'walker'" in text) == (3, True)
    evolve.call("policy", "add", "walker", str(WALKER))
    code, text = said("run", "mazes", str(family), *WORDS)
    assert (code, "has no promoted version" in text) == (2, True)
    evolve.call("policy", "promote", "walker@1")
    code, text = said("run", "mazes", str(family), *WORDS)
    assert (code, "--allow-training" in text) == (4, True)
    code, text = said("show", "mazes")
    assert (code, "there is no flywheel 'mazes'" in text) == (3, True)
    code, text = said("list")
    assert (code, "there is no flywheel yet" in text) == (0, True)


def test_other_words_than_the_first_are_refused(place: Place) -> None:
    place.kill_when(lambda: place.evolve.said("runs", "--json").lines)
    words = ("flywheel", "run", "mazes", str(place.family), "--policy", "walker", "--allow-training")
    other = place.evolve.said(*words, "--problems", "3", "--evaluations", str(EVALUATIONS))
    assert (other.code, "was begun with problems 2, not 3" in other.err) == (5, True), other.err
