"""Databases of this version's schema, empty, on both sides."""

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select

from evolve.events import EventKind
from service.db.columns import Base
from service.db.engine import Database, open_database
from service.db.log import SqlRunLog
from tests.contract.story import FixedClock, Story, new_run
from tests.databases import sqlite_file


@pytest.fixture(scope="session")
def postgres_template(postgres_schema: str) -> str:
    return postgres_schema


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    is_file = request.param == "sqlite"
    opened = open_database(sqlite_file(tmp_path / "evolve.db") if is_file else request.getfixturevalue("postgres_url"))
    yield opened
    opened.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database to restore into."""
    if request.param == "sqlite":
        opened = open_database(str(tmp_path / "restored.db"))
        yield opened
        opened.close()
        return
    server = request.getfixturevalue("postgres_server")
    name = f"restored_{secrets.token_hex(8)}"
    opened = open_database(server.create_database(name, template=request.getfixturevalue("postgres_template")))
    yield opened
    opened.close()
    server.drop_database(name)


@pytest.fixture
def clock() -> FixedClock:
    """Forty days after the runs of the tests."""
    clock = FixedClock()
    clock.advance(40 * 86400)
    return clock


def tell(database: Database, run_id: str, *, ended: bool = True, parts: Sequence[str] = ("shared\n", "own")) -> Story:
    """A run with a seed and a child, whose programs are the same in each such run."""
    log, story = SqlRunLog(database, FixedClock()), Story(run_id)
    log.create(new_run(run_id))
    fence = log.take(run_id, "runner-1", 60)
    events = story.seed()
    events += [story.propose(1, story.id(0)), story.create(1, parents=[(story.id(0), "parent")])]
    events += [story.answer(1, parts=parts), story.evaluate(story.id(1), 2.0)]
    if ended:
        events.append(story.tell(EventKind.RUN_FINISHED, reason="evaluations", best=story.id(1), fitness=2.0))
    log.append(run_id, fence, events)
    log.release(run_id, fence)
    return story


def rows(database: Database) -> dict[str, int]:
    """How many rows each table has."""
    with database.read() as connection:
        return {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in Base.metadata.sorted_tables
        }


def store(database: Database, model: type[Base], **values: object) -> None:
    with database.write() as connection:
        connection.execute(insert(model), [values])
