"""Programs that are stored as differences come back whole, and what they are packed against may go before them."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from evolve.program import Program
from service.db import programs
from service.db.engine import Database
from service.db.identifiers import chunks
from service.db.log import SqlRunLog
from service.db.maintenance import prune
from service.db.models import ProgramRow, RunRow
from service.db.programs import KnownPrograms
from service.db.reader import SqlRunReader
from service.ports import RetentionPolicy
from tests.contract.story import RUN, START, FixedClock, Story, new_run

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


def seeded(database: Database, run_id: str, seed: Program) -> str:
    """A run with a seed alone; its id."""
    log, story = SqlRunLog(database, FixedClock()), Story(run_id)
    log.create(new_run(run_id))
    fence = log.take(run_id, "runner-1", 60)
    log.append(run_id, fence, [story.create(0, program=seed)])
    log.release(run_id, fence)
    return story.id(0)


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


def test_bases_go_and_what_was_packed_against_them_stays(database: Database) -> None:
    clock = FixedClock()
    tell(database, RUN, length=4)
    kept = seeded(database, OTHER, program(0, 1, 2))
    clock.advance(timedelta(days=40).total_seconds())
    with database.write() as connection:
        connection.execute(update(RunRow).where(RunRow.id == RUN).values(state="cancelled", finished_at=START))
    month = RetentionPolicy(runs=timedelta(days=30))
    counted = prune(database, clock, month, dry_run=True)
    removed = prune(database, clock, month)
    assert removed == counted
    assert removed["programs"] == 3
    assert stored(database) == {program(0, 1, 2).id: None}
    assert SqlRunReader(database).program(kept) == program(0, 1, 2)
    with database.write() as connection:
        connection.exec_driver_sql("DELETE FROM candidates")
    assert prune(database, clock, month)["programs"] == 1
    assert stored(database) == {}


def test_a_damaged_program_holds_up_no_pruning(database: Database) -> None:
    tell(database, RUN, length=3)
    with database.write() as connection:
        connection.exec_driver_sql("DELETE FROM parents")
        connection.exec_driver_sql("DELETE FROM candidates WHERE proposal_number < 2")
        connection.execute(update(ProgramRow).where(ProgramRow.id == program(0, 1).id).values(files=b"\x02\xff"))
    assert prune(database, FixedClock(), RetentionPolicy(runs=timedelta(days=30)))["programs"] == 0
    assert len(stored(database)) == 3


def test_a_base_that_goes_between_two_statements_is_no_damage(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL reads without a transaction: pruning may come between a program and its base. SQLite reads in one."""
    ids = tell(database, RUN, length=2)
    found = chunks

    def pruned_before(wanted: Sequence[str]) -> Iterator[list[str]]:
        if list(wanted) == [program().id]:  # the base is looked for
            monkeypatch.setattr(programs, "chunks", found)
            with database.write() as connection:
                connection.exec_driver_sql("DELETE FROM parents")
                connection.exec_driver_sql("DELETE FROM candidates WHERE proposal_number = 0")
            prune(database, FixedClock(), RetentionPolicy(runs=timedelta(days=30)))
            assert list(stored(database)) == [program(0).id]
        return found(wanted)

    monkeypatch.setattr(programs, "chunks", pruned_before)
    assert SqlRunReader(database).program(ids[1]) == program(0)


def test_a_line_of_bases_stays_short_where_others_have_stored_its_beginning(database: Database) -> None:
    """A fork begins with a program at the end of a line of bases, which is a seed there."""
    tell(database, RUN, length=5)
    log, story = SqlRunLog(database, FixedClock()), Story(OTHER)
    log.create(new_run(OTHER))
    fence = log.take(OTHER, "runner-1", 60)
    programs._KNOWN = KnownPrograms()
    log.append(OTHER, fence, [story.create(0, program=program(0, 1, 2, 3))])
    for number in range(1, 5):
        parents = [(story.id(number - 1), "parent")]
        log.append(OTHER, fence, [story.create(number, parents=parents, program=program(*range(3 + number), 50))])
    bases = stored(database)

    def depth(program_id: str) -> int:
        base = bases[program_id]
        return 0 if base is None else 1 + depth(base)

    assert max(map(depth, bases)) == programs._MAX_DEPTH
