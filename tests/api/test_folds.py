"""Long runs are read once: what a process has read of them is there for the next, and gives the same."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks.landscape import write_run
from evolve.events import EventKind
from service.api.dependencies import ApiDependencies
from service.api.run_cache import RunCache
from service.db.engine import Database, open_database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.db.run_columns import SqlColumnStore
from service.ports import Readers, RunReader, RunRecord, ScoredCandidate
from service.projections import saved_columns
from service.projections.array_codec import UnreadableError, decode, encode
from service.projections.saved_columns import SAVED_FORM, save_ended_run
from tests.api.told import open_told, small_run
from tests.contract.story import RUN, FixedClock, Story, new_run
from tests.databases import sqlite_file
from tests.fakes.storage import MemoryColumns
from tests.patience import PATIENCE_SECONDS

PROGRAMS = 300
OTHER = "run_0190bbbb000000000000000000000002"


class Reads:
    """A reader that notes behind which event evaluations are asked for."""

    def __init__(self, database: Database) -> None:
        self._reader = SqlRunReader(database)
        self.after: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def scored(self, run_id: str, after: int = 0) -> Iterator[ScoredCandidate]:
        self.after.append(after)
        return self._reader.scored(run_id, after)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are long from their first evaluations on."""
    monkeypatch.setattr(saved_columns, "MIN_NEW", 2)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(sqlite_file(tmp_path / "evolve.db"))
    yield opened
    opened.close()


@pytest.fixture
def run(database: Database, tmp_path: Path) -> RunRecord:
    """A run of every kind of event that is folded: of three objectives, with measures, failures and migrants."""
    folder = tmp_path / "landscape"
    folder.mkdir()
    return SqlRunReader(database).run(write_run(SqlRunLog(database, FixedClock()), folder, PROGRAMS))


def folded(found: RunCache, reads: Reads, run: RunRecord) -> list[str]:
    """All that is folded from a run, in words that differ where a number does."""
    reader = cast(RunReader, reads)
    return [
        repr(one)
        for one in (
            found.series(reader, run, 50),
            found.costs(reader, run),
            found.statistics(reader, run),
            found.front(reader, run),
            found.grid(reader, run, 1000),
            found.drawn(reader, run, 0, 0, front=True),
            found.trail(reader, run),
        )
    ]


