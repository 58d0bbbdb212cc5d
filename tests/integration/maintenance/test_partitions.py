"""Events of PostgreSQL are in partitions by week: made ahead, and given back to the disk when their runs are gone."""

import json
import secrets
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from sqlalchemy import text
from structlog.testing import capture_logs

from evolve.events import EventKind
from service.cli.exit_codes import OK, REFUSED
from service.cli.main import main
from service.db import archive, partition_care, partitions
from service.db.backup import backup, restore
from service.db.compact_ids import encode_id
from service.db.deletion import SqlDeletions
from service.db.engine import Database, open_database
from service.db.intents import SqlRunIntents
from service.db.log import SqlRunLog
from service.db.maintenance import prune
from service.db.models import Tenant
from service.db.partition_care import SqlPartitions
from service.db.partitions import DEFAULT, GRACE, WEEK, WEEKS_AHEAD, EventPartition
from service.identifiers import new_id
from service.ports import RetentionPolicy
from tests.contract.story import RUN, FixedClock, Story
from tests.integration.maintenance.conftest import rows, tell
from tests.patience import PATIENCE_SECONDS

MONTH = RetentionPolicy(runs=timedelta(days=30))
NOW = datetime.now(UTC)
LATER = FixedClock(NOW + 10 * WEEK)


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    opened = open_database(postgres_url)
    yield opened
    opened.close()


@pytest.fixture
def target(postgres_server: Any, postgres_template: str) -> Iterator[Database]:
    name = f"restored_{secrets.token_hex(8)}"
    opened = open_database(postgres_server.create_database(name, template=postgres_template))
    yield opened
    opened.close()
    postgres_server.drop_database(name)


def long_run(database: Database, began: datetime, *, ended: bool = True) -> Story:
    """A run with some hundred events, whose id tells when it began."""
    story = tell(database, new_id("run", began), ended=False)
    log = SqlRunLog(database, FixedClock())
    fence = log.take(story.run_id, "runner-2", 3600.0)
    events = [event for number in range(2, 102) for event in story.child(number, story.id(0))]
    if ended:
        events.append(story.tell(EventKind.RUN_FINISHED, reason="evaluations"))
    log.append(story.run_id, fence, events)
    log.release(story.run_id, fence)
    return story


def names(database: Database) -> list[str]:
    with database.read() as connection:
        return [one.name for one in partitions.partitions(connection)]


def bytes_of_events(database: Database, table: str = "events") -> int:
    query = text("SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree(CAST(:table AS regclass))")
    with database.read() as connection:
        return int(connection.execute(query, {"table": table}).scalar_one())


def tables_of(database: Database, run_id: str) -> set[str]:
    """Where the events of a run are."""
    query = text("SELECT DISTINCT CAST(tableoid::regclass AS text) FROM events WHERE run_id = :run_id")
    with database.read() as connection:
        return set(connection.execute(query, {"run_id": encode_id(run_id)}).scalars())


def week(at: datetime) -> str:
    return EventPartition.of_week(at).name


def whole(database: Database, story: Story) -> bool:
    return [one.sequence for one in SqlRunLog(database, LATER).events(story.run_id)] == list(
        range(1, story.sequence + 1)
    )


def in_use(database: Database) -> Any:
    """A reader that has begun to read all events, as a backup does."""
    connection = database.engine.connect()
    connection.execute(text("LOCK TABLE events IN ACCESS SHARE MODE"))
    return connection


def told(logs: list[Any]) -> list[str]:
    return [entry["event"] for entry in logs if entry["event"].startswith("partition")]


def test_pruning_the_last_run_of_a_week_gives_its_space_back_at_once(database: Database) -> None:
    old, young = long_run(database, NOW), long_run(database, NOW + 2 * WEEK, ended=False)
    assert tables_of(database, old.run_id) == {week(NOW)}
    assert tables_of(database, young.run_id) == {week(NOW + 2 * WEEK)}
    SqlPartitions(database, LATER).prepare()
    before, filled = bytes_of_events(database), bytes_of_events(database, week(NOW))
    assert prune(database, LATER, MONTH)["runs"] == 1
    assert bytes_of_events(database) <= before - filled  # without a vacuum
    assert filled > 100_000
    assert week(NOW) not in names(database)
    assert (whole(database, young), rows(database)["runs"]) == (True, 1)


