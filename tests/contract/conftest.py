"""The storage ports on every database that they promise."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.db.engine import Database, open_database, upgrade
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.ports import RunLog, RunReader
from tests.contract.story import FixedClock, Story
from tests.services import PostgresServer


@pytest.fixture(scope="session")
def postgres_template(postgres_server: PostgresServer) -> str:
    """A database that has the schema already."""
    name = "evolve_template"
    upgrade(postgres_server.create_database(name))
    return name


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/evolve.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


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
    return SqlRunLog(database, clock)


@pytest.fixture
def reader(database: Database) -> RunReader:
    return SqlRunReader(database)


@pytest.fixture
def story() -> Story:
    return Story()