class Gated:
    """Readers whose reads of evaluations wait at a gate."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self.begun, self.gate = threading.Event(), threading.Event()

    def of(self, tenant: str, run_id: str = "") -> Any:
        return GatedReader(self._readers.of(tenant, run_id), self)


class GatedReader:
    """One of them."""

    def __init__(self, reader: RunReader, gated: Gated) -> None:
        self._reader, self._gated = reader, gated

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def scored(self, run_id: str, after: int = 0) -> Iterator[ScoredCandidate]:
        self._gated.begun.set()
        self._gated.gate.wait()
        return self._reader.scored(run_id, after)


@pytest.mark.parametrize("others", ["/v1/runs/{}", "/v1/runs/{}/metrics"])
async def test_many_who_wait_for_one_run_leave_threads_and_turns_to_others(tmp_path: Path, others: str) -> None:
    gates: list[Gated] = []

    def gated(parts: ApiDependencies) -> ApiDependencies:
        gates.append(Gated(parts.readers))
        return replace(parts, readers=cast(Readers, gates[0]))

    async with open_told(tmp_path, gated, threads=4) as told, told.client() as client:
        small_run(told)
        small_run(told, OTHER)
        asked = [asyncio.create_task(client.get(f"/v1/runs/{RUN}/metrics")) for _ in range(8)]
        while not gates[0].begun.is_set():  # noqa: ASYNC110 - what is waited for happens in threads
            await asyncio.sleep(0.005)
        for _ in range(8):  # all of them have come as far as they come
            await client.get("/healthz")
        reading = asyncio.create_task(client.get(others.format(OTHER)))
        gates[0].begun.clear()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS / 4):
                while not (reading.done() or gates[0].begun.is_set()):  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0.005)
        finally:
            gates[0].gate.set()
        assert {answer.status_code for answer in await asyncio.gather(reading, *asked)} == {200}


def test_a_process_that_has_just_begun_folds_what_another_saved_without_reading_the_run(
    database: Database, run: RunRecord
) -> None:
    store = SqlColumnStore(database)
    before = folded(RunCache(store), Reads(database), run)
    reads = Reads(database)
    assert folded(RunCache(store), reads, run) == before
    assert reads.after == []
    assert len(before[0]) > 1000


def test_a_run_that_has_gone_on_is_caught_up_with_from_where_it_was_saved(database: Database, run: RunRecord) -> None:
    log, story, store = SqlRunLog(database, FixedClock()), Story(), SqlColumnStore(database)
    log.create(new_run())
    fence = log.take(RUN, "test", 3600.0)
    log.append(RUN, fence, [*story.seed(1.0), *story.child(1, story.id(0), 2.0), *story.child(2, story.id(1), 3.0)])
    reader = SqlRunReader(database)
    saved = reader.run(RUN)
    folded(RunCache(store), Reads(database), saved)
    later = [
        story.tell(EventKind.RUN_PAUSED, by="me"),
        *story.child(3, story.id(0), None),
        *story.child(4, story.id(2), 9.0),
    ]
    log.append(RUN, fence, later)
    reads, fresh = Reads(database), Reads(database)
    gone_on = folded(RunCache(store), reads, reader.run(RUN))
    with database.write() as connection:
        connection.exec_driver_sql("DELETE FROM run_columns")
    assert gone_on == folded(RunCache(store), fresh, reader.run(RUN))
    assert (len(reads.after), reads.after[0] > 0, fresh.after) == (1, True, [0])


@pytest.mark.parametrize("content", [b"", b"not compressed", encode([1, 2])[:-6]])
def test_what_cannot_be_read_is_folded_anew(database: Database, run: RunRecord, content: bytes) -> None:
    store = SqlColumnStore(database)
    store.save(run.id, SAVED_FORM, run.sequence, content)
    reads = Reads(database)
    folded(RunCache(store), reads, run)
    assert reads.after == [0]


def test_a_short_run_is_not_saved(database: Database, run: RunRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_columns, "MIN_NEW", PROGRAMS + 1)
    store = SqlColumnStore(database)
    folded(RunCache(store), Reads(database), run)
    assert store.load(run.id, SAVED_FORM) is None


def test_a_run_that_has_ended_is_saved_with_all_that_its_pages_read(database: Database, run: RunRecord) -> None:
    store, whole, reads = SqlColumnStore(database), Reads(database), Reads(database)
    save_ended_run(store, cast(RunReader, whole), run.id)
    found = folded(RunCache(store), reads, run)
    assert (whole.after, reads.after) == ([0], [])
    assert found == folded(RunCache(MemoryColumns()), Reads(database), run)


def test_a_run_that_goes_on_or_is_short_or_gone_is_not_saved_at_the_end_of_a_sitting(
    database: Database, run: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, story, store = SqlRunLog(database, FixedClock()), Story(), SqlColumnStore(database)
    log.create(new_run())
    fence = log.take(RUN, "test", 3600.0)
    log.append(RUN, fence, [*story.seed(1.0), *story.child(1, story.id(0), 2.0), *story.child(2, story.id(1), 3.0)])
    reader = SqlRunReader(database)
    save_ended_run(store, reader, RUN)
    save_ended_run(store, reader, OTHER)
    monkeypatch.setattr(saved_columns, "MIN_NEW", PROGRAMS + 1)
    save_ended_run(store, reader, run.id)
    assert [store.load(one, SAVED_FORM) for one in (RUN, OTHER, run.id)] == [None] * 3


def test_values_with_arrays_come_back_as_they_were() -> None:
    from array import array

    value = {"a": [array("d", [0.5, float("nan")]), {"b": array("q")}], "c": [None, "\ud800\x00", float("-inf")]}
    found = decode(encode(value))
    assert repr(found) == repr(value)
    with pytest.raises(UnreadableError):
        decode(encode(value)[:-1])
