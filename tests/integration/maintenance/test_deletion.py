"""A deleted run is gone in the end, whatever becomes of the process that removes it."""

import asyncio
import subprocess
import sys
from contextlib import suppress

import pytest
from sqlalchemy import event, select, update

from evolve.events import EventKind
from service.db import deletion
from service.db.deletion import SqlDeletions, marked
from service.db.engine import Database
from service.db.intents import SqlRunIntents
from service.db.log import SqlRunLog
from service.db.models import EventRow, RunRow
from service.errors import ConflictError
from service.usecases.maintenance import remove_deleted
from tests.contract.story import FixedClock, Story
from tests.integration.maintenance.conftest import rows, tell
from tests.patience import PATIENCE_SECONDS

RUN = "run_0190aaaa0000000000000000000000a1"
# Each step is a transaction that is durable when its line is written.
REMOVE = """
import sys
from service.db import deletion
from service.db.engine import open_database
deletion.CHUNK = 1
removing = deletion.SqlDeletions(open_database(sys.argv[1]))
while removing.advance():
    print("step", flush=True)
"""


def url_of(database: Database) -> str:
    return database.engine.url.render_as_string(hide_password=False).replace("postgresql+psycopg", "postgresql")


def left(database: Database) -> dict[str, int]:
    kept = {"tenants", "problems", "bundles", "programs", "texts", "usage"}
    return {name: count for name, count in rows(database).items() if count and name not in kept}


def evolved(database: Database, children: int) -> Story:
    story = tell(database, RUN, ended=False)
    log = SqlRunLog(database, FixedClock())
    fence = log.take(RUN, "runner-2", 60)
    for number in range(2, children + 2):
        log.append(RUN, fence, story.child(number, story.id(number - 1)))
    log.release(RUN, fence)
    return story


@pytest.mark.parametrize("steps", [1, 7, 20])
def test_a_removal_that_was_killed_ends_with_everything_gone(database: Database, clock: FixedClock, steps: int) -> None:
    story = evolved(database, 8)
    log = SqlRunLog(database, clock)
    fence = log.take(RUN, "runner-3", 60)
    log.append(RUN, fence, [story.tell(EventKind.RUN_FINISHED, reason="evaluations")])
    log.release(RUN, fence)
    SqlRunIntents(database, "default", clock).delete(RUN)
    with subprocess.Popen([sys.executable, "-c", REMOVE, url_of(database)], stdout=subprocess.PIPE) as removing:
        assert removing.stdout is not None
        for _ in range(steps):
            assert removing.stdout.readline() == b"step\n"
        removing.kill()
    assert marked(database) == [RUN]
    assert left(database)["events"] > 0
    fresh = SqlDeletions(database)
    while fresh.advance():
        pass
    assert left(database) == {}


@pytest.mark.parametrize("steps", [1, 9])
def test_a_batch_whose_removal_was_killed_ends_with_everything_gone(
    database: Database, clock: FixedClock, steps: int
) -> None:
    runs = [f"run_0190aaaa0000000000000000000000b{number}" for number in range(5)]
    for run_id in [*runs, RUN]:
        tell(database, run_id)
    with database.write() as connection:
        connection.execute(update(RunRow).where(RunRow.id.in_(runs)).values(batch_id="bat_1"))
    intents = SqlRunIntents(database, "default", clock)
    SqlRunIntents(database, "another", clock).delete_batch("bat_1")
    assert marked(database) == []
    intents.delete_batch("bat_1")
    with subprocess.Popen([sys.executable, "-c", REMOVE, url_of(database)], stdout=subprocess.PIPE) as removing:
        assert removing.stdout is not None
        for _ in range(steps):
            assert removing.stdout.readline() == b"step\n"
        removing.kill()
    assert set(marked(database)) <= set(runs)
    assert marked(database) != []
    fresh = SqlDeletions(database)
    while fresh.advance():
        pass
    with database.read() as connection:
        assert list(connection.execute(select(RunRow.id)).scalars()) == [RUN]
        assert set(connection.execute(select(EventRow.run_id)).scalars()) == {RUN}


def test_a_batch_is_let_go_of_whole_in_a_few_statements_however_many_its_runs(
    database: Database, clock: FixedClock
) -> None:
    runs = [f"run_0190aaaa0000000000000000000000b{number}" for number in range(9)]
    for run_id in runs:
        tell(database, run_id)
    with database.write() as connection:
        connection.execute(update(RunRow).where(RunRow.id != runs[0]).values(batch_id="bat_many"))
        connection.execute(update(RunRow).where(RunRow.id == runs[0]).values(batch_id="bat_one"))
    intents, counts = SqlRunIntents(database, "default", clock), []
    fence = SqlRunLog(database, clock).take(runs[-1], "runner-2", 3600.0)
    with pytest.raises(ConflictError, match=runs[-1]):
        intents.delete_batch("bat_many")
    assert marked(database) == []
    SqlRunLog(database, clock).release(runs[-1], fence)
    for batch_id in ("bat_one", "bat_many"):
        statements: list[str] = []

        def note(_: object, __: object, statement: str, *___: object, into: list[str] = statements) -> None:
            into.append(statement)

        event.listen(database.engine, "before_cursor_execute", note)
        intents.delete_batch(batch_id)
        event.remove(database.engine, "before_cursor_execute", note)
        counts.append(len(statements))
    assert counts[0] == counts[1]
    assert marked(database) == runs


async def test_the_service_removes_what_was_deleted_before_it_began(database: Database, clock: FixedClock) -> None:
    tell(database, RUN)
    SqlRunIntents(database, "default", clock).delete(RUN)
    gone = asyncio.Event()

    class Noticing(SqlDeletions):
        def advance(self) -> bool:
            there_is_more = super().advance()
            if not there_is_more:
                loop.call_soon_threadsafe(gone.set)
            return there_is_more

    loop = asyncio.get_running_loop()
    task = asyncio.create_task(remove_deleted(Noticing(database)))
    await asyncio.wait_for(gone.wait(), PATIENCE_SECONDS)
    assert left(database) == {}
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def test_of_two_that_remove_a_run_neither_waits_nor_fails(
    database: Database, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "CHUNK", 1)
    tell(database, RUN)
    SqlRunIntents(database, "default", clock).delete(RUN)
    one, another = SqlDeletions(database), SqlDeletions(database)
    while any([one.advance(), another.advance()]):
        pass
    assert left(database) == {}
    with database.read() as connection:
        assert connection.execute(select(EventRow.sequence)).first() is None
