"""Runs with extensions over a real database: what they use is recorded; a mistake ends the run and loses nothing."""

from pathlib import Path
from typing import Any

import pytest

from evolve.configuration import ArchiveConfig, DeterministicConfig
from evolve.errors import MissingExtensionError
from evolve.events import EventKind
from service.config import ExtensionsSettings
from service.db.engine import Database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.errors import RefusedError
from service.runner.desired_state import RunOrders
from service.usecases.extensions import refuse_missing, refuse_run
from tests.contract.story import RUN
from tests.fakes.plugin import MODULE, NAME, VERSION, install, uninstall
from tests.integration.runner.scene import Notes, job, play

FAILING = f"{MODULE}:Failing"


@pytest.fixture
def reader(database: Database) -> SqlRunReader:
    return SqlRunReader(database)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)


@pytest.mark.usefixtures("package")
def test_a_run_records_what_it_uses_and_repeats_when_it_is_resumed(log: SqlRunLog, reader: SqlRunReader) -> None:
    words: dict[str, Any] = {
        "strategy": "hill_climber",
        "archive": ArchiveConfig(kind="newest", size=5),
        "deterministic": DeterministicConfig(window=4),
    }
    notes = Notes()
    orders = RunOrders()

    def leave(events: object) -> None:
        if len(notes.events) > 10:
            orders.leave()

    notes.react = leave
    assert play(job(log, evaluations=300, **words), notes, orders).state == "running"
    assert play(job(log, evaluations=300, **words), notes).state == "succeeded"
    started, resumed = (
        [logged.event.payload for logged in notes.events if logged.event.kind is kind]
        for kind in (EventKind.RUN_STARTED, EventKind.RUN_RESUMED)
    )
    assert [started[0]["extensions"]] == [one["extensions"] for one in resumed]
    assert [(one["kind"], one["name"], one["package"], one["version"]) for one in started[0]["extensions"]] == [
        ("strategy", "hill_climber", NAME, VERSION),
        ("archive", "newest", NAME, VERSION),
    ]
    assert reader.run(RUN).counters.evaluations == 300


@pytest.mark.usefixtures("package")
def test_an_extension_that_fails_ends_the_run_and_all_before_is_stored(log: SqlRunLog, reader: SqlRunReader) -> None:
    notes = Notes()
    status = play(job(log, selection={FAILING: 1.0}), notes)
    assert (status.state, status.reason) == ("failed", "extension_failed")
    stored = [logged.event for logged in log.events(RUN)]
    assert stored[1:] == [logged.event for logged in notes.events]
    detail = stored[-1].payload["detail"]
    assert detail == f"the selection {FAILING} failed: ValueError: no luck today"
    assert sum(event.kind is EventKind.PROPOSAL_CREATED for event in stored) == 5
    run = reader.run(RUN)
    assert (run.state, run.reason, run.best_fitness) == ("failed", "extension_failed", stored[-1].payload["fitness"])
    assert run.counters.evaluations >= 1


@pytest.mark.usefixtures("package")
def test_a_run_without_its_package_is_refused_with_its_name(
    log: SqlRunLog, reader: SqlRunReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(job(log, selection={"greedy": 1.0}), Notes())
    refuse_missing(reader.run(RUN), log)
    uninstall(monkeypatch)
    with pytest.raises(MissingExtensionError) as caught:
        refuse_missing(reader.run(RUN), log)
    assert str(caught.value) == (
        f"{RUN} uses the selection greedy of {NAME} {VERSION}, which is not installed here: install {NAME} and resume"
        " it again"
    )


@pytest.mark.usefixtures("package")
def test_a_submitted_run_is_not_driven_with_what_is_no_longer_allowed(log: SqlRunLog) -> None:
    config = job(log, selection={"greedy": 1.0, "uniform": 1.0}).config
    refuse_run(config, ExtensionsSettings(allow=("greedy",)))
    with pytest.raises(RefusedError, match=r"the selection 'greedy' is not allowed: .* extensions\.allow"):
        refuse_run(config, ExtensionsSettings())
