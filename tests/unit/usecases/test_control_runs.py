"""Runs in memory are paused, cancelled, extended, forked and deleted."""

import pytest

from evolve.events import EventKind
from service.errors import ConflictError, NotFoundError
from service.ports import CANCELLED, PAUSED, RUNNING, RunRecord
from service.usecases.control_runs import COMMAND_LINE, StoredControl
from tests.contract.story import Story
from tests.unit.usecases.conftest import TENANT, Installation


@pytest.fixture
def run(installation: Installation) -> RunRecord:
    return installation.submitted()


@pytest.fixture
def control(installation: Installation) -> StoredControl:
    return StoredControl(installation.storage, installation.submissions)


@pytest.mark.parametrize(("wanted", "told"), [(PAUSED, EventKind.RUN_PAUSED), (CANCELLED, EventKind.RUN_CANCELLED)])
def test_what_nobody_drives_is_settled_at_once(
    installation: Installation, control: StoredControl, run: RunRecord, wanted: str, told: EventKind
) -> None:
    assert control.want(run, wanted).state == wanted
    kinds = [logged.event.kind for logged in installation.storage.log.events(run.id)]
    assert kinds == [EventKind.RUN_CREATED, told]


def test_what_somebody_drives_is_left_to_them(
    installation: Installation, control: StoredControl, run: RunRecord
) -> None:
    installation.storage.log.take(run.id, "a runner elsewhere", 60.0)
    now = control.want(run, PAUSED)
    assert (now.state, now.desired_state) == ("queued", PAUSED)
    intent = installation.storage.claims().wanted([run.id])[run.id]
    assert (intent.desired_state, intent.by) == (PAUSED, COMMAND_LINE)


def test_a_cancelled_run_cannot_be_wanted_running(control: StoredControl, run: RunRecord) -> None:
    with pytest.raises(ConflictError, match="it is cancelled"):
        control.want(control.want(run, CANCELLED), RUNNING)


def test_a_larger_budget_waits_for_the_runner(control: StoredControl, run: RunRecord) -> None:
    assert control.extend(run, {"evaluations": 500}).desired_budget == {"evaluations": 500}


def test_a_fork_starts_from_the_program_of_a_candidate(
    installation: Installation, control: StoredControl, run: RunRecord
) -> None:
    story, log = Story(run.id), installation.storage.log
    candidate = story.create(1)
    fence = log.take(run.id, "somebody", 60.0)
    log.append(run.id, fence, [candidate])
    log.release(run.id, fence)
    assert candidate.event.subject is not None
    fork = control.fork(run, story.id(1), {"budget": {"evaluations": 7}}, {"name": "again"})
    assert (fork.fork_of, fork.labels, fork.created_by) == (story.id(1), {"name": "again"}, COMMAND_LINE)
    assert fork.config["budget"]["evaluations"] == 7
    assert len(installation.storage.readers.of(TENANT).runs()) == 2


def test_no_policy_is_read_before_something_is_submitted(installation: Installation, run: RunRecord) -> None:
    def submissions() -> None:
        pytest.fail("the policies of the operator are read")

    control = StoredControl(installation.storage, submissions)  # type: ignore[arg-type] # it is not called
    control.extend(run, {"evaluations": 500})
    control.delete(control.want(run, PAUSED))


def test_a_deleted_run_is_gone_with_its_rows(
    installation: Installation, control: StoredControl, run: RunRecord
) -> None:
    fence = installation.storage.log.take(run.id, "a runner elsewhere", 60.0)
    with pytest.raises(ConflictError, match="held by a runner"):
        control.delete(run)
    installation.storage.log.release(run.id, fence)
    control.delete(control.want(run, PAUSED))
    assert installation.storage.runs == {}
    with pytest.raises(NotFoundError):
        control.want(run, RUNNING)
