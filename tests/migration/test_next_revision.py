"""The next revision, whichever it is: a database of this version is brought to it, and back, with all its rows."""

import json
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Connection, inspect, text

import migrations
from service.db import schema
from service.db.backup import backup, restore
from service.db.engine import Database, check, connect, open_database
from service.db.reader import SqlRunReader
from service.db.schema_upgrade import upgrade
from service.errors import ConflictError, RefusedError, StorageError
from tests.contract.story import FixedClock
from tests.e2e.evolving import Evolve, EvolveHere
from tests.migration.conftest import NEXT, Become
from tests.migration.rows import Rows, dump, fill
from tests.patience import PATIENCE_SECONDS

THIS = migrations.HEAD
DATA = Path(__file__).parent / "data" / "0001_initial.json"


@pytest.fixture
def rows() -> Rows:
    found: Rows = json.loads(DATA.read_text())
    return found


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path, rows: Rows) -> str:
    """A database of this version with runs and all that people put beside them."""
    if request.param == "sqlite":
        found = f"sqlite:///{tmp_path / 'evolve.db'}"
    else:
        found = request.getfixturevalue("postgres_url")
    filled(found, rows)
    return found


def filled(url: str, rows: Rows) -> None:
    opened = connect(url)
    with opened.write() as connection:
        command.upgrade(schema.configuration(connection), "0001_initial")
        fill(connection, rows)
        schema.upgrade(connection, opened.name)
    opened.close()


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    opened = connect(url)
    yield opened
    opened.close()


def contents(database: Database) -> Rows:
    with database.read() as connection:
        return dump(connection)


def titles(connection: Connection) -> set[str]:
    return set(connection.execute(text("SELECT title FROM runs")).scalars())


def test_rows_are_carried_to_the_next_revision_and_back(database: Database, rows: Rows, become_next: Become) -> None:
    become_next()
    before = contents(database)
    with database.write() as connection:
        schema.upgrade(connection, database.name)
    with database.read() as connection:
        assert schema.revision(connection) == schema.Revision(current=NEXT)
        assert titles(connection) == {f"a run of {row['source']}" for row in rows["runs"]}
        assert "ix_runs_title" in {index["name"] for index in inspect(connection).get_indexes("runs")}
    after = dict(contents(database))
    assert after.pop("upgrades") == [{"id": 1}]
    assert [row["body"] for row in after["notes"]] == [row["body"].upper() for row in before["notes"]]
    assert {name: len(held) for name, held in after.items()} == {name: len(held) for name, held in before.items()}
    assert {run.id for run in SqlRunReader(database).runs()} == {row["id"] for row in rows["runs"]}
    with database.write() as connection:
        command.downgrade(schema.configuration(connection), THIS)
    assert contents(database) == before
    with database.read() as connection:
        assert schema.revision(connection).current == THIS


@pytest.mark.parametrize("earlier", migrations.REVISIONS[:-1])
def test_rows_are_carried_back_to_an_earlier_revision_and_here_again(database: Database, earlier: str) -> None:
    before = contents(database)
    with database.write() as connection:
        command.downgrade(schema.configuration(connection), earlier)
        schema.upgrade(connection, database.name)
    after = contents(database)
    assert {name: len(held) for name, held in after.items()} == {name: len(held) for name, held in before.items()}
    assert after["runs"] == before["runs"]
    assert after["events"] == before["events"]
    assert after["programs"] == before["programs"]


def test_a_file_is_upgraded_by_opening_it_and_a_server_by_its_operator(url: str, become_next: Become) -> None:
    become_next()
    assert check(url).behind
    if url.startswith("sqlite:"):
        open_database(url).close()
    else:
        with pytest.raises(StorageError, match="is older than this version: run 'evolve db upgrade'"):
            open_database(url)
        assert check(url).current == THIS
        upgrade(url)
        open_database(url).close()
    assert check(url) == schema.Revision(current=NEXT)


def test_the_version_before_leaves_the_upgraded_database_alone(
    url: str, monkeypatch: pytest.MonkeyPatch, become_next: Become
) -> None:
    become_next()
    upgrade(url)
    monkeypatch.undo()
    for touch in (open_database, upgrade):
        with pytest.raises(StorageError, match="was written by a newer version of evolve"):
            touch(url)
    assert (check(url).newer, check(url).behind) == (True, False)


def test_an_upgrade_that_fails_in_the_middle_changes_nothing(
    database: Database, next_package: Path, become_next: Become
) -> None:
    become_next()
    before = contents(database)
    path = next_package / "migrations" / "versions" / f"{NEXT}.py"
    path.write_text(path.read_text().replace("VALUES (1)", "VALUES (1), (1)"))
    with pytest.raises(Exception, match=r"upgrades"), database.write() as connection:
        schema.upgrade(connection, database.name)
    assert contents(database) == before
    with database.read() as connection:
        assert schema.revision(connection).current == THIS


def test_of_two_upgrades_at_once_the_second_finds_nothing_to_do(
    database: Database, url: str, become_next: Become
) -> None:
    become_next()
    with ThreadPoolExecutor(1) as pool:
        with database.write() as connection:
            schema.upgrade(connection, database.name)
            second = pool.submit(upgrade, url)
            if url.startswith("postgresql"):
                wait_for_lock(connection)
            assert not second.done()
        second.result(timeout=PATIENCE_SECONDS)
    assert contents(database)["upgrades"] == [{"id": 1}]


