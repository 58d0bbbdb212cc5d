"""Units of work on every database: what is written in one is there whole, or not at all."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Barrier

import pytest
from sqlalchemy import func, insert, select, text

from service.db.engine import Database
from service.db.models import TextRow
from service.errors import ConflictError, StorageAwayError, StorageError

THREADS = 40  # of the pool that answers requests
MEETING_SECONDS = 20.0


def write(database: Database, *names: str) -> None:
    with database.write() as connection:
        connection.execute(insert(TextRow), [{"hash": name, "body": name} for name in names])


def held(database: Database) -> int:
    with database.read() as connection:
        return connection.execute(select(func.count()).select_from(TextRow)).scalar_one()


def held_by_others(database: Database) -> int:
    """What a thread sees that has the unit in its context, as a task or a pool's thread does."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, held, database).result()


def test_what_is_written_in_a_unit_is_seen_by_others_when_it_ends(database: Database) -> None:
    with database.unit():
        write(database, "a")
        write(database, "b")
        assert (held(database), held_by_others(database)) == (2, 0)
    assert held_by_others(database) == 2


def test_an_error_takes_all_of_a_unit_back(database: Database) -> None:
    def fail() -> None:
        with database.unit():
            write(database, "a")
            with database.unit():
                write(database, "b")
            raise ConflictError("no")

    with pytest.raises(ConflictError):
        fail()
    assert held(database) == 0


def test_a_nested_unit_ends_with_the_outermost(database: Database) -> None:
    with database.unit():
        with database.unit():
            write(database, "a")
        assert held_by_others(database) == 0
    assert held_by_others(database) == 1


def test_a_write_that_fails_takes_back_its_own_and_no_more(database: Database) -> None:
    def fail() -> None:
        with database.write() as connection:
            connection.execute(insert(TextRow), [{"hash": "b", "body": "b"}])
            raise ConflictError("no")

    with database.unit():
        write(database, "a")
        with pytest.raises(ConflictError):
            fail()
        write(database, "c")
    with database.read() as connection:
        assert sorted(connection.execute(select(TextRow.hash)).scalars()) == ["a", "c"]


def test_a_unit_in_which_a_read_failed_is_not_taken_for_committed(database: Database) -> None:
    def carry_on() -> None:
        with database.unit():
            write(database, "a")
            with pytest.raises(StorageError), database.read() as connection:
                connection.execute(text("SELECT x FROM nowhere"))

    with pytest.raises(StorageAwayError, match="gave the transaction up"):
        carry_on()
    assert held(database) == 0


def test_a_unit_of_one_thread_is_none_of_another(database: Database) -> None:
    with ThreadPoolExecutor(1) as pool:
        with database.unit():
            write(database, "a")
            later = pool.submit(copy_context().run, write, database, "b")
        later.result()  # it waited where the database has one writer
    assert held(database) == 2


def test_a_context_that_outlives_its_unit_begins_anew(database: Database) -> None:
    with database.unit():
        context = copy_context()
    context.run(write, database, "a")
    assert held_by_others(database) == 1


def test_units_of_two_databases_are_two(database: Database, other_database: Database) -> None:
    def fail() -> None:
        with database.unit():
            write(database, "a")
            write(other_database, "a")
            with other_database.unit():
                write(other_database, "b")
                write(database, "b")
            raise ConflictError("no")

    with pytest.raises(ConflictError):
        fail()
    assert (held(database), held(other_database)) == (0, 2)


def test_as_many_read_at_once_as_requests_are_answered(database: Database) -> None:
    everybody = Barrier(THREADS)

    def meet(_: int) -> int:
        with database.read() as connection:
            everybody.wait(MEETING_SECONDS)  # breaks where one waits for the connection of another
            return connection.execute(select(func.count()).select_from(TextRow)).scalar_one()

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(meet, range(THREADS))) == [0] * THREADS
