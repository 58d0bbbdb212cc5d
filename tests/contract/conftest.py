"""The storage ports on every database that they promise."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from service.db.engine import Database, open_database, upgrade
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.ports import RunLog, RunReader
from tests.contract.story import FixedClock, Story, by_clock
from tests.databases import sqlite_file
from tests.services import PostgresServer


@pytest.fixture(scope="session")
def postgres_with_schema(postgres_server: PostgresServer) -> Iterator[str]:
    """A database that the tests of this session share; each finds it empty."""
    name = f"contract_{secrets.token_hex(8)}"
    url = postgres_server.create_database(name)
    upgrade(url)
    yield url
    postgres_server.drop_database(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return sqlite_file(tmp_path / "evolve.db")
    url: str = request.getfixturevalue("postgres_with_schema")
    empty(url)
    return url


def empty(url: str) -> None:
    """Empty a PostgreSQL of what a test left in it."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "truncate runs, problems, bundles, policies, training_permissions, programs, texts, batches, views,"
            " webhooks, api_keys, idempotency_keys, audit, ended_sessions, usage cascade"
        )
        connection.execute("delete from tenants where id <> 'default'")
        connection.execute("update tenants set quotas = '{}'")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = open_database(database_url)
    yield opened
    opened.close()


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def log(database: Database, clock: FixedClock) -> RunLog:
    return SqlRunLog(database, clock, by_clock)


@pytest.fixture
def reader(database: Database) -> RunReader:
    return SqlRunReader(database)


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.fixture
def other_database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(sqlite_file(tmp_path / "other.db"))
    yield opened
    opened.close()