def test_a_week_keeps_its_partition_while_one_of_its_runs_is_kept(database: Database) -> None:
    old, kept = long_run(database, NOW), long_run(database, NOW, ended=False)
    assert prune(database, LATER, MONTH)["runs"] == 1
    assert week(NOW) in names(database)
    assert (whole(database, kept), tables_of(database, old.run_id)) == (True, set())


def test_a_run_that_a_person_deletes_frees_its_week_too(database: Database) -> None:
    story = long_run(database, NOW - 5 * WEEK)
    (until,) = tables_of(database, story.run_id)  # of all that began before the database was made
    before = bytes_of_events(database)
    SqlRunIntents(database, "default", LATER).delete(story.run_id)
    removing = SqlDeletions(database)
    while removing.advance():
        pass
    assert (bytes_of_events(database) < 0.6 * before, until in names(database)) == (True, True)
    assert rows(database)["events"] == 0


def test_what_a_release_would_give_back_is_known_before(database: Database) -> None:
    old, kept = long_run(database, NOW), long_run(database, NOW + WEEK)
    held = SqlPartitions(database, LATER)
    held.release()  # the weeks without a run
    filled = bytes_of_events(database, week(NOW))
    assert held.releasable(()) == {}
    assert held.releasable({old.run_id}) == {week(NOW): filled}
    assert set(held.releasable({old.run_id, kept.run_id})) == {week(NOW), week(NOW + WEEK)}
    assert SqlPartitions(database, FixedClock(NOW)).releasable({old.run_id}) == {}  # the week has not ended
    SqlRunIntents(database, "default", LATER).delete(old.run_id)
    assert held.release() == filled
    assert held.releasable({old.run_id}) == {}


def test_a_dry_run_names_the_partitions_and_their_bytes(
    database: Database, postgres_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    story = long_run(database, NOW - 5 * WEEK)
    (until,) = tables_of(database, story.run_id)
    size, words = bytes_of_events(database, until), ["db", "prune", "--older-than", "30", "--db", postgres_url]
    assert main([*words, "--dry-run"]) == OK
    given = f"and return {size:,} bytes to the disk: {until} {size:,}"
    said = capsys.readouterr().out
    assert (said.startswith("would remove: runs 1, "), said.endswith(f", {given}\n")) == (True, True), said
    assert main(words) == REFUSED
    assert given in capsys.readouterr().err
    assert main([*words, "--dry-run", "--json"]) == OK
    assert json.loads(capsys.readouterr().out)["partitions"] == {until: size}
    assert main(["db", "prune", "--older-than", "3650", "--db", postgres_url, "--dry-run"]) == OK
    assert capsys.readouterr().out == "would remove: nothing\n"
    assert whole(database, story)


@pytest.mark.parametrize("passed", [timedelta(0), GRACE])
def test_a_week_is_given_back_a_day_after_its_end(database: Database, passed: timedelta) -> None:
    ends = EventPartition.of_week(NOW).ends
    SqlPartitions(database, FixedClock(ends + passed)).release()
    assert (week(NOW) in names(database)) == (passed < GRACE)


def test_ids_that_tell_no_time_are_in_the_default(database: Database) -> None:
    tell(database, RUN)
    tell(database, "run_by_hand")
    assert tables_of(database, RUN) == tables_of(database, "run_by_hand") == {DEFAULT}
    assert prune(database, LATER, MONTH)["runs"] == 2
    assert rows(database)["events"] == 0


def test_weeks_are_made_ahead_by_whoever_is_first(database: Database) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: SqlPartitions(database, LATER).prepare(), range(4)))
    ahead = [week(LATER.now() + number * WEEK) for number in range(WEEKS_AHEAD + 1)]
    assert [name for name in names(database) if name in ahead] == ahead
    with capture_logs() as logs:
        SqlPartitions(database, LATER).prepare()
    assert told(logs) == []


def test_a_week_whose_events_are_in_the_default_is_passed_over(database: Database) -> None:
    early = long_run(database, LATER.now())  # nobody made its week
    assert tables_of(database, early.run_id) == {DEFAULT}
    SqlPartitions(database, LATER).prepare()
    assert week(LATER.now()) not in names(database)
    assert tables_of(database, long_run(database, LATER.now() + WEEK).run_id) == {week(LATER.now() + WEEK)}
    assert whole(database, early)


