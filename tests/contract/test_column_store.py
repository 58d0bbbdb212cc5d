"""What every ColumnStore holds."""

import pytest

from service.db.deletion import SqlDeletions
from service.db.engine import Database
from service.db.intents import SqlRunIntents
from service.db.run_columns import SqlColumnStore
from service.ports import DEFAULT_TENANT, ColumnStore, RunLog, RunReader
from tests.contract.story import RUN, FixedClock, new_run

OTHER = "run_0190bbbb000000000000000000000002"


@pytest.fixture
def store(database: Database, log: RunLog) -> ColumnStore:
    log.create(new_run())
    return SqlColumnStore(database)


def test_what_was_saved_of_a_run_is_there_in_its_format_alone(store: ColumnStore, log: RunLog) -> None:
    log.create(new_run(OTHER))
    store.save(RUN, "1", 7, b"\x00columns\xff")
    assert store.load(RUN, "1") == b"\x00columns\xff"
    assert (store.load(RUN, "2"), store.load(OTHER, "1")) == (None, None)


def test_more_of_a_run_takes_the_place_of_less(store: ColumnStore) -> None:
    store.save(RUN, "1", 7, b"seven")
    store.save(RUN, "1", 9, b"nine")
    store.save(RUN, "1", 8, b"eight")
    assert store.load(RUN, "1") == b"nine"


def test_another_format_takes_the_place_of_any(store: ColumnStore) -> None:
    store.save(RUN, "1", 9, b"nine")
    store.save(RUN, "2", 8, b"eight")
    assert (store.load(RUN, "1"), store.load(RUN, "2")) == (None, b"eight")


def test_it_goes_with_its_run(store: ColumnStore, database: Database, reader: RunReader, clock: FixedClock) -> None:
    store.save(RUN, "1", 7, b"seven")
    SqlRunIntents(database, DEFAULT_TENANT, clock).delete(RUN)
    store.save(RUN, "1", 8, b"of a run that is there for nobody")
    assert store.load(RUN, "1") == b"seven"
    deletions = SqlDeletions(database)
    while deletions.advance():
        pass
    store.save(RUN, "1", 9, b"of a run that was")
    assert store.load(RUN, "1") is None
