"""Completions that are packed with the programs of their candidates come back whole, whatever happens in between."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import select, text, update

from evolve.program import Program
from service.db import programs, schema
from service.db.backup import backup, restore
from service.db.completions import _MAX_BYTES
from service.db.engine import Database
from service.db.log import SqlRunLog
from service.db.maintenance import prune
from service.db.models import ProgramRow, ProposalRow
from service.db.packed import as_json
from service.db.programs import BaseProgram, KnownPrograms
from service.db.reader import SqlRunReader
from service.errors import StorageError
from service.ports import LoggedEvent, RetentionPolicy
from tests.contract.story import RUN, FixedClock, Story, new_run
from tests.integration.maintenance.test_program_differences import program

NUMBER = 1
WITH_PROGRAMS = 3
BEFORE = "0005_view_requests"


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program of another test is remembered."""
    monkeypatch.setattr(programs, "_KNOWN", KnownPrograms())


def written(children: Sequence[Program]) -> str:
    """A completion with all of some programs."""
    return "\n".join(f"<answer_{place}>\n{child.text}</answer_{place}>" for place, child in enumerate(children, 1))


def answered(
    database: Database, children: Sequence[Program], completion: str, *, apart: bool = False, forget: bool = False
) -> None:
    """A proposal whose candidates have these programs, and a policy that wrote this; in one commit, or in several."""
    story = Story(RUN)
    asked = [*story.seed(), story.propose(NUMBER, story.id(0))]
    created = [
        story.create(NUMBER, place, parents=[(story.id(0), "parent")], program=child)
        for place, child in enumerate(children)
    ]
    end = [story.answer(NUMBER, text=completion)]
    commits = [asked, *([one] for one in created), end] if apart else [[*asked, *created, *end]]
    commit(database, commits, forget=forget)


def commit(database: Database, commits: Sequence[Sequence[LoggedEvent]], *, forget: bool = False) -> None:
    log = SqlRunLog(database, FixedClock())
    log.create(new_run(RUN))
    fence = log.take(RUN, "runner-1", 60)
    for events in commits:
        log.append(RUN, fence, events)
        if forget:
            programs._KNOWN = KnownPrograms()
    log.release(RUN, fence)


def stored(database: Database) -> bytes:
    with database.read() as connection:
        return connection.execute(select(ProposalRow.completions).where(ProposalRow.number == NUMBER)).scalar_one()


def read(database: Database) -> list[str]:
    return list(SqlRunReader(database).proposal(RUN, NUMBER).completions)


CHILDREN = [program(place) for place in range(4)]
COMPLETION = written(CHILDREN)


@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
def test_completions_are_packed_with_the_programs_that_they_became(database: Database, apart: bool) -> None:
    answered(database, CHILDREN, COMPLETION, apart=apart)
    assert list(stored(database)[:6]) == [WITH_PROGRAMS, 4, 0, 1, 2, 3]
    assert len(stored(database)) < len(COMPLETION) / 40
    assert read(database) == [COMPLETION]
    [listed] = SqlRunReader(database).proposals(RUN, texts=True)
    assert list(listed.completions) == [COMPLETION]


def test_a_process_that_remembers_no_candidate_packs_completions_alone(database: Database) -> None:
    answered(database, CHILDREN, COMPLETION, apart=True, forget=True)
    assert stored(database)[0] != WITH_PROGRAMS
    assert read(database) == [COMPLETION]


def test_what_another_process_stored_in_a_candidate_counts(database: Database) -> None:
    """A process that lost its lease may remember a program that the candidate of this id did not become."""
    story = Story(RUN)
    asked = [*story.seed(), story.propose(NUMBER, story.id(0)), story.create(NUMBER, program=CHILDREN[0])]
    log = SqlRunLog(database, FixedClock())
    log.create(new_run(RUN))
    fence = log.take(RUN, "runner-1", 60)
    log.append(RUN, fence, asked)
    other = BaseProgram(id=CHILDREN[1].id, text=b"other" * 900, depth=0)
    programs._KNOWN.note(story.id(NUMBER), other)
    programs._KNOWN.note(story.id(NUMBER, 1), other)
    log.append(RUN, fence, [story.answer(NUMBER, text=COMPLETION)])
    assert stored(database)[0] != WITH_PROGRAMS
    assert read(database) == [COMPLETION]


@pytest.mark.parametrize("completion", ["", "I would make the terms fewer.", "a lone \ud800, NUL \x00 and é" * 30])
def test_completions_unlike_their_programs_are_packed_alone(database: Database, completion: str) -> None:
    answered(database, CHILDREN, completion)
    assert stored(database)[0] != WITH_PROGRAMS
    assert read(database) == [completion]


def test_more_programs_than_deflate_looks_back_to_come_back(database: Database) -> None:
    children = [program(place, place + 1) for place in range(30)]
    answered(database, children, written(children))
    tag, count = stored(database)[:2]
    assert tag == WITH_PROGRAMS
    lengths = [len(as_json(child.files)) for child in children]
    assert sum(lengths[:count]) <= _MAX_BYTES < sum(lengths[: count + 1])
    assert read(database) == [written(children)]


def test_completions_stay_whole_while_content_is_collected(database: Database) -> None:
    answered(database, CHILDREN, COMPLETION)
    clock = FixedClock()
    clock.advance(timedelta(days=40).total_seconds())
    prune(database, clock, RetentionPolicy(runs=timedelta(days=400)))
    assert read(database) == [COMPLETION]


def test_completions_are_whole_in_a_restored_database(database: Database, target: Database, tmp_path: Path) -> None:
    answered(database, CHILDREN, COMPLETION)
    backup(database, tmp_path / "b", FixedClock())
    restore(target, tmp_path / "b")
    assert stored(target) == stored(database)
    assert read(target) == [COMPLETION]


def test_an_earlier_revision_gets_the_text_and_gives_it_back(database: Database) -> None:
    answered(database, CHILDREN, COMPLETION)
    with database.write() as connection:
        command.downgrade(schema.configuration(connection), BEFORE)
        query = text("SELECT CAST(completions AS TEXT) FROM proposals WHERE number = 1")
        assert COMPLETION.replace("\n", "\\n") in connection.execute(query).scalar_one()
        schema.upgrade(connection, database.name)
    assert stored(database)[0] != WITH_PROGRAMS
    assert read(database) == [COMPLETION]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda whole: whole[:1], "cut"),
        (lambda whole: whole[:4], "cut"),
        (lambda whole: whole[:6], "bytes"),
        (lambda whole: whole[:-3], "damaged|cut"),
        (lambda whole: whole[:1] + b"\x00" + whole[2:], "cut"),
        (lambda whole: whole[:5] + b"\x09" + whole[6:], "proposal 1 .* is missing"),
        (lambda whole: b"\x07" + whole[1:], "unknown form"),
        (lambda whole: whole[6:], "base is missing"),
    ],
)
def test_damaged_completions_are_refused(database: Database, damage: Callable[[bytes], bytes], sentence: str) -> None:
    answered(database, CHILDREN, COMPLETION)
    with database.write() as connection:
        connection.execute(
            update(ProposalRow).where(ProposalRow.number == NUMBER).values(completions=damage(stored(database)))
        )
    with pytest.raises(StorageError, match=sentence):
        read(database)


def test_completions_with_a_damaged_program_are_refused(database: Database) -> None:
    answered(database, CHILDREN, COMPLETION)
    with database.write() as connection:
        connection.execute(update(ProgramRow).values(base=ProgramRow.id))
    with pytest.raises(StorageError, match="packed against is missing"):
        read(database)