def test_commits_go_on_while_partitions_are_made_and_dropped(database: Database) -> None:
    """Commits of a run beside 34 new partitions, which are dropped again."""
    story, stop, failed = tell(database, new_id("run", NOW), ended=False), threading.Event(), list[BaseException]()
    log = SqlRunLog(database, FixedClock())
    fence, deadline = log.take(story.run_id, "runner-2", 3600.0), time.monotonic() + 2 * PATIENCE_SECONDS

    def commit() -> None:
        try:
            number = 2
            while not stop.is_set():
                log.append(story.run_id, fence, story.child(number, story.id(0)))
                number += 1
        except BaseException as error:  # noqa: BLE001 - shown by the test
            failed.append(error)

    writer = threading.Thread(target=commit)
    writer.start()
    try:
        while len(names(database)) < 35:  # a commit may be in the way for long, on a busy machine
            for number in range(30):
                SqlPartitions(database, FixedClock(NOW + number * WEEK)).prepare()
            assert time.monotonic() < deadline
        while len(names(database)) > 2:
            SqlPartitions(database, FixedClock(NOW + 40 * WEEK)).release()
            assert time.monotonic() < deadline
    finally:
        stop.set()
        writer.join()
    assert failed == []
    assert whole(database, story)
    until = EventPartition(begins=None, ends=EventPartition.of_week(NOW).ends - WEEK).name
    assert names(database) == [until, week(NOW)]  # it has the run


def test_a_partition_in_use_is_kept_with_one_line_and_given_back_the_next_time(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_care, "EMPTY_MS", 100)
    long_run(database, NOW)
    with in_use(database), capture_logs() as logs:
        assert prune(database, LATER, MONTH)["runs"] == 1
    (kept,) = [entry for entry in logs if entry["event"] == "partition.kept"]
    assert (kept["partition"], kept["log_level"]) == (week(NOW), "warning")
    assert "is locked by another process" in kept["error"]
    assert week(NOW) in names(database)
    assert rows(database)["events"] == 0  # row by row
    before = bytes_of_events(database)
    prune(database, LATER, MONTH)
    assert week(NOW) not in names(database)
    assert bytes_of_events(database) < before


def test_a_backup_has_all_events_of_its_runs_though_they_are_pruned_meanwhile(
    database: Database, target: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_care, "EMPTY_MS", 100)
    story, write = long_run(database, NOW), archive.write

    def write_late(*given: Any) -> None:
        list(given[3](Tenant.__table__))  # so that it has its moment
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(prune, database, LATER, MONTH).result()["runs"] == 1
        write(*given)

    monkeypatch.setattr(archive, "write", write_late)
    backup(database, tmp_path / "b", FixedClock())
    restore(target, tmp_path / "b")
    assert (rows(database)["runs"], whole(target, story)) == (0, True)


def test_a_restored_database_has_the_weeks_of_its_runs(database: Database, target: Database, tmp_path: Path) -> None:
    stories = [long_run(database, NOW - number * WEEK) for number in (9, 3, 0)]
    tell(database, RUN)
    counts = rows(database)
    backup(database, tmp_path / "b", FixedClock())
    restore(target, tmp_path / "b")
    assert rows(target) == counts
    for story, number in zip(stories, (9, 3, 0), strict=True):
        assert tables_of(target, story.run_id) == {week(NOW - number * WEEK)}
        assert whole(target, story)
    assert names(target)[0] == EventPartition(begins=None, ends=EventPartition.of_week(NOW - 9 * WEEK).ends - WEEK).name
    assert tables_of(target, RUN) == {DEFAULT}
    assert tables_of(target, long_run(target, NOW - 20 * WEEK).run_id) == {names(target)[0]}


def test_a_user_that_does_not_own_the_table_stores_events_in_the_default(database: Database, postgres_url: str) -> None:
    role = f"writer_{secrets.token_hex(4)}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(SQL("CREATE ROLE {} LOGIN").format(Identifier(role)))
        connection.execute(SQL("GRANT ALL ON ALL TABLES IN SCHEMA public TO {}").format(Identifier(role)))
        writer = open_database(postgres_url.replace("postgres@", f"{role}@", 1))
        with capture_logs() as logs:
            SqlPartitions(writer, LATER).prepare()
        (entry,) = logs
        assert (entry["event"], entry["log_level"]) == ("partitions.not_made", "warning")
        story = long_run(writer, LATER.now())
        writer.close()
        assert tables_of(database, story.run_id) == {DEFAULT}
        connection.execute(SQL("DROP OWNED BY {}").format(Identifier(role)))
        connection.execute(SQL("DROP ROLE {}").format(Identifier(role)))
