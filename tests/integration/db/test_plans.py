"""No read walks over a whole table: what is asked of a run of 100,000 candidates costs what it shows."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import event

from service.db.engine import Database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from tests.contract.story import RUN, Story, new_run

Asked = list[tuple[str, Any]]


@pytest.fixture
def asked(database: Database) -> Iterator[Asked]:
    """Every SELECT that the test makes the database run."""
    statements: Asked = []

    def note(_: object, __: object, statement: str, parameters: object, *___: object) -> None:
        if "SELECT" in statement:
            statements.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    yield statements
    event.remove(database.engine, "before_cursor_execute", note)


def walks(database: Database, asked: Asked) -> list[str]:
    """Steps of the plans that read a table from end to end."""
    found = []
    for statement, parameters in list(asked):
        with database.read() as connection:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            # The line of ancestors is a table of its own, and of runs a page is read in the order of its index.
            steps = [row.detail for row in plan if row.detail.startswith("SCAN")]
        found += [step for step in steps if step != "SCAN line" and "ix_runs_created_at_id" not in step]
    return found


READS: dict[str, Callable[[SqlRunReader, Story], object]] = {
    "runs": lambda reader, _: reader.runs(),
    "runs before": lambda reader, _: reader.runs(before=RUN),
    "run": lambda reader, _: reader.run(RUN[:12]),
    "candidate": lambda reader, story: reader.candidate(story.id(1)[:12]),
    "candidates": lambda reader, _: reader.candidates(RUN, after=(0, 0)),
    "best": lambda reader, _: reader.best(RUN),
    "front": lambda reader, _: reader.front(RUN),
    "ancestors": lambda reader, story: reader.ancestors(story.id(1)),
    "children": lambda reader, story: reader.children(story.id(0)),
    "program": lambda reader, story: reader.program(story.id(1)),
    "proposal": lambda reader, _: reader.proposal(RUN, 1),
}
MOST_STATEMENTS = 6


@pytest.mark.parametrize("name", READS)
def test_a_read_is_a_few_statements_over_indexes(
    database: Database, log: SqlRunLog, story: Story, fence: int, asked: Asked, name: str
) -> None:
    for number in range(1, 30):
        log.append(RUN, fence, story.child(number, story.id(0)))
    log.create(new_run("run_another"))
    asked.clear()
    READS[name](SqlRunReader(database), story)
    assert 0 < len(asked) <= MOST_STATEMENTS
    assert walks(database, asked) == []


def test_rebuilding_walks_over_no_table(
    database: Database, log: SqlRunLog, story: Story, fence: int, asked: Asked
) -> None:
    log.append(RUN, fence, story.child(1, story.id(0)))
    asked.clear()
    ids = [story.id(0), story.id(1)]
    assert len(log.individuals(RUN, ids)) == len(log.candidates(RUN, ids)) == len(ids)
    assert len(list(log.events(RUN, after=3))) == story.sequence - 3
    assert walks(database, asked) == []
