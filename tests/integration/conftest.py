"""A run on a database of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.db.engine import Database, open_database
from service.db.log import SqlRunLog
from service.timestamps import SystemClock
from tests.contract.story import new_toy_run
from tests.databases import sqlite_file


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_database(sqlite_file(tmp_path / "runs.db"))
    yield database
    database.close()


@pytest.fixture
def log(database: Database) -> SqlRunLog:
    log = SqlRunLog(database, SystemClock())
    log.create(new_toy_run())
    return log
