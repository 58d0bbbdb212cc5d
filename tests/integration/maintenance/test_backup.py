"""A backup is one moment of a database, and a database made of it is the same, whichever the two are."""

import gzip
import json
import re
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, inspect, select

import migrations
import service.db
from evolve.events import EventKind
from service.db import archive
from service.db import backup as backups
from service.db.account_models import ApiKeyRow, RequestRow
from service.db.backup import backup, contents, restore
from service.db.columns import Base, ExactText, UtcDateTime
from service.db.compact_ids import CompactId
from service.db.engine import Database, connect, open_database
from service.db.frequent_words import FrequentWord
from service.db.log import SqlRunLog
from service.db.models import RunRow, TextRow
from service.db.packed import PackedJson, PackedText
from service.db.tables import MODEL_MODULES
from service.errors import ConflictError, NotFoundError, ServiceError, UsageError
from tests.contract.story import RUN, START, FixedClock, Story, by_clock, new_run
from tests.integration.maintenance.conftest import rows, store, tell
from tests.migration.rows import is_partition


def fill(database: Database) -> None:
    """Rows of every kind of value: any text, bytes, times, large numbers, floats, nothing."""
    tell(database, RUN)
    log = SqlRunLog(database, FixedClock())
    other = "run_0190aaaa000000000000000000000002"
    log.create(new_run(other, seed=2**200, known_best=None, labels={"é\u0000": "\ud800"}))
    fence, story = log.take(other, "runner-1", 60), Story(other)
    odd = "\ufdd0\u0000 \ud800 é"
    log.append(
        other, fence, [story.tell(EventKind.RUN_STARTED), story.create(0), story.evaluate(story.id(0), feedback=odd)]
    )
    store(database, RequestRow, actor="key_1", key="k", request_hash="h", headers={"a": [1, None, 0.1]},
          body=b"\x00\xff", created_at=START)  # fmt: skip
    store(database, ApiKeyRow, id="key_1", tenant="default", name="n", shown="evo_", hash="h", scopes=["runs:read"],
          created_by="", created_at=START)  # fmt: skip


def everything(database: Database) -> dict[str, list[Any]]:
    """Every row of every table."""
    with database.read() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
            for table in Base.metadata.sorted_tables
        }


def test_what_is_restored_is_what_was_backed_up(database: Database, target: Database, tmp_path: Path) -> None:
    fill(database)
    file = tmp_path / "the backup"
    revision = backup(database, file, FixedClock())
    assert contents(file) == revision
    assert restore(target, file) == rows(database)
    assert everything(target) == everything(database)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not [path for path in tmp_path.iterdir() if "partial" in path.name or path.name.startswith("the backup-")]


BACKUP = "import sys; from service.cli.main import main; sys.exit(main(['db', 'backup', *sys.argv[1:]]))"