def wait_for_lock(connection: Connection) -> None:
    """Wait until somebody waits for the lock of upgrades."""
    locks = text("SELECT count(*), pg_sleep(0.05) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not connection.execute(locks).scalar():
        assert time.monotonic() < deadline


def test_a_backup_is_restored_by_its_version_and_brought_up_to_date_then(
    database: Database, tmp_path: Path, become_next: Become, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, file, target = contents(database), tmp_path / "before.backup", f"sqlite:///{tmp_path / 'target.db'}"
    assert backup(database, file, FixedClock()) == THIS
    become_next()
    new = open_database(target)
    with pytest.raises(ConflictError, match=f"is of revision {THIS} and .* of {NEXT}: restore it with the version"):
        restore(new, file)
    new.close()
    monkeypatch.undo()
    (tmp_path / "target.db").unlink()
    old = open_database(target)
    restore(old, file)
    assert contents(old) == before
    old.close()
    become_next()
    upgrade(target)
    new = open_database(target)
    with new.read() as connection:
        assert len(titles(connection)) == 1
    new.close()


def test_a_database_of_the_version_before_is_backed_up_as_it_is_or_by_that_version(
    database: Database, tmp_path: Path, become_next: Become
) -> None:
    become_next()
    if database.engine.dialect.name == "sqlite":
        assert backup(database, tmp_path / "b", FixedClock()) == THIS
        upgrade(str(tmp_path / "b"))  # a backup of SQLite is a database
        assert check(str(tmp_path / "b")).current == NEXT
    else:
        with pytest.raises(RefusedError, match="back it up with the version that wrote it"):
            backup(database, tmp_path / "b", FixedClock())


def test_the_commands_of_both_versions(tmp_path: Path, url: str, rows: Rows, next_package: Path) -> None:
    """Two versions as two processes: the next one finds its own package `migrations` first."""
    this, following = Evolve(tmp_path), Evolve(tmp_path)
    following.environment["PYTHONPATH"] = str(next_package)
    for evolve in (this, following):
        evolve.environment["EVOLVE_DATABASE__URL"] = url
    assert this.json("db", "check")["state"] == "current"
    assert following.json("db", "check", code=1)["state"] == "behind"
    told = following.json("db", "upgrade")
    assert (told["from"], told["to"]) == (THIS, NEXT)
    assert following.json("db", "check")["state"] == "current"
    assert this.json("db", "check", code=1)["state"] == "newer"
    assert "newer version of evolve" in this.said("runs").err
    [killed] = [row for row in rows["runs"] if row["state"] == "running"]
    following.call("run", "--resume", killed["id"])
    ended = following.json("show", killed["id"])
    assert ended["counters"]["evaluations"] == killed["config"]["budget"]["evaluations"]


def test_a_service_waits_for_the_schema_of_its_version(
    tmp_path: Path, postgres_url: str, redis_url: str, rows: Rows, next_package: Path
) -> None:
    filled(postgres_url, rows)
    evolve = Evolve(tmp_path)
    evolve.environment |= {"EVOLVE_DATABASE__URL": postgres_url, "EVOLVE_QUEUE__URL": redis_url}
    evolve.environment |= {"EVOLVE_API__SECRET": "of tests, and of nobody else at all", "PYTHONPATH": str(next_package)}
    waiting = evolve.start("runner")
    try:
        assert waiting.stderr is not None
        told = waiting.stderr.readline()
        assert "schema.awaited" in told
        assert THIS in told
        assert NEXT in told
        evolve.call("db", "upgrade")
        assert any("driving up to" in line for line in iter(waiting.stderr.readline, ""))
        waiting.terminate()
        waiting.communicate(timeout=PATIENCE_SECONDS)
        assert waiting.returncode == 0
    finally:
        waiting.kill()


@pytest.mark.parametrize("revision", ["0001", "0020"])
def test_a_database_of_before_the_first_release_is_refused_in_one_sentence(
    database: Database, url: str, tmp_path: Path, revision: str
) -> None:
    with database.write() as connection:
        connection.execute(text(f"UPDATE alembic_version SET version_num = '{revision}'"))
    before = contents(database)
    sentence = f"has revision {revision} of a development version before the first release, and cannot be upgraded"
    for touch in (open_database, upgrade):
        with pytest.raises(StorageError, match=sentence) as caught:
            touch(url)
        assert "\n" not in str(caught.value)
    assert contents(database) == before
    evolve = EvolveHere(tmp_path)
    evolve.environment["EVOLVE_DATABASE__URL"] = url
    told = evolve.json("db", "check", code=1)
    assert told["state"] == "unreleased"
    assert sentence in told["advice"]


def test_a_backup_of_before_the_first_release_is_refused(tmp_path: Path) -> None:
    open_database(str(tmp_path / "old.backup")).close()
    with sqlite3.connect(tmp_path / "old.backup") as connection:
        connection.execute("DROP TABLE reevaluations")
        connection.execute("UPDATE alembic_version SET version_num = '0020'")
    connection.close()
    target = open_database(str(tmp_path / "evolve.db"))
    with pytest.raises(ConflictError, match="is of revision 0020 of a development version before the first release"):
        restore(target, tmp_path / "old.backup")
    target.close()
