"""A long run is saved for its pages when it has ended, whoever drove it: a command, or a runner."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import pytest

from service.config import Settings
from service.db.engine import open_database
from service.db.storage import SqlStorage
from service.ports import LoggedEvent, RunRequest, Upload
from service.projections import saved_columns
from service.projections.array_codec import decode
from service.projections.columns import Columns
from service.projections.saved_columns import SAVED_FORM
from service.runner.desired_state import RunOrders
from service.runner.run_loop import drive
from service.runner.status import RunStatus
from service.usecases.drive_run import open_run
from service.usecases.plan import RunOrder
from service.usecases.run_jobs import StoredJobs
from service.usecases.submit_run import BundledSubmissions
from tests.databases import sqlite_file
from tests.fakes.evaluators import FakeEvaluators, FakePolicies
from tests.unit.usecases.conftest import FILES

EVALUATIONS = 10


class Unwatched:
    """The port RunObserver, where nobody watches."""

    def committed(self, events: Sequence[LoggedEvent], status: RunStatus) -> None:
        """Nothing is shown."""


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[SqlStorage]:
    address = sqlite_file(tmp_path / "evolve.db")
    database = open_database(address)
    yield SqlStorage(database, address)
    database.close()


def saved(storage: SqlStorage, run_id: str) -> int:
    """How many evaluations of a run are saved; -1: it is not saved."""
    content = storage.columns.load(run_id, SAVED_FORM)
    return -1 if content is None else len(Columns.restored(storage.reader.run(run_id), decode(content)))


async def by_command(storage: SqlStorage, folder: Path) -> str:
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    order = RunOrder(problem=folder, flags={"budget.evaluations": EVALUATIONS, "islands": 1})
    async with open_run(order, storage, FakePolicies(), FakeEvaluators()) as opened:
        await drive(opened.job, observer=Unwatched(), orders=RunOrders())
        assert saved(storage, opened.job.run_id) == -1
    return opened.job.run_id


async def by_runner(storage: SqlStorage, _: Path) -> str:
    settings, evaluators = Settings(), FakeEvaluators()
    submissions = BundledSubmissions(settings, storage, evaluators)
    problem = storage.problems.add(submissions.read_problem(Upload(name="", files=FILES)))
    config = {"budget": {"evaluations": EVALUATIONS}, "islands": 1}
    run = submissions.submit("default", RunRequest(problem=problem.id, config=config), "laptop")
    async with StoredJobs(storage, FakePolicies(), evaluators, settings.extensions).open(run) as job:
        await drive(job, observer=Unwatched(), orders=RunOrders())
    return run.id


@pytest.mark.parametrize("driven", [by_command, by_runner])
@pytest.mark.parametrize(("least", "expected"), [(2, EVALUATIONS), (EVALUATIONS + 1, -1)])
async def test_a_long_run_is_saved_when_it_has_ended(
    storage: SqlStorage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    driven: Callable[[SqlStorage, Path], Awaitable[str]],
    least: int,
    expected: int,
) -> None:
    monkeypatch.setattr(saved_columns, "MIN_NEW", least)
    folder = tmp_path / "problem"
    folder.mkdir()
    assert saved(storage, await driven(storage, folder)) == expected
