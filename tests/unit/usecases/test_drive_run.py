"""A run is opened and driven to its end in memory, continued, and left paused where somebody wanted it to go on."""

from pathlib import Path
from typing import Any

import pytest

from evolve.events import EventKind
from service.config import SandboxSettings
from service.errors import ConflictError, UsageError
from service.ports import PAUSED, RUNNING
from service.process.identity import this_process
from service.runner.desired_state import RunOrders
from service.runner.run_loop import drive
from service.usecases.control_runs import COMMAND_LINE
from service.usecases.drive_run import OpenedRun, check_folder, open_run
from service.usecases.plan import RunOrder
from service.usecases.run_jobs import StoredJobs
from tests.integration.runner.scene import Notes
from tests.unit.usecases.conftest import Installation

EVALUATIONS = 10


def opening(installation: Installation, order: RunOrder) -> Any:
    return open_run(order, installation.storage, installation.policies, installation.evaluators)


def new(folder: Path) -> RunOrder:
    return RunOrder(problem=folder, flags={"budget.evaluations": EVALUATIONS, "islands": 1})


async def driven(opened: OpenedRun) -> str:
    return (await drive(opened.job, observer=Notes(), orders=RunOrders())).state


async def test_a_run_is_driven_to_its_end(installation: Installation, folder: Path) -> None:
    async with opening(installation, new(folder)) as opened:
        assert (opened.resumed, opened.isolation, opened.critic) == (False, "strong", "")
        assert await driven(opened) == "succeeded"
    run = installation.storage.reader.run(opened.job.run_id)
    assert (run.state, run.reason, run.created_by) == ("succeeded", "evaluations", COMMAND_LINE)
    assert run.counters.evaluations == len(installation.evaluators.evaluator.scored) == EVALUATIONS
    # The seed returns 1 and each answer one more than the answer before it, of a gain between 0 and 10.
    assert run.best_fitness == pytest.approx(EVALUATIONS)


async def test_the_run_is_this_processes_before_it_is_driven(installation: Installation, folder: Path) -> None:
    installation.evaluators.warnings = ("isolation is weak",)
    async with opening(installation, new(folder)) as opened:
        assert opened.warnings == ("isolation is weak",)
        (run,) = installation.storage.runs.values()
        assert run.owner == this_process()
        assert installation.storage.claims().claim("a runner elsewhere", 12.0, []) is None


async def test_what_cannot_be_opened_is_not_stored(installation: Installation, folder: Path) -> None:
    with pytest.raises(UsageError, match="name a problem folder, or a run to continue"):
        async with opening(installation, RunOrder()):
            pytest.fail("it was opened")
    assert installation.storage.runs == {}


async def test_a_run_that_was_left_goes_on_where_it_stands(installation: Installation, folder: Path) -> None:
    orders = RunOrders()

    def pause_at(scored: int) -> None:
        if scored == 3:
            orders.pause(this_process())

    installation.evaluators.evaluator.react = pause_at
    async with opening(installation, new(folder)) as opened:
        assert (await drive(opened.job, observer=Notes(), orders=orders)).state == PAUSED
    assert installation.storage.reader.run(opened.job.run_id).counters.evaluations < EVALUATIONS
    run_id = opened.job.run_id
    async with opening(installation, RunOrder(resume=run_id)) as again:
        assert again.resumed
        assert await driven(again) == "succeeded"
    kinds = [logged.event.kind for logged in installation.storage.log.events(run_id)]
    assert (kinds.count(EventKind.RUN_STARTED), kinds.count(EventKind.RUN_RESUMED)) == (1, 1)
    assert installation.storage.reader.run(run_id).counters.evaluations == EVALUATIONS


async def test_a_run_that_has_ended_is_refused(installation: Installation, folder: Path) -> None:
    async with opening(installation, new(folder)) as opened:
        await driven(opened)
    with pytest.raises(ConflictError):
        async with opening(installation, RunOrder(resume=opened.job.run_id)):
            pytest.fail("it was opened")


async def test_rest_keeps_a_run_paused_that_somebody_wanted_running(installation: Installation, folder: Path) -> None:
    async with opening(installation, new(folder)) as opened:
        run_id = opened.job.run_id
        opened.rest()
        assert installation.storage.reader.run(run_id).desired_state == RUNNING  # nobody wanted anything
        installation.storage.intents("default").want(run_id, RUNNING, "ada")
        opened.rest()
        intent = opened.wanted()
        assert intent is not None
        assert (intent.desired_state, intent.by) == (PAUSED, COMMAND_LINE)


async def test_a_runner_drives_what_was_submitted(installation: Installation) -> None:
    run = installation.submitted()
    warned: list[str] = []
    installation.evaluators.warnings = ("isolation is weak",)
    jobs = StoredJobs(
        installation.storage,
        installation.policies,
        installation.evaluators,
        installation.settings.extensions,
        slots=3,
        warn=warned.extend,
    )
    async with jobs.open(run) as job:
        assert (job.run_id, job.owner) == (run.id, this_process())
    (request,) = installation.evaluators.requests
    assert (request.slots, request.others) == (3, True)
    assert warned == ["isolation is weak"]


async def test_a_folder_is_checked_without_a_run(installation: Installation, folder: Path) -> None:
    report = await check_folder(SandboxSettings(), folder, installation.evaluators)
    assert report.ok
    assert [seed.evaluation.scores for seed in report.seeds] == [{"gain": 1.0}]
    assert installation.storage.runs == {}