def test_a_process_that_only_makes_a_backup_leaves_out_no_table(database: Database, tmp_path: Path) -> None:
    """In a process of its own: here, the tests have imported every module."""
    fill(database)
    with database.read() as connection:
        names = inspect(connection).get_table_names()
    expected = {name for name in names if not is_partition(name)} - {"alembic_version"}
    file, url = tmp_path / "backup", database.engine.url.render_as_string(hide_password=False)
    done = subprocess.run(
        [sys.executable, "-c", BACKUP, str(file), "--db", url], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert tables_in(file) == expected


def tables_in(file: Path) -> set[str]:
    """The tables that a backup holds, of either form."""
    if file.read_bytes().startswith(archive.MAGIC):
        lines = map(json.loads, gzip.decompress(file.read_bytes()).splitlines())
        return {line["table"] for line in lines if isinstance(line, dict) and "table" in line}
    with closing(sqlite3.connect(file)) as copy:
        names = {name for (name,) in copy.execute("select name from sqlite_master where type = 'table'")}
    return names - {"alembic_version"}


def test_every_module_with_a_mapped_class_is_named_with_the_tables() -> None:
    folder = Path(service.db.__file__).parent
    mapped = {
        path.stem
        for path in folder.rglob("*.py")
        if re.search(r"^class \w+\(.*\bBase\b", path.read_text(), re.MULTILINE)
    }
    assert mapped == {module.__name__.rpartition(".")[2] for module in MODEL_MODULES}


def test_a_restored_run_goes_on_where_it_was(database: Database, target: Database, tmp_path: Path) -> None:
    log = SqlRunLog(database, FixedClock(), by_clock)
    log.create(new_run())
    fence, story = log.take(RUN, "runner-1", 60), Story()
    log.append(RUN, fence, story.seed())
    backup(database, tmp_path / "b", FixedClock())
    restore(target, tmp_path / "b")
    later = FixedClock()
    later.advance(61)
    child = story.child(1, story.id(0))
    for place, taken in ((database, fence), (target, SqlRunLog(target, later, by_clock).take(RUN, "runner-2", 60))):
        SqlRunLog(place, later).append(RUN, taken, child)
    one, two = (list(SqlRunLog(place, later).events(RUN)) for place in (database, target))
    assert one == two
    assert len(one) == 1 + 5 + 4


def test_a_backup_is_one_moment_while_runs_go_on(database: Database, target: Database, tmp_path: Path) -> None:
    log = SqlRunLog(database, FixedClock())
    log.create(new_run())
    fence, story = log.take(RUN, "runner-1", 600), Story()
    log.append(RUN, fence, story.seed())
    stop, written = threading.Event(), threading.Semaphore(0)

    def go_on() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            log.append(RUN, fence, story.child(number, story.id(0)))
            written.release()

    writer = threading.Thread(target=go_on)
    writer.start()
    try:
        written.acquire(timeout=30)
        backup(database, tmp_path / "b", FixedClock())
        for _ in range(2):  # nobody waited for the backup, or it for anybody
            assert written.acquire(timeout=30)
    finally:
        stop.set()
        writer.join()
    restore(target, tmp_path / "b")
    found = rows(target)
    # Each step is committed whole: a child with its proposal, its evaluation and four events.
    children = found["candidates"] - 1
    assert children >= 1
    assert (found["proposals"], found["evaluations"], found["events"]) == (children, children + 1, 6 + 4 * children)
    with target.read() as connection:
        assert connection.execute(select(RunRow.sequence)).scalar_one() == found["events"]


def test_a_database_that_is_not_empty_is_left_alone(database: Database, target: Database, tmp_path: Path) -> None:
    fill(database)
    backup(database, tmp_path / "b", FixedClock())
    tell(target, "run_0190aaaa000000000000000000000009")
    held = everything(target)
    with pytest.raises(ConflictError, match="not empty"):
        restore(target, tmp_path / "b")
    assert everything(target) == held


def test_a_backup_of_another_revision_is_refused(database: Database, target: Database, tmp_path: Path) -> None:
    file = tmp_path / "b"
    backup(database, file, FixedClock())
    if database.engine.dialect.name == "sqlite":
        with sqlite3.connect(file) as connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.close()
    else:
        lines = gzip.decompress(file.read_bytes()).splitlines()
        file.write_bytes(gzip.compress(b"\n".join([json_with(lines[0], revision="9999"), *lines[1:]])))
    with pytest.raises(ConflictError, match=r"is of revision 9999 and .* of 0\d\d\d_\w+: restore it with the version"):
        restore(target, file)


def test_an_older_sqlite_database_is_backed_up_as_it_is(tmp_path: Path) -> None:
    open_database(str(tmp_path / "a.db")).close()
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    connection.close()
    old = connect(str(tmp_path / "a.db"))
    assert backup(old, tmp_path / "b", FixedClock()) == "0001"
    assert contents(tmp_path / "b") == "0001"
    old.close()


def test_an_older_server_is_backed_up_by_the_version_that_wrote_it(postgres_url: str, tmp_path: Path) -> None:
    database = connect(postgres_url)
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
    with pytest.raises(ServiceError, match="back it up with the version that wrote it"):
        backup(database, tmp_path / "b", FixedClock())
    database.close()
    assert list(tmp_path.iterdir()) == []


def json_with(line: bytes, **changes: Any) -> bytes:
    return json.dumps(json.loads(line) | changes).encode()


def test_a_file_that_is_there_is_not_written_over(database: Database, tmp_path: Path) -> None:
    (tmp_path / "b").write_text("mine")
    with pytest.raises(ConflictError, match="is there already"):
        backup(database, tmp_path / "b", FixedClock())
    with pytest.raises(NotFoundError, match="there is no folder"):
        backup(database, tmp_path / "none" / "b", FixedClock())
    with pytest.raises(NotFoundError, match="there is no file"):
        restore(database, tmp_path / "c")
    with pytest.raises(UsageError, match="is not a file"):
        restore(database, tmp_path)
    assert (tmp_path / "b").read_text() == "mine"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[bytes]]:
    """A backup as a SQLite file, and the lines of one in the portable form."""
    folder = tmp_path_factory.mktemp("good")
    database = open_database(str(folder / "a.db"))
    fill(database)
    backup(database, folder / "b", FixedClock())
    with (folder / "c").open("wb") as file, database.read() as connection:
        archive.write(file, migrations.HEAD, START, lambda table: connection.execute(select(table)))
    database.close()
    return (folder / "b").read_bytes(), gzip.decompress((folder / "c").read_bytes()).splitlines()


