"""Whatever is wrong with a database: one sentence that says what to do, and nothing committed is lost."""

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import psycopg
import pytest
from sqlalchemy import create_engine, make_url, text

from service.db.engine import Database, check, connect, open_database, take_time
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.db.schema_upgrade import upgrade
from service.db.stalled_runs import IDLE_SECONDS
from service.errors import StorageAwayError, StorageError, UsageError
from tests.contract.story import RUN, FixedClock, Story, new_run
from tests.services import PostgresServer

SECRET = "hunter2"


def assert_sentence(error: BaseException) -> None:
    message = str(error)
    assert "\n" not in message
    assert SECRET not in message
    assert "Background on this error" not in message


def test_a_full_disk_is_said_and_nothing_is_lost(path: Path) -> None:
    opened = open_database(str(path))
    log, story = SqlRunLog(opened, FixedClock()), Story()
    log.create(new_run())
    fence = log.take(RUN, "runner-1", 60)
    log.append(RUN, fence, story.seed())
    committed = list(log.events(RUN))
    with opened.read() as connection:
        pages = connection.execute(text("PRAGMA page_count")).scalar_one()
        connection.execute(text(f"PRAGMA max_page_count={pages}"))  # of this one connection, which the pool gives again
    told = [story.propose(1, story.id(0)), story.answer(1, text=Random(0).randbytes(500_000).hex())]
    with pytest.raises(StorageError, match="disk is full") as caught:
        log.append(RUN, fence, told)
    assert_sentence(caught.value)
    assert list(log.events(RUN)) == committed
    with opened.read() as connection:
        connection.execute(text("PRAGMA max_page_count=1000000"))
    log.append(RUN, fence, told)
    assert list(log.events(RUN)) == [*committed, *told]
    opened.close()


def test_a_locked_database_is_said(path: Path) -> None:
    opened = open_database(str(path), lock_seconds=0.05)
    log = SqlRunLog(opened, FixedClock())
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageAwayError, match="locked by another process") as caught:
            log.create(new_run())
        other.execute("ROLLBACK")
    other.close()
    assert_sentence(caught.value)
    log.create(new_run())
    opened.close()


def test_a_database_of_a_newer_version_is_left_alone(path: Path) -> None:
    open_database(str(path)).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    for touch in (open_database, upgrade):
        with pytest.raises(StorageError, match="newer version of evolve") as caught:
            touch(str(path))
        assert_sentence(caught.value)
    assert check(str(path)).newer


def test_a_file_that_is_no_database_is_left_alone(path: Path) -> None:
    path.write_text("a letter to a friend, " * 100)
    for touch in (open_database, upgrade, check):
        with pytest.raises(StorageError, match="is not a SQLite database") as caught:
            touch(str(path))
        assert_sentence(caught.value)
    assert path.read_text().startswith("a letter to a friend")


def test_a_damaged_database_is_said(path: Path) -> None:
    opened = open_database(str(path))
    SqlRunLog(opened, FixedClock()).create(new_run())
    opened.close()
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with pytest.raises(StorageError, match="is damaged") as caught:
        SqlRunReader(open_database(str(path))).run(RUN)
    assert_sentence(caught.value)


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be opened") as caught:
        open_database(str(tmp_path))
    assert_sentence(caught.value)


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be made") as caught:
        open_database(str(tmp_path / "file" / "sub" / "evolve.db"))
    assert_sentence(caught.value)


def test_a_database_that_may_only_be_read_is_said(path: Path) -> None:
    opened = open_database(str(path))
    with opened.read() as connection:
        connection.execute(text("PRAGMA query_only=ON"))  # of this one connection, which the pool gives again
    with pytest.raises(StorageError, match="may only be read") as caught:
        SqlRunLog(opened, FixedClock()).create(new_run())
    assert_sentence(caught.value)
    opened.close()


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        (f"mysql://me:{SECRET}@host/db", "kind 'mysql'"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
        ("sqlite:///x.db?mode=ro", "needs a file"),
        (f"postgresql://me:{SECRET}@host:port/db", "cannot be read"),
        (f"postgresql://me:x@{SECRET}@host/db", "%40"),
    ],
)
def test_a_url_that_cannot_be_used_is_said(url: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        open_database(url)
    assert_sentence(caught.value)


def test_a_file_with_nul_in_its_name_is_said() -> None:
    with pytest.raises((StorageError, UsageError)) as caught:
        open_database("a\0b/c.db")
    assert_sentence(caught.value)


def test_a_server_that_does_not_answer_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageAwayError, match="does not answer") as caught:
        open_database(f"postgresql://me:{SECRET}@127.0.0.1:1/evolve")
    assert_sentence(caught.value)
    assert "127.0.0.1:1" in str(caught.value)


