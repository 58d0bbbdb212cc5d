"""Databases as a user has them: a path, a URL, a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.db.engine import Database, open_database
from service.db.log import SqlRunLog
from tests.contract.story import RUN, FixedClock, Story, new_run
from tests.databases import sqlite_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "evolve.db"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    opened = open_database(sqlite_file(path), lock_seconds=0.1)
    yield opened
    opened.close()


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.fixture
def log(database: Database) -> SqlRunLog:
    return SqlRunLog(database, FixedClock())


@pytest.fixture
def fence(log: SqlRunLog, story: Story) -> int:
    """The fence of a run whose seed is evaluated."""
    log.create(new_run())
    fence = log.take(RUN, "runner-1", 60)
    log.append(RUN, fence, story.seed())
    return fence
