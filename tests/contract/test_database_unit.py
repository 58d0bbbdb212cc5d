"""Units of work on every database: what is written in one is there whole, or not at all."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Barrier, Event

import pytest
from sqlalchemy import QueuePool, func, insert, select, text

from service.db.engine import CONNECTIONS, Database, open_database
from service.db.models import TextRow
from service.errors import ConflictError, StorageAwayError, StorageError

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


def test_as_many_read_at_once_as_there_are_connections_and_the_next_one_waits(database: Database) -> None:
    everybody, done = Barrier(CONNECTIONS + 1), Event()

    def hold() -> None:
        with database.read() as connection:
            connection.execute(select(1))
            everybody.wait(MEETING_SECONDS)  # breaks where one waits for the connection of another
            done.wait(MEETING_SECONDS)

    with ThreadPoolExecutor(CONNECTIONS + 1) as pool:
        holding = [pool.submit(hold) for _ in range(CONNECTIONS)]
        everybody.wait(MEETING_SECONDS)
        one_more = pool.submit(held, database)
        assert isinstance(database.engine.pool, QueuePool)
        assert database.engine.pool.checkedout() == CONNECTIONS
        assert not one_more.done()
        done.set()
        assert one_more.result(MEETING_SECONDS) == 0
        assert [one.result() for one in holding] == [None] * CONNECTIONS


@pytest.mark.parametrize("connections", [3, 10, 52])
def test_a_process_may_have_more_connections_or_fewer(database_url: str, connections: int) -> None:
    opened, everybody = open_database(database_url, connections=connections), Barrier(connections)

    def meet(_: int) -> int:
        with opened.read() as connection:
            everybody.wait(MEETING_SECONDS)
            return connection.execute(select(func.count()).select_from(TextRow)).scalar_one()

    with ThreadPoolExecutor(connections) as pool:
        assert list(pool.map(meet, range(connections))) == [0] * connections
    opened.close()