def refused(database: Database, file: Path, content: bytes) -> str:
    file.write_bytes(content)
    held = everything(database)
    with pytest.raises(ServiceError) as caught:
        restore(database, file)
    assert everything(database) == held
    sentence = str(caught.value)
    assert str(file) in sentence
    assert "\n" not in sentence
    return sentence


def test_the_portable_form_is_read_on_every_database(
    target: Database, tmp_path: Path, good: tuple[bytes, list[bytes]]
) -> None:
    lines = good[1]
    (tmp_path / "b").write_bytes(gzip.compress(b"\n".join(lines) + b"\n"))
    assert restore(target, tmp_path / "b")["runs"] == 2


def bent(lines: list[bytes], how: str) -> bytes:
    run = next(place for place, line in enumerate(lines) if line.startswith(b'{"table":"runs"'))
    first, wrong = lines[:1], json.dumps([{}] * len(json.loads(lines[run + 1]))).encode()
    changed = {
        "cut": lines[: len(lines) // 2],
        "no end": lines[:-1],
        "twice": lines + lines[-1:],
        "another order": [*first, *lines[run:], *lines[1:run]],
        "no json": [*first, b"{", *lines[1:]],
        "deep": [*first, b"[" * 200_000, *lines[1:]],
        "nan": [*first, b'{"table":NaN}', *lines[1:]],
        "short row": [*lines[: run + 1], b'["x"]', *lines[run + 2 :]],
        "wrong kinds": [
            *lines[: run + 1],
            wrong,
            *lines[run + 2 :],
        ],
        "later form": [json_with(lines[0], version=2), *lines[1:]],
        "other format": [json_with(lines[0], format="zip"), *lines[1:]],
        "a list first": [b"[]", *lines[1:]],
        "the same row twice": [*lines[: run + 2], lines[run + 1], *lines[run + 2 :]],
        "nothing": [],
    }[how]
    return gzip.compress(b"\n".join(changed))


@pytest.mark.parametrize(
    "how",
    ["cut", "no end", "twice", "another order", "no json", "deep", "nan", "short row", "wrong kinds", "later form",
     "other format", "a list first", "the same row twice", "nothing"],
)  # fmt: skip
def test_a_bent_archive_gives_one_sentence_and_changes_nothing(
    target: Database, tmp_path: Path, good: tuple[bytes, list[bytes]], how: str
) -> None:
    lines = good[1]
    refused(target, tmp_path / "b", bent(lines, how))


def test_rows_that_do_not_fit_together_are_refused(
    target: Database, tmp_path: Path, good: tuple[bytes, list[bytes]]
) -> None:
    lines = good[1]
    place = next(number for number, line in enumerate(lines) if line.startswith(b'{"table":"programs"'))
    without = lines[: place + 1] + lines[place + 2 :]  # a program is gone that a candidate has
    end = json.loads(without[-1])
    end["end"]["programs"] -= 1
    without[-1] = json.dumps(end).encode()
    assert "does not fit" in refused(target, tmp_path / "b", gzip.compress(b"\n".join(without)))


@pytest.mark.parametrize(
    "content", [b"", b"x", b"\x1f\x8b", b"\x1f\x8bxxxxxxxxxxxx", b"SQLite format 3\x00", b"PK\x03\x04"]
)
def test_what_is_no_backup_is_refused(target: Database, tmp_path: Path, content: bytes) -> None:
    refused(target, tmp_path / "b", content)


def test_a_flipped_byte_of_an_archive_is_found(
    target: Database, tmp_path: Path, good: tuple[bytes, list[bytes]]
) -> None:
    packed = bytearray(gzip.compress(b"\n".join(good[1])))
    packed[len(packed) // 2] ^= 0xFF
    refused(target, tmp_path / "b", bytes(packed))


@pytest.mark.parametrize("part", [0.25, 0.5, 0.9])
def test_a_cut_sqlite_file_is_refused(
    target: Database, tmp_path: Path, good: tuple[bytes, list[bytes]], part: float
) -> None:
    refused(target, tmp_path / "b", good[0][: int(len(good[0]) * part)])


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE notes",
        "DROP TABLE notes; CREATE VIEW notes AS SELECT * FROM events",
        "UPDATE runs SET proposals = 'many'",
        "UPDATE runs SET proposals = 1e300",
        "UPDATE runs SET config = '{'",
        "UPDATE runs SET config = '{\"a\": NaN}'",
        "UPDATE runs SET created_at = 'yesterday'",
        "UPDATE runs SET problem_id = 'prb_none'",
        "UPDATE runs SET source = CAST(x'ff' AS TEXT)",
        "UPDATE bundles SET content = 'text'",
        "DELETE FROM alembic_version",
        "DROP TABLE alembic_version",
    ],
)
def test_a_hostile_sqlite_file_is_refused(
    target: Database, tmp_path: Path, good: tuple[bytes, list[bytes]], statement: str
) -> None:
    (tmp_path / "b").write_bytes(good[0])
    connection = sqlite3.connect(tmp_path / "b")
    connection.executescript(statement)
    connection.close()
    refused(target, tmp_path / "b", (tmp_path / "b").read_bytes())