def test_a_database_that_the_server_does_not_have_is_said(postgres_server: PostgresServer) -> None:
    with pytest.raises(StorageError, match="does not exist") as caught:
        open_database(postgres_server.database_url("nowhere"))
    assert_sentence(caught.value)


def test_a_user_that_the_server_does_not_know_is_said(postgres_url: str) -> None:
    with pytest.raises(StorageError, match="refuses its user") as caught:
        open_database(postgres_url.replace("postgres@", f"stranger:{SECRET}@"))
    assert_sentence(caught.value)


def test_an_empty_server_asks_for_an_upgrade(postgres_url: str) -> None:
    with pytest.raises(StorageError, match="has no tables yet: run 'evolve db upgrade'") as caught:
        open_database(postgres_url)
    assert_sentence(caught.value)
    assert check(postgres_url).behind
    upgrade(postgres_url)
    assert not check(postgres_url).behind
    open_database(postgres_url).close()


def test_a_server_with_a_newer_schema_is_left_alone(postgres_url: str) -> None:
    upgrade(postgres_url)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StorageError, match="newer version of evolve"):
        open_database(postgres_url)


def test_a_server_that_goes_away_in_the_middle_is_said_and_found_again(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    upgrade(postgres_url)
    opened = open_database(postgres_url)
    log = SqlRunLog(opened, FixedClock())
    with pytest.raises(StorageAwayError, match="was stopped") as caught:
        read_while_the_server_ends_the_session(opened, postgres_server)
    assert_sentence(caught.value)
    log.create(new_run())
    assert SqlRunReader(opened).run(RUN).state == "queued"
    opened.close()


def read_while_the_server_ends_the_session(opened: Database, server: PostgresServer) -> None:
    with opened.read() as connection:
        pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        with psycopg.connect(server.url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
        connection.execute(text("SELECT 1"))


def test_a_locked_row_on_a_server_is_said(postgres_url: str) -> None:
    upgrade(postgres_url)
    opened = open_database(postgres_url, lock_seconds=0.05)
    log = SqlRunLog(opened, FixedClock())
    log.create(new_run())
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT * FROM runs FOR UPDATE")
        with pytest.raises(StorageAwayError, match="locked by another process"):
            log.take(RUN, "runner-1", 60)
    opened.close()


def test_a_writer_that_stands_still_in_a_transaction_holds_nobody_up(postgres_url: str) -> None:
    upgrade(postgres_url)
    still, other = open_database(postgres_url), open_database(postgres_url)
    SqlRunLog(other, FixedClock()).create(new_run())
    row = text("SELECT * FROM runs FOR UPDATE")

    def stand_still() -> None:
        with still.write() as connection:
            assert len(connection.execute(row).all()) == 1
            with other.write() as second:
                assert len(second.execute(row).all()) == 1
            connection.execute(row)

    with pytest.raises(StorageAwayError, match="took too long"):
        stand_still()
    with other.write() as patient:
        take_time(patient)
        assert patient.execute(text("SHOW idle_in_transaction_session_timeout")).scalar_one() == "0"
    with still.read() as connection:
        assert len(connection.execute(row).all()) == 1
        assert connection.execute(text("SHOW idle_in_transaction_session_timeout")).scalar_one() == "5s"
    still.close()
    other.close()


def test_a_runner_that_stands_still_after_it_asked_for_what_is_ready_is_passed_over(postgres_url: str) -> None:
    upgrade(postgres_url)
    opened = open_database(postgres_url)
    log = SqlRunLog(opened, FixedClock())
    log.create(new_run())
    limits = f"-c idle_in_transaction_session_timeout={int(1000 * IDLE_SECONDS)}"
    still = psycopg.connect(postgres_url, application_name="evolve", options=limits)
    try:
        still.execute("SELECT * FROM runs FOR UPDATE")
        still.pgconn.enter_pipeline_mode()
        still.pgconn.send_flush_request()
        still.pgconn.flush()
        time.sleep(IDLE_SECONDS + 0.5)
        assert log.take(RUN, "runner-2", 60) == 1
    finally:
        still.close()
    opened.close()


def test_a_runner_that_stands_still_between_the_rows_of_a_statement_is_passed_over(postgres_url: str) -> None:
    upgrade(postgres_url)
    still, other = open_database(postgres_url), open_database(postgres_url)
    log, fences = SqlRunLog(other, FixedClock()), list[int]()
    log.create(new_run())

    def rows() -> Iterator[tuple[str]]:
        yield from [("before",)] * 100
        time.sleep(IDLE_SECONDS + 0.5)
        fences.append(log.take(RUN, "runner-2", 60))
        yield ("after",)

    def stand_still() -> None:
        with still.write() as connection:
            assert connection.connection.driver_connection is not None
            connection.connection.driver_connection.cursor().executemany("UPDATE runs SET source = %s", rows())

    with pytest.raises(StorageAwayError):
        stand_still()
    assert fences == [1]
    assert SqlRunReader(other).run(RUN).source == new_run().source
    still.close()
    other.close()


def test_two_processes_may_open_a_new_database_at_once(path: Path) -> None:
    code = "import sys; from service.db.engine import open_database; sys.stdin.readline(); open_database(sys.argv[1])"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    complaints = [process.communicate()[1] for process in started]
    assert complaints == ["", "", ""]
    assert not check(str(path)).behind


def test_checking_makes_no_file(path: Path) -> None:
    assert check(str(path)).behind
    assert not path.exists()


class TestWhatMayPass:
    """Errors after which trying again may help are StorageAwayError, and no others are."""

    def test_no_free_connection_may_pass(self, path: Path) -> None:
        opened = connect(str(path))
        narrow = Database(
            engine=create_engine(opened.engine.url, pool_size=1, max_overflow=0, pool_timeout=0), name="x"
        )
        opened.close()
        with narrow.read(), pytest.raises(StorageAwayError, match="no free connection"), narrow.read():
            raise AssertionError("a second connection was given")
        narrow.close()

    def test_a_server_out_of_connections_may_pass(self, postgres_url: str, postgres_server: PostgresServer) -> None:
        name = make_url(postgres_url).database
        with psycopg.connect(postgres_server.url, autocommit=True) as other:
            other.execute(f'ALTER DATABASE "{name}" CONNECTION LIMIT 0')
            other.execute("DROP ROLE IF EXISTS guest")
            other.execute("CREATE ROLE guest LOGIN")  # the limit is not the superuser's
        with pytest.raises(StorageAwayError, match="too many connections") as caught:
            open_database(postgres_url.replace("postgres@", "guest@"))
        assert_sentence(caught.value)

    @pytest.mark.parametrize(
        ("state", "may_pass"),
        [(state, True) for state in ("08006", "25006", "25P03", "40001", "40P01", "53100", "53200", "53300")]
        + [(state, True) for state in ("55006", "55P03", "57014", "57P01", "57P03", "58030")]
        + [(state, False) for state in ("28P01", "3D000", "42501", "42P01", "54000", "57P04", "XX001")],
    )
    def test_the_server_s_codes_are_told_apart(self, postgres_url: str, state: str, may_pass: bool) -> None:
        opened = connect(postgres_url)
        with pytest.raises(StorageError) as caught, opened.read() as connection:
            connection.execute(text(f"DO $$ BEGIN RAISE SQLSTATE '{state}'; END $$"))
        opened.close()
        assert isinstance(caught.value, StorageAwayError) == may_pass
        assert_sentence(caught.value)

    def test_a_database_that_may_only_be_read_may_be_written_to_again(self, postgres_url: str) -> None:
        upgrade(postgres_url)
        opened = open_database(postgres_url)
        log = SqlRunLog(opened, FixedClock())
        with opened.write() as connection:
            connection.execute(text("SET default_transaction_read_only = on"))
        with pytest.raises(StorageAwayError, match="may only be read at present"):
            log.create(new_run())
        with opened.read() as connection:
            connection.execute(text("SET default_transaction_read_only = off"))
            connection.commit()
        log.create(new_run())
        opened.close()
