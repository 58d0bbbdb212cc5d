"""`evolve db snapshot`, and snapshots from one command to the next."""

from pathlib import Path

import pytest

from service.bootstrap.storage import open_storage
from service.config import load_settings
from service.ports import StoredSnapshot
from tests.unit.cli.conftest import Evolve
from tests.unit.cli.recording import sqlite_url


@pytest.fixture
def url(home: Path) -> str:
    return sqlite_url(home / "runs.db")


@pytest.fixture
def folder(evolve: Evolve, home: Path) -> Path:
    folder = home / "mine"
    evolve("problem", "init", str(folder))
    return folder


def test_a_run_of_one_command_is_continued_by_the_next_from_its_snapshot(
    evolve: Evolve, url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.runner.run_snapshots.MIN_EVENTS", 10)
    assert evolve("run", str(folder), "--evaluations", "12", "--db", url, "--policy", "syntax").code == 0
    told = evolve("db", "snapshot", "last", "--db", url)
    assert told.code == 0, told.out
    assert "equals a replay" in told.out
    again = evolve("run", str(folder), "--resume", "last", "--evaluations", "16", "--db", url)
    assert again.code == 0
    assert "snapshot.ignored" not in again.err
    (found,) = evolve("db", "snapshot", "last", "--db", url, "--json").lines
    assert (found["ignored"], found["differences"]) == ("", [])
    assert found["size"] > 0


def test_a_snapshot_that_does_not_fit_is_told_and_can_be_removed(
    evolve: Evolve, url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.runner.run_snapshots.MIN_EVENTS", 10)
    assert evolve("run", str(folder), "--evaluations", "12", "--db", url, "--policy", "syntax").code == 0
    with open_storage(load_settings(), url) as storage:
        (run,) = storage.reader.runs(limit=1)
        stored = storage.snapshots.load(run.id)
        assert stored is not None
        storage.snapshots.save(run.id, StoredSnapshot(sequence=stored.sequence, content=stored.content[:-1] + b"x"))
    told = evolve("db", "snapshot", "last", "--db", url)
    assert told.code == 1
    assert "its content is damaged" in told.out
    assert evolve("db", "snapshot", "last", "--remove", "--db", url).code == 0
    gone = evolve("db", "snapshot", "last", "--db", url)
    assert gone.code == 3
    assert "has no snapshot" in gone.err
