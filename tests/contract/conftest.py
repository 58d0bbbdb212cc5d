"""The storage ports on every database that they promise."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from service.db.engine import Database, open_database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.db.schema_upgrade import upgrade
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


@pytest.fixture(scope="session")
def emptying(postgres_with_schema: str) -> Iterator[psycopg.Connection]:
    """A connection to the shared database, by which each test empties it."""
    with psycopg.connect(postgres_with_schema, autocommit=True) as connection:
        yield connection


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return sqlite_file(tmp_path / "evolve.db")
    emptied_postgres(request)
    url: str = request.getfixturevalue("postgres_with_schema")
    return url


# A truncated table gets new files, with those of its indexes: that takes longer than the deletion of a few rows.
EMPTY = """
do $$
declare name text;
begin
    set local session_replication_role = replica; -- all tables are emptied, in any order
    for name in select quote_ident(tablename) from pg_tables
        where schemaname = 'public' and tablename not in ('alembic_version', 'tenants')
    loop
        if pg_relation_size(name::regclass) > 1000000 then
            execute format('truncate %s cascade', name);
        else
            execute format('delete from %s', name);
        end if;
    end loop;
    delete from tenants where id <> 'default';
    update tenants set quotas = '{}';
end $$
"""


@pytest.fixture(scope="session")
def open_postgres(postgres_with_schema: str) -> Iterator[Database]:
    """The shared database, opened once: each new connection costs the server a process with empty caches."""
    opened = open_database(postgres_with_schema)
    yield opened
    opened.close()


def emptied_postgres(request: pytest.FixtureRequest) -> Database:
    """The shared PostgreSQL, after what a test left in it was removed."""
    request.getfixturevalue("emptying").execute(EMPTY)
    opened: Database = request.getfixturevalue("open_postgres")
    return opened


@pytest.fixture
def database(request: pytest.FixtureRequest, database_url: str) -> Iterator[Database]:
    if database_url.startswith("postgresql"):
        yield request.getfixturevalue("open_postgres")
        return
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
