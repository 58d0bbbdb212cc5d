"""Runs that train their policy within them, with real processes: replay, kill -9 anywhere, failures and refusals.

A trainer without torch makes the versions. The training itself is tested in tests/training.
"""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.evolving import Evolve
from tests.e2e.learning import (
    ROOT,
    StartTrainer,
    asked,
    begun,
    candidates,
    end_with_a_killed_trainer,
    trainers,
    until,
    updates,
)
from tests.patience import PATIENCE_SECONDS

RUN = (
    "run", str(ROOT / "examples" / "maze"), "--policy", "bundled:maze-base", "--evaluations", "56",
    "--set", "answers=1", "--set", "samples=4", "--set", "learning.every=3", "--set", "learning.updates=2",
    "--set", "deterministic.window=2",
)  # fmt: skip


@pytest.fixture
def evolve(tmp_path: Path) -> Evolve:
    found = Evolve(tmp_path)
    found.environment["OMP_NUM_THREADS"] = "1"
    return found


@pytest.fixture
def start_trainer(evolve: Evolve, tmp_path: Path) -> Iterator[StartTrainer]:
    with trainers(evolve, tmp_path) as start:
        yield start


def test_a_run_asks_the_versions_that_it_trained(evolve: Evolve, tmp_path: Path, start_trainer: StartTrainer) -> None:
    start_trainer()
    evolve.call(*RUN)
    first, second = updates(evolve)
    name = first["policy"].partition("@")[0]
    assert (first["number"], first["policy"], first["base"]) == (1, f"{name}@2", "bundled:maze-base")
    assert (second["number"], second["policy"], second["base"]) == (2, f"{name}@3", f"{name}@2")
    assert asked(evolve) == {"bundled:maze-base", f"{name}@2", f"{name}@3"}

    versions = {number: evolve.json("policy", "show", f"{name}@{number}") for number in (2, 3)}
    assert [versions[number]["bundle_hash"] for number in (2, 3)] == [first["model"], second["model"]]
    assert (versions[2]["base"], versions[3]["base"]) == (f"{name}@1", f"{name}@2")
    assert versions[3]["training"]["update"] == 2

    records = [
        json.loads(line) for line in (tmp_path / "jobs" / second["job"] / "records.jsonl").read_text().splitlines()
    ]
    assert max(record["number"] for record in records) == second["through"]
    own = [record for record in records if record["policy"] == f"{name}@2"]
    assert all(record["asked"]["answers"] == 1 and record["completions"] for record in own)

    shown = evolve.call("show", "last")
    assert f"{name}@3 from" in shown
    assert [one["policy"] for one in evolve.json("show", "last")["updates"]] == [f"{name}@2", f"{name}@3"]
    found = candidates(evolve)
    evolve.call(*RUN)
    assert candidates(evolve) == found


def test_updates_after_each_answer_wait_for_something_to_learn_from(
    evolve: Evolve, start_trainer: StartTrainer
) -> None:
    start_trainer()
    evolve.call(*RUN, "--set", "learning.every=1", "--set", "deterministic.window=6")
    found = updates(evolve)
    assert [(update["number"], update.get("reason", "")) for update in found] == [(1, ""), (2, "")]
    assert found[0]["through"] < found[1]["through"]


def test_a_run_killed_within_an_update_continues_as_if_it_had_not_been(
    evolve: Evolve, tmp_path: Path, start_trainer: StartTrainer
) -> None:
    trainer = start_trainer()
    evolve.call(*RUN)
    found, before = candidates(evolve), len(begun(tmp_path))
    trainer.kill()
    trainer.wait()

    start_trainer(1.5)
    run = evolve.start(*RUN)
    until(lambda: len(begun(tmp_path)) > before)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    evolve.call("run", "--resume", "last")
    assert candidates(evolve) == found
    assert len(updates(evolve)) == 2
    jobs = evolve.lines("training", "list", "--json")
    assert len(jobs) == 4
    assert all(job["state"] == "succeeded" for job in jobs)


def test_a_trainer_killed_within_an_update_costs_the_update_its_time_alone(
    evolve: Evolve, tmp_path: Path, start_trainer: StartTrainer
) -> None:
    end_with_a_killed_trainer(evolve.start(*RUN), tmp_path, start_trainer)
    assert [update["number"] for update in updates(evolve)] == [1, 2]
    assert all(update["policy"] for update in updates(evolve))


def test_a_run_goes_on_without_the_version_of_an_update_that_failed(
    evolve: Evolve, start_trainer: StartTrainer
) -> None:
    start_trainer(0.0, "fail")
    evolve.call(*RUN)
    assert [update.get("policy") for update in updates(evolve)] == [None, None]
    assert all("the disk is full of numbers" in update["reason"] for update in updates(evolve))
    assert asked(evolve) == {"bundled:maze-base"}


def test_a_run_that_nobody_may_train_on_gets_no_versions(evolve: Evolve, start_trainer: StartTrainer) -> None:
    evolve.call("training", "forbid", "--all")
    start_trainer()
    evolve.call(*RUN)
    assert ["may not be trained on" in update["reason"] for update in updates(evolve)] == [True, True]


def test_a_run_in_no_fixed_order_does_not_wait_for_trainers(evolve: Evolve) -> None:
    said = evolve.said(*RUN, "--evaluations", "400", "--set", "deterministic.window=0")
    assert (said.code, "let the run wait for its updates with --set deterministic.window=2" in said.err) == (0, True)
    assert "the run ended before the first was trained" in evolve.call("show", "last")
    assert not updates(evolve)
    (job,) = evolve.lines("training", "list", "--json")
    assert job["state"] == "cancelled"


def test_trainers_are_missed_by_a_run_in_a_fixed_order(evolve: Evolve) -> None:
    run = evolve.start(*RUN, "--json")
    waiting = ""
    assert run.stdout
    for line in run.stdout:
        event = json.loads(line)
        waiting = event.get("reason", "") if event.get("kind") == "run.waiting" else waiting
        if waiting:
            break
    os.kill(run.pid, signal.SIGINT)
    run.communicate(timeout=PATIENCE_SECONDS)
    assert waiting == "an update of the policy waits for a trainer: start one with evolve trainer"
