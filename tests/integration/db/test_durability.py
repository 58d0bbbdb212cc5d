"""What is committed stays, whole; what is not leaves no trace."""

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import event, func, select

from evolve.events import EventKind
from evolve.program import Program
from service.db import commits
from service.db.columns import Base
from service.db.engine import Database, open_database
from service.db.log import SqlRunLog
from service.db.models import MembershipRow, ProblemRow, ProgramRow, TextRow
from service.db.projection import Projection
from service.db.schema_upgrade import upgrade
from service.errors import ConflictError, LeaseLostError
from service.ports import Bundle
from tests.contract.story import RUN, FixedClock, Story, new_run

KILLED = """
import os, signal, sys
from service.db.engine import open_database
from service.db.log import SqlRunLog
from tests.contract.story import RUN, FixedClock, Story, new_run

log, story = SqlRunLog(open_database(sys.argv[1]), FixedClock()), Story()
log.create(new_run())
fence = log.take(RUN, "runner-1", 60)
log.append(RUN, fence, story.seed())
os.kill(os.getpid(), signal.SIGKILL)
"""


def contents(database: Database) -> dict[str, list[tuple[object, ...]]]:
    with database.read() as connection:
        return {
            table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for table in Base.metadata.sorted_tables
        }


def test_a_failure_inside_an_append_leaves_nothing(
    database: Database, log: SqlRunLog, story: Story, fence: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(database)
    told = story.child(1, story.id(0))

    def fail(*_: object) -> None:
        raise RuntimeError("pulled the plug")

    with monkeypatch.context() as patch:
        patch.setattr(commits, "add_usage", fail)  # the last step of the transaction
        with pytest.raises(RuntimeError):
            log.append(RUN, fence, told)
    assert contents(database) == before
    log.append(RUN, fence, told)
    assert contents(database) != before


def test_what_a_killed_process_committed_is_there(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    opened = open_database(str(path))
    story = Story()
    story.seed()
    assert [logged.sequence for logged in SqlRunLog(opened, FixedClock()).events(RUN)] == list(
        range(1, story.sequence + 1)
    )
    opened.close()


def test_every_commit_reaches_the_disk(database: Database) -> None:
    found: list[dict[str, object]] = []

    def look(connection: sqlite3.Connection, _: object) -> None:
        """As the product opens it, before `tests.engines` lets the tests be faster."""
        names = ("journal_mode", "synchronous", "foreign_keys")
        found.append({name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names})

    database.engine.dispose()
    event.listen(database.engine, "connect", look)
    with database.read():
        assert found == [{"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}]


def test_a_prefix_that_prompts_share_is_stored_once(
    database: Database, log: SqlRunLog, story: Story, fence: int
) -> None:
    shared = "the problem " * 500
    for number in (1, 2, 3):
        log.append(
            RUN, fence, [story.propose(number, story.id(0)), story.answer(number, parts=(shared, f"child {number}"))]
        )
    with database.read() as connection:
        sizes = sorted(map(len, connection.execute(select(TextRow.body)).scalars()))
    assert sizes == [7, 7, 7, len(shared)]


def test_a_program_is_stored_once(database: Database, log: SqlRunLog, story: Story, fence: int) -> None:
    program = Program.of({"a.py": "x = 1"})
    log.append(RUN, fence, [story.create(1, program=program), story.create(2, program=program)])
    log.append(RUN, fence, [story.create(3, program=program)])
    with database.read() as connection:
        assert (
            connection.execute(select(func.count()).select_from(ProgramRow)).scalar_one() == 2
        )  # the seed's, and this


def test_versions_of_a_problem_are_counted(database: Database, log: SqlRunLog) -> None:
    for run_id, content in (("run_a", "b"), ("run_b", "c"), ("run_c", "b")):
        log.create(new_run(run_id, bundle=Bundle(hash=content * 64, content=content.encode())))
    with database.read() as connection:
        rows = connection.execute(select(ProblemRow.version, ProblemRow.bundle_hash).order_by(ProblemRow.version))
        assert [tuple(row) for row in rows] == [(1, "b" * 64), (2, "c" * 64)]


def test_memberships_keep_when_they_began_and_ended(
    database: Database, log: SqlRunLog, story: Story, fence: int
) -> None:
    inserted_at = story.sequence - 1
    told = [*story.child(1, story.id(0)), story.insert(story.id(1), 0, "improved", [story.id(0)])]
    log.append(RUN, fence, told)
    with database.read() as connection:
        rows = connection.execute(
            select(MembershipRow.candidate_id, MembershipRow.since, MembershipRow.until).order_by(MembershipRow.since)
        )
        assert [tuple(row) for row in rows] == [
            (story.id(0), inserted_at, told[-1].sequence),
            (story.id(1), told[-1].sequence, None),
        ]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_of_two_writers_with_one_fence_each_event_has_one(
    request: pytest.FixtureRequest, path: Path, kind: str
) -> None:
    url = str(path) if kind == "sqlite" else request.getfixturevalue("postgres_url")
    upgrade(url)
    opened = open_database(url)
    log = SqlRunLog(opened, FixedClock())
    log.create(new_run())
    fence = log.take(RUN, "runner-1", 60)
    barrier, rounds = Barrier(2), 20

    def write(name: str) -> int:
        won = 0
        for number in range(rounds):
            barrier.wait()
            told = Story(sequence=1 + number).tell(EventKind.RUN_PAUSING, by=name)
            try:
                log.append(RUN, fence, [told])
                won += 1
            except ConflictError:
                pass
        return won

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(write, ("a", "b"))) == rounds
    assert [logged.sequence for logged in log.events(RUN)] == list(range(1, rounds + 2))
    opened.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_of_two_runners_one_takes_the_lease(request: pytest.FixtureRequest, path: Path, kind: str) -> None:
    url = str(path) if kind == "sqlite" else request.getfixturevalue("postgres_url")
    upgrade(url)
    opened = open_database(url)
    log = SqlRunLog(opened, FixedClock())
    log.create(new_run())
    barrier = Barrier(4)

    def take(name: str) -> int | None:
        barrier.wait()
        try:
            return log.take(RUN, name, 60)
        except ConflictError:
            return None

    with ThreadPoolExecutor(4) as pool:
        assert sorted(fence for fence in pool.map(take, "abcd") if fence is not None) == [1]
    opened.close()


def test_a_runner_that_lost_its_lease_in_the_middle_writes_nothing(
    database: Database, log: SqlRunLog, story: Story, fence: int
) -> None:
    clock = FixedClock()
    clock.advance(61)
    told = story.child(1, story.id(0))
    SqlRunLog(database, clock).take(RUN, "runner-2", 60)
    before = contents(database)
    with pytest.raises(LeaseLostError):
        log.append(RUN, fence, told)
    assert contents(database) == before


def test_a_batch_writes_each_table_once(story: Story) -> None:
    story.seed()
    projection = Projection.of(RUN, [event for n in range(1, 6) for event in story.child(n, story.id(0))])
    assert len(projection.candidates) == len(projection.proposals) == len(projection.evaluations) == 5
    assert not projection.results
    assert not projection.answers


def test_the_files_of_a_new_database_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    shared = tmp_path / "shared.db"
    shared.touch(0o640)
    shared.chmod(0o640)
    for path, mode in ((tmp_path / "new.db", 0o600), (shared, 0o640)):
        database = open_database(str(path))
        with database.read() as connection:
            connection.execute(select(func.count()).select_from(ProgramRow)).scalar()
            files = sorted(path.parent.glob(f"{path.name}*"))
            assert [file.name for file in files] == [path.name, f"{path.name}-shm", f"{path.name}-wal"]
            assert {file.stat().st_mode & 0o777 for file in files} == {mode}
        database.close()