def test_long_texts_of_a_sqlite_file_are_restored_a_few_at_a_time(
    target: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few bytes of a file may be a long text, so that many of them would fill the memory."""
    texts, batches = [f"{number} " + "a" * 100_000 for number in range(20)], list[int]()
    opened = open_database(str(tmp_path / "evolve.db"))
    for text in texts:
        store(opened, TextRow, hash=text[:2], body=text)
    opened.close()
    monkeypatch.setattr(archive, "BATCH_CHARACTERS", 250_000)

    def noted(table: Any, rows: Sequence[dict[str, Any]]) -> archive.RowBatch:
        batches.append(len(rows))
        return archive.RowBatch(table=table, rows=rows)

    monkeypatch.setattr(backups, "RowBatch", noted)
    assert restore(target, tmp_path / "evolve.db")["texts"] == 20
    assert max(batches) == 3
    with target.read() as connection:
        assert sorted(connection.execute(select(TextRow.body)).scalars()) == sorted(texts)


EXAMPLES: dict[type[Any], Any] = {bool: True, int: 1, float: 0.5, str: "a", bytes: b"a"}


def test_a_backup_holds_values_of_every_column() -> None:
    for table in Base.metadata.sorted_tables:
        for column in table.columns:
            if isinstance(column.type, JSON | PackedJson):
                continue
            is_text = isinstance(column.type, ExactText | FrequentWord | CompactId | PackedText)
            kind = str if is_text else column.type.python_type
            value = START if isinstance(column.type, UtcDateTime) else EXAMPLES[kind]
            assert archive.fitting(value, column.type) == value, f"{table.name}.{column.name}"
            with pytest.raises(ValueError, match="in a column of"):
                archive.fitting(object(), column.type)
