"""Batches in memory: stored whole or not at all, and steered as one."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from evolve.errors import ConfigurationError
from service.errors import NotFoundError
from service.ports import PAUSED, RUNNING
from service.process.identity import this_process
from service.schemas.batches import BatchCreate
from service.usecases.batches import StoredBatches
from service.usecases.control_runs import COMMAND_LINE
from tests.unit.usecases.conftest import Installation


@pytest.fixture
def batches(installation: Installation) -> StoredBatches:
    return StoredBatches(installation.storage, installation.settings.policies, installation.submissions)


def sweep(problem: str, **more: object) -> BatchCreate:
    return BatchCreate.model_validate({"name": "sweep", "sweep": {"problem": problem, "seeds": [1, 2, 3], **more}})


def test_a_sweep_is_stored_with_its_runs_in_order(
    installation: Installation, batches: StoredBatches, folder: Path
) -> None:
    batch = batches.create(sweep(batches.add_problem(folder)))
    runs = batches.runs(batch.id)
    assert [run.seed for run in runs] == [1, 2, 3]
    assert {run.batch_id for run in runs} == {batch.id}
    assert batch.states == {"queued": 3}
    assert [one.id for one in batches.batches(10)] == [batch.id]
    assert {run.owner for run in installation.storage.runs.values()} == {this_process()}


def test_a_batch_with_a_wrong_key_stores_nothing(
    installation: Installation, batches: StoredBatches, folder: Path
) -> None:
    problem = batches.add_problem(folder)
    body = BatchCreate.model_validate(
        {"name": "b", "runs": [{"problem": problem}, {"problem": problem, "config": {"no_such_key": 1}}]}
    )
    with pytest.raises(ConfigurationError, match="no_such_key"):
        batches.create(body)
    assert (installation.storage.runs, batches.batches(10)) == ({}, [])


def test_a_stored_problem_is_submitted_like_over_the_api(installation: Installation, batches: StoredBatches) -> None:
    installation.problem()
    batch = batches.create(sweep("p"))
    assert [(run.source, run.created_by) for run in batches.runs(batch.id)] == [("api:p@1", COMMAND_LINE)] * 3


def test_a_batch_is_paused_and_resumed_as_one(batches: StoredBatches, folder: Path) -> None:
    batch = batches.create(sweep(batches.add_problem(folder)))
    assert batches.want(batch.id, PAUSED).states == {"paused": 3}
    batches.want(batch.id, RUNNING)
    assert {run.desired_state for run in batches.runs(batch.id)} == {RUNNING}


def test_runs_that_are_reserved_are_claimed_by_nobody_else(
    installation: Installation, batches: StoredBatches, folder: Path
) -> None:
    batch = batches.create(sweep(batches.add_problem(folder)))
    batches.reserve(batch.id)
    assert installation.storage.claims().claim("a runner elsewhere", 12.0, []) is None
    batches.give_back(batch.id)
    claimed = installation.storage.claims().claim("a runner elsewhere", 12.0, [])
    assert claimed is not None
    assert claimed.id == batches.runs(batch.id)[0].id


def test_drivers_are_told_and_nothing_is_settled(
    installation: Installation, batches: StoredBatches, folder: Path
) -> None:
    batch = batches.create(sweep(batches.add_problem(folder)))
    batches.tell_drivers(batch.id, PAUSED)
    assert {(run.state, run.desired_state) for run in batches.runs(batch.id)} == {("queued", PAUSED)}


def test_a_summary_groups_the_runs(batches: StoredBatches, folder: Path) -> None:
    batch = batches.create(sweep(batches.add_problem(folder)))
    (group,) = batches.summary(batch.id[:12]).groups
    assert (group.problem, group.runs, group.ended) == ("p@1", 3, 0)
    with pytest.raises(NotFoundError):
        batches.get("bat_none")


def test_the_runs_of_a_batch_are_created_in_its_order(batches: StoredBatches, folder: Path) -> None:
    batch = batches.create(sweep(batches.add_problem(folder)))
    times = [run.created_at for run in batches.runs(batch.id)]
    assert times == sorted(set(times))
    assert times[0] == datetime(2026, 3, 1, 12, tzinfo=UTC)
