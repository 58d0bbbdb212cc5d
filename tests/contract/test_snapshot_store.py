"""What every SnapshotStore holds."""

import pytest
from sqlalchemy import select

from service.db import snapshots
from service.db.deletion import SqlDeletions
from service.db.engine import Database
from service.db.intents import SqlRunIntents
from service.db.models import SnapshotRow
from service.db.snapshots import SqlSnapshotStore
from service.ports import DEFAULT_TENANT, RunLog, SnapshotStore, StoredSnapshot
from tests.contract.story import RUN, FixedClock, new_run

OTHER = "run_0190bbbb000000000000000000000002"


@pytest.fixture
def store(database: Database, log: RunLog, monkeypatch: pytest.MonkeyPatch) -> SnapshotStore:
    monkeypatch.setattr(snapshots, "PART_BYTES", 10)
    log.create(new_run())
    log.create(new_run(OTHER))
    return SqlSnapshotStore(database)


def snapshot(sequence: int, size: int = 35) -> StoredSnapshot:
    return StoredSnapshot(sequence=sequence, content=bytes((sequence * place) % 256 for place in range(size)))


def rows(database: Database) -> list[tuple[str, int, int]]:
    with database.read() as connection:
        columns = SnapshotRow.run_id, SnapshotRow.sequence, SnapshotRow.part
        found = connection.execute(select(*columns).order_by(*columns))
        return [(row.run_id, row.sequence, row.part) for row in found]


@pytest.mark.parametrize("size", [1, 9, 10, 11, 35, 40])
def test_what_was_saved_of_a_run_is_there_whatever_its_parts(store: SnapshotStore, size: int) -> None:
    store.save(RUN, snapshot(7, size))
    assert store.load(RUN) == snapshot(7, size)
    assert store.load(OTHER) is None


def test_a_newer_snapshot_takes_the_place_of_all_before(store: SnapshotStore, database: Database) -> None:
    store.save(OTHER, snapshot(5))
    store.save(RUN, snapshot(7))
    store.save(RUN, snapshot(9))
    store.save(RUN, snapshot(8))  # of a runner that has lost the run, and was late
    assert store.load(RUN) == snapshot(9)
    store.save(RUN, snapshot(12, 20))
    assert store.load(RUN) == snapshot(12, 20)
    assert rows(database) == [(RUN, 12, 0), (RUN, 12, 1), *((OTHER, 5, part) for part in range(4))]


def test_a_snapshot_that_was_cut_off_does_not_count(store: SnapshotStore, database: Database) -> None:
    store.save(RUN, snapshot(7))
    store.save(RUN, snapshot(9))
    with database.write() as connection:
        connection.exec_driver_sql("DELETE FROM snapshots WHERE part = 3")
    assert store.load(RUN) is None
    store.save(RUN, snapshot(9))
    assert store.load(RUN) == snapshot(9)


def test_the_older_one_stays_until_the_newer_one_is_whole(
    store: SnapshotStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(RUN, snapshot(7))
    present, calls = snapshots._present, []

    def failing(connection: object, run_id: str) -> bool:
        calls.append(run_id)
        if len(calls) == 4:
            raise RuntimeError("the process ended here")
        return present(connection, run_id)  # type: ignore[arg-type]

    monkeypatch.setattr(snapshots, "_present", failing)
    with pytest.raises(RuntimeError):
        store.save(RUN, snapshot(9))
    assert [row[1] for row in rows(database)] == [7, 7, 7, 7, 9, 9]
    assert store.load(RUN) == snapshot(7)


def test_it_goes_with_its_run_or_when_it_is_forgotten(
    store: SnapshotStore, database: Database, clock: FixedClock
) -> None:
    store.save(OTHER, snapshot(7))
    store.forget(OTHER)
    assert store.load(OTHER) is None
    store.save(RUN, snapshot(7))
    SqlRunIntents(database, DEFAULT_TENANT, clock).delete(RUN)
    store.save(RUN, snapshot(8))  # of a run that is there for nobody
    assert store.load(RUN) == snapshot(7)
    deletions = SqlDeletions(database)
    while deletions.advance():
        pass
    store.save(RUN, snapshot(9))
    assert rows(database) == []
