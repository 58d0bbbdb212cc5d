"""Programs that are stored as differences come back whole, and what they are packed against stays while they do."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from evolve.program import Program
from service.db import programs
from service.db.engine import Database
from service.db.log import SqlRunLog
from service.db.maintenance import prune
from service.db.models import ProgramRow
from service.db.programs import KnownPrograms
from service.db.reader import SqlRunReader
from service.ports import RetentionPolicy
from tests.contract.story import RUN, FixedClock, Story, new_run

OTHER = "run_0190aaaa000000000000000000000002"
LINES = [f"    total += {line}.5 * x ** {line % 5} - y / {line + 1}.0" for line in range(90)]
LONG = 7


def program(*changed: int) -> Program:
    """A program with some lines that differ from all others."""
    lines = [f"    total -= {line}" if line in changed else text for line, text in enumerate(LINES)]
    return Program.of({"program.py": "\n".join(lines)})


def tell(database: Database, run_id: str, *, length: int = LONG) -> list[str]:
    """A line of children, each committed by itself; their ids."""
    log, story = SqlRunLog(database, FixedClock()), Story(run_id)
    log.create(new_run(run_id))
    fence = log.take(run_id, "runner-1", 60)
    log.append(run_id, fence, [story.create(0, program=program())])
    for number in range(1, length):
        parents = [(story.id(number - 1), "parent")]
        log.append(run_id, fence, [story.create(number, parents=parents, program=program(*range(number)))])
    log.release(run_id, fence)
    return [story.id(number) for number in range(length)]


def stored(database: Database) -> dict[str, str | None]:
    """The base of each program, by id."""
    with database.read() as connection:
        return {row.id: row.base for row in connection.execute(select(ProgramRow.id, ProgramRow.base))}


@pytest.fixture(params=["known", "read"], autouse=True)
def _forgetful(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once with what this process remembers, and once as a process that remembers nothing."""
    monkeypatch.setattr(programs, "_KNOWN", KnownPrograms())
    if request.param == "read":
        monkeypatch.setattr(KnownPrograms, "get", lambda *_: None)


def test_a_line_of_programs_comes_back_as_it_was(database: Database) -> None:
    ids = tell(database, RUN)
    bases = stored(database)
    expected = [program(*range(number)) for number in range(LONG)]
    assert [bases[one.id] for one in expected[:5]] == [None, *(one.id for one in expected[:4])]
    assert bases[expected[5].id] is None, "a line of bases ends"
    reader = SqlRunReader(database)
    assert reader.programs(ids) == dict(zip(ids, expected, strict=True))
    assert reader.program(ids[4]) == expected[4]
    assert [one.id for one in reader.search(RUN, "total -= 3", ranked=False).candidates] == ids[4:]


def test_a_base_is_stored_again_where_it_is_gone(database: Database) -> None:
    ids = tell(database, RUN, length=2)
    with database.write() as connection:
        for table in ("parents", "candidates", "programs"):
            connection.exec_driver_sql(f"DELETE FROM {table}")
        programs.store(
            connection,
            [{"id": "child", "program_id": program(0, 9).id}],
            {("child", 0): {"parent_id": ids[1]}},
            {program(0, 9).id: {"files": program(0, 9).files}},
        )
    with database.read() as connection:
        assert programs.load(connection, [program(0, 9).id]) == {program(0, 9).id: program(0, 9)}


def test_bases_go_with_the_last_program_that_needs_them(database: Database) -> None:
    clock = FixedClock()
    tell(database, RUN, length=4)
    log, story = SqlRunLog(database, clock), Story(OTHER)
    log.create(new_run(OTHER))
    fence = log.take(OTHER, "runner-1", 60)
    log.append(OTHER, fence, [story.create(0, program=program(0, 1, 2))])
    with database.write() as connection:
        connection.exec_driver_sql("DELETE FROM parents")
        connection.exec_driver_sql("DELETE FROM candidates WHERE proposal_number > 0 OR program_id IS NULL")
    clock.advance(timedelta(days=40).total_seconds())
    prune(database, clock, RetentionPolicy(runs=timedelta(days=400)))
    assert set(stored(database)) == {program(*range(number)).id for number in range(4)}
    assert SqlRunReader(database).program(story.id(0)) == program(0, 1, 2)
    with database.write() as connection:
        connection.exec_driver_sql("DELETE FROM candidates")
    removed = prune(database, clock, RetentionPolicy(runs=timedelta(days=400)))
    assert removed["programs"] == 4
    assert stored(database) == {}
