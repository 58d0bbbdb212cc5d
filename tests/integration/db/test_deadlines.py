"""A database that stands still, or whose host is gone without a word, is away after a while, never for ever."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url, text

from service.db import deadline
from service.db.deadline import CALL_SECONDS, LONG_CALL_SECONDS, TCP, CopyCursor, DeadlineConnection
from service.db.engine import Database, open_database, take_time
from service.errors import StorageAwayError
from tests.silent_proxy import SilentProxy, silent_proxy

SECONDS = 0.5


@pytest.fixture(scope="module")
def postgres_template(postgres_schema: str) -> str:
    return postgres_schema


def target(url: str) -> str | tuple[str, int]:
    """Where the server of a URL listens."""
    address = make_url(url)
    folder = address.query.get("host")
    if isinstance(folder, str):
        return str(Path(folder) / f".s.PGSQL.{address.port or address.query.get('port') or 5432}")
    return address.host or "127.0.0.1", address.port or 5432


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[SilentProxy]:
    with silent_proxy(target(postgres_url)) as proxy:
        yield proxy


@pytest.fixture
def database(postgres_url: str, proxy: SilentProxy) -> Iterator[Database]:
    address = make_url(postgres_url).set(host="127.0.0.1", port=proxy.port).difference_update_query(["host", "port"])
    address = address.update_query_dict({"connect_timeout": "2"})
    opened = open_database(address.render_as_string(hide_password=False), call_seconds=SECONDS)
    yield opened
    opened.close()


def ask(database: Database, statement: str = "SELECT 7") -> object:
    with database.read() as connection:
        return connection.execute(text(statement)).scalar_one()


def test_a_server_that_falls_silent_is_away_and_is_reached_again(database: Database, proxy: SilentProxy) -> None:
    assert ask(database) == 7
    proxy.silent = True
    began = time.monotonic()
    with pytest.raises(StorageAwayError, match="does not answer"):
        ask(database)
    assert time.monotonic() - began < 10
    assert proxy.swallowed
    proxy.silent = False
    assert ask(database) == 7


def test_a_server_that_falls_silent_within_a_transaction_is_away(database: Database, proxy: SilentProxy) -> None:
    def write() -> None:
        with database.write() as connection:
            connection.execute(text("CREATE TABLE kept (x int)"))
            proxy.silent = True

    with pytest.raises(StorageAwayError, match="does not answer"):
        write()
    proxy.silent = False
    assert ask(database, "SELECT to_regclass('kept') IS NULL") is True


def test_connections_to_a_server_that_is_no_longer_the_primary_are_left(database: Database) -> None:
    """The name of the database means another server by then, and the old one keeps its connections."""

    def write() -> None:
        with database.write() as connection:
            connection.execute(text("CREATE TABLE kept (x int)"))

    with database.engine.begin() as connection:
        connection.execute(text("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"))
    with pytest.raises(StorageAwayError, match="may only be read"):
        write()
    write()
    assert ask(database, "SELECT to_regclass('kept') IS NULL") is False


def test_a_statement_that_never_ends_is_given_up(database: Database) -> None:
    with pytest.raises(StorageAwayError, match="does not answer"):
        ask(database, "SELECT pg_sleep(60)")


def test_who_needs_time_has_it_until_the_connection_is_given_back(database: Database) -> None:
    with database.read() as connection:
        take_time(connection)
        connection.execute(text(f"SELECT pg_sleep({2 * SECONDS})"))
        driver = connection.connection.driver_connection
        assert isinstance(driver, DeadlineConnection)
        assert driver.call_seconds == LONG_CALL_SECONDS
    with pytest.raises(StorageAwayError, match="does not answer"):
        ask(database, "SELECT pg_sleep(60)")


def test_the_system_gives_up_a_host_that_is_gone_within_half_a_minute(database: Database) -> None:
    with database.read() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, DeadlineConnection)
        with socket.socket(fileno=socket.dup(driver.pgconn.socket)) as end:
            options = {
                "keepalives_idle": end.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
                "keepalives_interval": end.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL),
                "keepalives_count": end.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT),
                "tcp_user_timeout": end.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
            }
            assert end.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    assert options == TCP
    assert TCP["keepalives_idle"] + TCP["keepalives_interval"] * TCP["keepalives_count"] <= 30


def test_an_installation_waits_longer_for_a_call_than_the_server_waits_for_a_lock(postgres_url: str) -> None:
    opened = open_database(postgres_url)
    with opened.read() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, DeadlineConnection)
        assert driver.call_seconds == CALL_SECONDS
        lock = connection.execute(text("SELECT setting FROM pg_settings WHERE name = 'lock_timeout'")).scalar_one()
    opened.close()
    assert float(lock) < 1000 * CALL_SECONDS


def test_reads_hold_no_transaction_open(database: Database) -> None:
    with database.read() as connection, database.read() as other:
        process = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        seen = text("SELECT state FROM pg_stat_activity WHERE pid = :process")
        assert other.execute(seen, {"process": process}).scalar_one() == "idle"
    with database.write() as connection, database.read() as other:
        process = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        assert other.execute(seen, {"process": process}).scalar_one() == "idle in transaction"


def test_a_connection_that_the_server_ended_while_it_rested_is_made_anew(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = ask(database, "SELECT pg_backend_pid()")
    monkeypatch.setattr(deadline, "TRUSTED_SECONDS", 0.0)
    with database.read() as connection, database.read() as other:
        resting, killer = [one.execute(text("SELECT pg_backend_pid()")).scalar_one() for one in (connection, other)]
        assert process in (resting, killer)
        other.execute(text("SELECT pg_terminate_backend(:process)"), {"process": resting})
    with database.read() as connection, database.read() as other:
        assert resting not in [one.execute(text("SELECT pg_backend_pid()")).scalar_one() for one in (connection, other)]


def test_columns_of_a_result_are_those_that_the_driver_describes(postgres_url: str) -> None:
    with DeadlineConnection.connect(postgres_url.replace("+psycopg", ""), cursor_factory=CopyCursor) as connection:
        cursor = connection.execute("SELECT 1 AS first, 'x'::text AS second")
        own = psycopg.Cursor.description.fget(cursor)  # type: ignore[attr-defined] # a property
        shown = cursor.description
        assert shown is not None
        assert [column.name for column in shown] == ["first", "second"]
        assert [tuple(column) for column in shown] == [tuple(column) for column in own]
        assert [tuple(column) for column in (shown[-1], *shown[:1])] == [tuple(own[-1]), tuple(own[0])]
        with pytest.raises(IndexError):
            shown[2]
        assert connection.execute("SET lock_timeout = 0").description is None
