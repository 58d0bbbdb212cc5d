"""Packed rows that are damaged: one sentence that says so, whatever stands in them, and never a program of another."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from evolve.program import Program
from service.db import packed, programs
from service.db.engine import Database, open_database
from service.db.log import SqlRunLog
from service.db.packed import pack, pack_against
from service.db.programs import KnownPrograms
from service.db.reader import SqlRunReader
from service.errors import StorageError
from tests.contract.story import RUN, FixedClock, Story, new_run

Read = Callable[[SqlRunReader, Story], object]
LINES = [f"    total += {line}.5 * x ** {line % 5}" for line in range(90)]
DEEP = pack(b"[" * 200_000)


def program(number: int) -> Program:
    return Program.of({"program.py": "\n".join([*LINES[:40], f"    total -= {number}", *LINES[41:]])})


@pytest.fixture
def told(path: Path) -> Story:
    """A seed and a child that is packed against it, both with views, in a file that nobody has open."""
    opened, story = open_database(str(path)), Story()
    log = SqlRunLog(opened, FixedClock())
    log.create(new_run())
    fence = log.take(RUN, "runner-1", 60)
    child = [(story.id(0), "parent")]
    log.append(RUN, fence, [story.create(0, program=program(0)), story.evaluate(story.id(0), 1.0)])
    log.append(RUN, fence, [story.propose(1, story.id(0)), story.create(1, parents=child, program=program(1))])
    log.append(RUN, fence, [story.answer(1), story.evaluate(story.id(1), 2.0)])
    opened.close()
    return story


def a_program(reader: SqlRunReader, story: Story) -> object:
    return reader.program(story.id(1))


def some_programs(reader: SqlRunReader, story: Story) -> object:
    return reader.programs([story.id(1)])


def events(reader: SqlRunReader, _: Story) -> object:
    return list(reader.events(RUN))


def a_proposal(reader: SqlRunReader, _: Story) -> object:
    return reader.proposal(RUN, 1)


def runs(reader: SqlRunReader, _: Story) -> object:
    return reader.runs()


DAMAGES: list[tuple[str, tuple[object, ...], Read]] = [
    ("UPDATE programs SET base = x'00ff41' WHERE base IS NOT NULL", (), a_program),
    ("UPDATE programs SET base = id", (), a_program),
    ("UPDATE programs SET base = (SELECT max(p.id) FROM programs p WHERE p.id <> programs.id)", (), some_programs),
    ("UPDATE programs SET base = x'0500' WHERE base IS NOT NULL", (), a_program),
    ("UPDATE programs SET base = x'00' || CAST('none' AS BLOB) WHERE base IS NOT NULL", (), some_programs),
    ("UPDATE programs SET base = NULL", (), a_program),
    ("UPDATE programs SET files = ? WHERE base IS NULL", (pack(b'[["program.py", ""]]'),), a_program),
    ("UPDATE programs SET files = ? WHERE base IS NOT NULL", (pack(b'[["other.py", ""]]'),), a_program),
    ("UPDATE programs SET files = ?", (pack_against(b"a" * 99, b"b" * 99),), a_program),
    ("UPDATE programs SET files = x''", (), a_program),
    ("UPDATE programs SET files = x'09ff'", (), a_program),
    ("UPDATE programs SET files = 'a text'", (), a_program),
    ("UPDATE programs SET base = NULL, files = ?", (DEEP,), a_program),
    *(
        ("UPDATE programs SET base = NULL, files = ?", (pack(files),), a_program)
        for files in (b"\xff", b"7", b"[]", b"[7]", b'[["a"]]', b'[["a", 7]]', b'[["/etc/passwd", ""]]', b'{"a": ""}')
    ),
    ("UPDATE events SET payload = ?", (DEEP,), events),
    ("UPDATE events SET payload = x'01ffff'", (), events),
    ("UPDATE events SET payload = ?", (pack(b'{"a": NaN}'),), events),
    ("UPDATE texts SET body = x'00ff'", (), a_proposal),
    ("UPDATE texts SET body = x'01'", (), a_proposal),
    ("UPDATE proposals SET completions = '[]'", (), a_proposal),
    ("UPDATE runs SET id = x'01'", (), runs),
    ("UPDATE runs SET id = x'00ff'", (), runs),
    ("UPDATE runs SET id = 'run_1'", (), runs),
    ("UPDATE runs SET id = x'03' || zeroblob(200)", (), runs),
]


@pytest.mark.parametrize(("statement", "values", "read"), DAMAGES)
def test_damage_is_said_in_a_sentence(
    path: Path, told: Story, statement: str, values: tuple[object, ...], read: Read
) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, values)
        connection.commit()
    opened = open_database(str(path))
    with pytest.raises(StorageError, match=r"evolve.db is damaged, .*: restore it from a backup") as caught:
        read(SqlRunReader(opened), told)
    opened.close()
    assert "\n" not in str(caught.value)


def test_a_child_of_a_damaged_program_is_stored_in_full(
    database: Database, log: SqlRunLog, story: Story, fence: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_KNOWN", KnownPrograms())
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE programs SET files = x'09'")
    log.append(RUN, fence, [story.create(1, parents=[(story.id(0), "parent")], program=program(1))])
    assert SqlRunReader(database).program(story.id(1)) == program(1)


def test_a_text_too_long_to_be_unpacked_is_not_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "MAX_BYTES", 1000)
    for size in (999, 1000, 1001, 5000):
        text = b"a" * size
        assert packed.unpack(pack(text)) == text
