"""No read walks over a whole table: what is asked of a run of 100,000 candidates costs what it shows."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import event

from service.db.engine import Database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.ports import DEFAULT_TENANT, CandidateFilter, RunFilter
from tests.contract.story import RUN, START, Story, new_run

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


def steps(database: Database, asked: Asked) -> list[str]:
    """Steps of the plans."""
    found = []
    for statement, parameters in list(asked):
        with database.read() as connection:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            found += [row.detail for row in plan]
    return found


def walks(database: Database, asked: Asked) -> list[str]:
    """Steps of the plans that read a table from end to end."""
    # What a statement makes itself is no table of the schema, and of runs a page is read in the order of its index.
    own = re.compile(r"SCAN (chain|line|anon_\d+|\(subquery-\d+\))$|ix_runs_created_at_id")
    return [step for step in steps(database, asked) if step.startswith("SCAN") and not own.search(step)]


READS: dict[str, Callable[[SqlRunReader, Story], object]] = {
    "runs": lambda reader, _: reader.runs(),
    "runs before": lambda reader, _: reader.runs(after=(START, RUN)),
    "oldest runs": lambda reader, _: reader.runs(after=(START, RUN), oldest_first=True),
    "run": lambda reader, _: reader.run(RUN[:12]),
    "candidate": lambda reader, story: reader.candidate(story.id(1)[:12]),
    "candidates": lambda reader, _: reader.candidates(RUN, after=(0, 0)),
    "best": lambda reader, _: reader.best(RUN),
    "front": lambda reader, _: reader.front(RUN),
    "ancestors": lambda reader, story: reader.ancestors(story.id(1)),
    "children": lambda reader, story: reader.children(story.id(0)),
    "program": lambda reader, story: reader.program(story.id(1)),
    "proposal": lambda reader, _: reader.proposal(RUN, 1),
    "runs of a batch": lambda reader, _: reader.runs(only=RunFilter(states=("running",), batch_id="bat_1")),
    "candidates filtered": lambda reader, _: reader.candidates(RUN, only=CandidateFilter(status="pending", island=1)),
    "count_candidates": lambda reader, _: reader.count_candidates(RUN, CandidateFilter(outcome="ok", policy="syntax")),
    "best after": lambda reader, _: reader.best(RUN, 5, (2.0, 3, 0)),
    "search": lambda reader, _: reader.search(RUN, "x = 7"),
    "search ranked": lambda reader, _: reader.search(RUN, "x = 7", ranked=True),
    "named": lambda reader, story: reader.named([story.id(1), story.id(2)]),
    "programs": lambda reader, story: reader.programs([story.id(1)]),
    "proposals": lambda reader, _: reader.proposals(RUN, after=3, state="answered"),
    "finish_reasons": lambda reader, _: reader.finish_reasons(RUN, after=3),
    "proposal_numbers": lambda reader, story: reader.proposal_numbers([story.id(1), story.id(2)]),
    "evaluations": lambda reader, story: reader.evaluations(story.id(1)),
    "memberships": lambda reader, _: reader.memberships(RUN, 0),
    "descendants": lambda reader, story: reader.descendants(story.id(0)),
    "path": lambda reader, story: reader.path(story.id(0), story.id(1)),
    "scored": lambda reader, _: list(reader.scored(RUN, after=2)),
    "events": lambda reader, _: list(reader.events(RUN, after=2)),
    "events of kinds": lambda reader, _: list(reader.events(RUN, kinds=["best.improved", "run.paused"])),
    "sequences": lambda reader, _: reader.sequences([RUN]),
    "active": lambda reader, _: reader.active(),
}
# A page is read in the order of an index: nothing that is not shown is sorted.
PAGES = ("runs", "runs before", "candidates", "best", "best after", "proposals", "finish_reasons", "events")
MAX_STATEMENTS = 6


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("tenant", [None, DEFAULT_TENANT])
def test_a_read_is_a_few_statements_over_indexes(
    database: Database, log: SqlRunLog, story: Story, fence: int, asked: Asked, name: str, tenant: str | None
) -> None:
    for number in range(1, 30):
        log.append(RUN, fence, story.child(number, story.id(0)))
    log.create(new_run("run_another"))
    asked.clear()
    READS[name](SqlRunReader(database, tenant), story)
    assert 0 < len(asked) <= MAX_STATEMENTS
    assert walks(database, asked) == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("tenant", [None, DEFAULT_TENANT])
def test_a_page_is_read_in_the_order_of_an_index(
    database: Database, log: SqlRunLog, story: Story, fence: int, asked: Asked, name: str, tenant: str | None
) -> None:
    log.append(RUN, fence, story.child(1, story.id(0)))
    asked.clear()
    READS[name](SqlRunReader(database, tenant), story)
    pages = [(statement, values) for statement, values in asked if "LIMIT" in statement]
    assert pages
    assert [step for step in steps(database, pages) if "TEMP B-TREE" in step] == []


def test_rebuilding_walks_over_no_table(
    database: Database, log: SqlRunLog, story: Story, fence: int, asked: Asked
) -> None:
    log.append(RUN, fence, story.child(1, story.id(0)))
    asked.clear()
    ids = [story.id(0), story.id(1)]
    assert len(log.individuals(RUN, ids)) == len(log.candidates(RUN, ids)) == len(ids)
    assert len(list(log.events(RUN, after=3))) == story.sequence - 3
    assert walks(database, asked) == []


@pytest.mark.parametrize("island", [None, 0])
def test_members_are_found_without_the_other_candidates(
    database: Database, log: SqlRunLog, story: Story, fence: int, asked: Asked, island: int | None
) -> None:
    for number in range(1, 30):
        log.append(RUN, fence, story.child(number, story.id(0)))
    asked.clear()
    assert [member.candidate_id for member in SqlRunReader(database).memberships(RUN, island)] == [story.id(0)]
    assert any("ix_memberships_run_id_island" in step for step in steps(database, asked))


@pytest.mark.parametrize(
    "only", [CandidateFilter(status="pending"), CandidateFilter(island=1), CandidateFilter(outcome="timeout", island=1)]
)
def test_what_filters_leave_is_counted_in_indexes_alone(
    database: Database, log: SqlRunLog, story: Story, fence: int, asked: Asked, only: CandidateFilter
) -> None:
    log.append(RUN, fence, story.child(1, story.id(0)))
    asked.clear()
    SqlRunReader(database).count_candidates(RUN, only)
    (counted,) = [one for one in asked if "count(" in one[0]]
    found = steps(database, [counted])
    assert found
    assert [step for step in found if "USING COVERING INDEX" not in step] == []
