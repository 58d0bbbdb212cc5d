"""Statements of requests that come often are built once, and what differs between two requests is a parameter."""

from collections.abc import Callable

import pytest
from sqlalchemy import event

from service.db.engine import Database
from service.db.keys import SqlKeyStore
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.ports import CandidateFilter, RunFilter
from tests.contract.story import RUN, Story

READS: dict[str, Callable[[Database, Story], object]] = {
    "key": lambda database, _: SqlKeyStore(database).find("0" * 64),
    "run": lambda database, _: SqlRunReader(database, "default").run(RUN),
    "runs": lambda database, _: SqlRunReader(database, "default").runs(only=RunFilter(states=("running",))),
    "candidates": lambda database, _: SqlRunReader(database, "default").candidates(RUN, limit=2),
    "best": lambda database, _: SqlRunReader(database, "default").best(RUN, 2, (9.0, 1, 0), CandidateFilter(island=0)),
    "candidate": lambda database, story: SqlRunReader(database, "default").candidate(story.id(0)),
    "events": lambda database, _: list(SqlRunReader(database, "default").events(RUN, 1, 2)),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_read_that_is_repeated_builds_no_statement(
    database: Database, log: SqlRunLog, story: Story, fence: int, read: Callable[[Database, Story], object]
) -> None:
    log.append(RUN, fence, story.child(1, story.id(0)))
    executed = list[object]()

    @event.listens_for(database.engine, "before_execute")
    def note(_connection: object, statement: object, *_: object) -> None:
        executed.append(statement)

    first = read(database, story)
    before = executed.copy()
    executed.clear()
    assert read(database, story) == first
    assert before
    assert [id(statement) for statement in executed] == [id(statement) for statement in before]
