"""The commands `evolve db prune`, `backup` and `restore`, as they are typed."""

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from service.cli.exit_codes import CONFLICT, FAILED, NOT_FOUND, OK, REFUSED, USAGE
from service.cli.main import main
from service.db.engine import open_database
from service.db.models import RunRow
from tests.contract.story import RUN
from tests.integration.maintenance.conftest import rows, tell

AGO = 10
LONG_AGO, LONGER_AGO = str(AGO - 1), str(AGO + 1)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings but those of the test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("EVOLVE_DATABASE__URL", raising=False)


@pytest.fixture
def db(tmp_path: Path) -> str:
    """A database with a run that ended ten days ago."""
    path = tmp_path / "evolve.db"
    database = open_database(str(path))
    tell(database, RUN)
    with database.write() as connection:
        connection.execute(update(RunRow).values(finished_at=datetime.now(UTC) - timedelta(days=AGO)))
    database.close()
    return str(path)


def counted(path: str) -> int:
    database = open_database(path)
    found = rows(database)["runs"]
    database.close()
    return found


class Person(io.StringIO):
    """Somebody at the terminal, who types."""

    def isatty(self) -> bool:
        return True


def test_pruning_wants_to_be_told_how_long_runs_are_kept(
    db: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["db", "prune", "--yes", "--db", db]) == USAGE
    assert "add --older-than DAYS, or set retention.days" in capsys.readouterr().err
    monkeypatch.setenv("EVOLVE_RETENTION__DAYS", LONG_AGO)
    assert main(["db", "prune", "--yes", "--db", db, "--json"]) == OK
    assert json.loads(capsys.readouterr().out)["removed"]["runs"] == 1
    assert counted(db) == 0


@pytest.mark.parametrize("days", ["-1", "soon", "36501"])
def test_days_are_a_number_within_reason(db: str, days: str) -> None:
    assert main(["db", "prune", "--older-than", days, "--yes", "--db", db]) == USAGE
    assert counted(db) == 1


def test_a_dry_run_says_what_would_go_and_keeps_it(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["db", "prune", "--older-than", LONG_AGO, "--dry-run", "--db", db]) == OK
    assert capsys.readouterr().out == "would remove: runs 1, texts 2, programs 2\n"
    assert main(["db", "prune", "--older-than", LONGER_AGO, "--dry-run", "--db", db]) == OK
    assert capsys.readouterr().out == "would remove: nothing\n"
    assert counted(db) == 1


@pytest.mark.parametrize(("typed", "code", "left"), [("y\n", OK, 0), ("n\n", REFUSED, 1), ("", REFUSED, 1)])
def test_a_person_is_asked(
    db: str, typed: str, code: int, left: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Person(typed))
    assert main(["db", "prune", "--older-than", LONG_AGO, "--db", db]) == code
    assert f"remove from sqlite:///{db}: runs 1, texts 2, programs 2? [y/N] " in capsys.readouterr().err
    assert counted(db) == left


def test_where_nobody_can_be_asked_nothing_is_done(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["db", "prune", "--older-than", LONG_AGO, "--db", db]) == REFUSED
    assert "add --yes" in capsys.readouterr().err
    assert counted(db) == 1


def test_a_backup_is_restored(db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, target = str(tmp_path / "b"), str(tmp_path / "restored.db")
    assert main(["keys", "create", "mine", "--db", db]) == OK
    capsys.readouterr()
    assert main(["db", "backup", file, "--db", db, "--json"]) == OK
    said = json.loads(capsys.readouterr().out)
    assert (said["file"], said["bytes"]) == (file, Path(file).stat().st_size)
    assert main(["db", "backup", file, "--db", db]) == CONFLICT
    assert main(["db", "restore", file, "--db", target]) == REFUSED
    assert main(["db", "restore", file, "--db", target, "--yes"]) == OK
    said = capsys.readouterr()
    assert "has 1 run and 2 candidates from" in said.out
    assert "it has 1 API key, valid only with the api.secret" in said.err
    assert main(["db", "restore", file, "--db", target, "--yes"]) == CONFLICT
    assert counted(target) == 1


def test_what_is_not_there_or_no_backup_is_said_in_one_sentence(
    db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none, junk, target = str(tmp_path / "none"), tmp_path / "junk", str(tmp_path / "restored.db")
    junk.write_text("junk")
    for words, code in (
        (["backup", str(tmp_path / "b"), "--db", none], NOT_FOUND),
        (["prune", "--older-than", "1", "--db", none, "--yes"], NOT_FOUND),
        (["restore", none, "--db", target, "--yes"], NOT_FOUND),
        (["restore", str(junk), "--db", target, "--yes"], FAILED),
        (["restore", str(tmp_path), "--db", target, "--yes"], USAGE),
        (["backup", str(tmp_path / "no" / "b"), "--db", db], NOT_FOUND),
    ):
        assert main(["db", *words]) == code, words
        said = capsys.readouterr().err
        assert said.startswith("evolve: ")
        assert said.count("\n") == 1
    assert not Path(none).exists()
    assert not list(tmp_path.glob("restored*")), "no database is made for what is no backup"
