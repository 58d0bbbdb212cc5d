"""Many who follow one run cost one read for each page, and leave the threads that answer requests to requests."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evolve.events import EventKind
from service.api import event_pages
from service.api.change_poller import ChangePoller
from service.api.event_feeds import EventAudience, FeedPage, FeedPages, RunFeed, feed_chunks
from service.api.event_pages import EventPages, StreamPage
from service.api.event_poller import EventPoller
from service.api.shared_reads import MAX_READS_AT_ONCE, SharedReads
from service.api.stream import Lifetime
from service.errors import StorageAwayError
from service.ports import LoggedEvent, RunReader
from tests.api.told import Told, open_told, small_run
from tests.contract.story import RUN, Story
from tests.patience import PATIENCE_SECONDS

FOLLOWERS = 200
OTHER = "run_0190bbbb000000000000000000000002"


class Reads:
    """A reader whose reads of events are counted, and held up at a gate."""

    def __init__(self, reader: RunReader) -> None:
        self._reader = reader
        self._lock = threading.Lock()
        self.gate = threading.Event()
        self.gate.set()
        self.begun = self.at_once = self.max_at_once = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def sequences(self, run_ids: Sequence[str]) -> dict[str, tuple[int, str]]:
        return dict(self._reader.sequences(run_ids))

    def events(self, run_id: str, after: int, limit: int, kinds: Sequence[str] = ()) -> list[LoggedEvent]:
        with self._lock:
            self.begun, self.at_once = self.begun + 1, self.at_once + 1
            self.max_at_once = max(self.max_at_once, self.at_once)
        self.gate.wait(PATIENCE_SECONDS)
        with self._lock:
            self.at_once -= 1
        return list(self._reader.events(run_id, after, limit, kinds))


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    async with open_told(tmp_path) as opened:
        yield opened


@pytest.fixture
def story(told: Told) -> Story:
    return small_run(told)


@pytest.fixture
def reads(told: Told) -> Any:
    return Reads(told.parts.readers.of("default"))


@pytest.fixture
async def watch(told: Told) -> AsyncIterator[EventPoller]:
    opened = EventPoller(told.parts.standings, 0.01)
    yield opened
    await opened.aclose()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in threads
            await asyncio.sleep(0.005)


async def test_followers_of_a_run_share_reads_and_each_is_told_everything(
    told: Told, story: Story, reads: Any, watch: EventPoller
) -> None:
    pages, heard = EventPages(SharedReads()), [bytearray() for _ in range(FOLLOWERS)]

    async def follow(chunks: bytearray) -> None:
        async for chunk in RunFeed(reads, RUN, 0).chunks(pages, watch, Lifetime()):
            chunks += chunk

    followers = [asyncio.create_task(follow(chunks)) for chunks in heard]
    for number in range(4, 9):
        told.append(story.child(number, story.id(0)))
        marker = f"id: {story.sequence}\n".encode()
        await until(lambda: all(marker in chunks for chunks in heard))  # noqa: B023 - it is awaited here
    told.append([story.tell(EventKind.RUN_FINISHED, reason="evaluations")])
    await asyncio.wait_for(asyncio.gather(*followers), PATIENCE_SECONDS)
    assert len(set(map(bytes, heard))) == 1
    told_ids = [line for line in bytes(heard[0]).splitlines() if line.startswith(b"id: ")]
    assert told_ids == [f"id: {sequence}".encode() for sequence in range(1, story.sequence + 1)]
    assert reads.begun < 3 * 7 < FOLLOWERS


async def test_streams_take_few_of_the_threads(told: Told, story: Story, reads: Any) -> None:
    pages = EventPages(SharedReads())
    reads.gate.clear()
    asked = [asyncio.create_task(pages.page(reads, RUN, after)) for after in range(6)]
    await until(lambda: reads.at_once == MAX_READS_AT_ONCE)
    assert told.parts.settings.threads > MAX_READS_AT_ONCE
    reads.gate.set()
    assert [page.after for page in await asyncio.gather(*asked)] == [story.sequence] * 6
    assert reads.max_at_once == MAX_READS_AT_ONCE


async def test_who_hangs_up_takes_nothing_from_the_others(told: Told, story: Story, reads: Any) -> None:
    pages = EventPages(SharedReads())
    reads.gate.clear()
    first, second = (asyncio.create_task(pages.page(reads, RUN, 0)) for _ in range(2))
    await until(lambda: reads.at_once == 1)
    first.cancel()
    reads.gate.set()
    assert (await second).after == story.sequence
    assert reads.begun == 1


async def test_a_page_that_could_not_be_read_is_read_again(told: Told, story: Story, reads: Any) -> None:
    class Away(Reads):
        def sequences(self, run_ids: Sequence[str]) -> dict[str, tuple[int, str]]:
            raise StorageAwayError("the database is away")

    pages, away = EventPages(SharedReads()), Away(reads)
    for _ in range(2):
        with pytest.raises(StorageAwayError):
            await pages.page(away, RUN, 0)  # type: ignore[arg-type]  # it has what is asked of it
    assert (await pages.page(reads, RUN, 0)).after == story.sequence


async def test_what_is_kept_is_bounded(told: Told, story: Story, reads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_pages, "PAGE", 1)
    whole = EventPages(SharedReads())
    sizes = [len((await whole.page(reads, RUN, after)).chunk) for after in range(story.sequence)]
    pages, begun = EventPages(SharedReads(max_bytes=sum(sizes[-2:]))), reads.begun
    found: list[StreamPage] = [await pages.page(reads, RUN, after) for after in range(story.sequence)]
    assert [len(page.chunk) for page in found] == sizes
    assert reads.begun == begun + story.sequence
    await pages.page(reads, RUN, story.sequence - 1)
    assert reads.begun == begun + story.sequence
    await pages.page(reads, RUN, 0)
    assert reads.begun == begun + story.sequence + 1


async def test_followers_of_all_runs_share_reads_and_each_is_told_everything(
    told: Told, story: Story, reads: Any
) -> None:
    clock = told.parts.clock
    pages, audience = FeedPages(ChangePoller(0.01, clock), clock, SharedReads()), EventAudience(key="default/")
    heard = [bytearray() for _ in range(FOLLOWERS)]

    async def follow(chunks: bytearray) -> None:
        begin = await pages.begin(audience, reads)
        async for chunk in feed_chunks(pages, audience, reads, begin, Lifetime()):
            chunks += chunk

    followers = [asyncio.create_task(follow(chunks)) for chunks in heard]
    await until(lambda: all(heard))
    sequences = range(story.sequence + 1, story.sequence + 21)
    for number in range(4, 9):
        told.append(story.child(number, story.id(0)))
        marker = f'"sequence": {story.sequence},'.encode()
        await until(lambda: all(marker in chunks for chunks in heard))  # noqa: B023 - it is awaited here
    while (RUN, story.sequence) not in (await pages.change_poller.now(audience.key, reads)).active:  # noqa: ASYNC110
        await asyncio.sleep(0.01)  # until it has looked since, of which no event tells
    late = [bytearray() for _ in range(FOLLOWERS)]
    followers += [asyncio.create_task(follow(chunks)) for chunks in late]
    await until(lambda: all(late))
    begun = reads.begun
    other = small_run(told, OTHER, created_at=clock.now())
    marker = f'"run_id": "{OTHER}", "sequence": {other.sequence},'.encode()
    await until(lambda: all(marker in chunks for chunks in (*heard, *late)))
    for follower in followers:
        follower.cancel()
    await asyncio.gather(*followers, return_exceptions=True)
    assert (len(set(map(bytes, heard))), len(set(map(bytes, late)))) == (1, 1)
    told_of = [json.loads(line[6:]) for line in bytes(heard[0]).splitlines() if line.startswith(b"data: ")]
    assert [one["sequence"] for one in told_of if one["run_id"] == RUN] == list(sequences)
    assert [one["sequence"] for one in told_of if one["run_id"] == OTHER] == list(range(1, other.sequence + 1))
    assert bytes(late[0]).count(b"data: ") == other.sequence
    assert begun < 3 * 6 < FOLLOWERS
    assert reads.begun - begun < 10


async def test_what_happens_while_followers_of_all_runs_share_a_read_is_told_to_all(
    told: Told, story: Story, reads: Any
) -> None:
    clock = told.parts.clock
    pages, audience = FeedPages(ChangePoller(0.01, clock), clock, SharedReads()), EventAudience(key="default/")
    begin = await pages.begin(audience, reads)
    heard = [bytearray(), bytearray()]

    async def follow(chunks: bytearray) -> None:
        async for chunk in feed_chunks(pages, audience, reads, begin, Lifetime()):
            chunks += chunk

    reads.gate.clear()
    told.append(story.child(4, story.id(0)))
    followers = [asyncio.create_task(follow(heard[0]))]
    await until(lambda: reads.at_once == 1)
    told.append(story.child(5, story.id(0)))
    followers.append(asyncio.create_task(follow(heard[1])))
    await until(lambda: bool(heard[1]))
    reads.gate.set()
    marker = f'"sequence": {story.sequence},'.encode()
    await until(lambda: all(marker in chunks for chunks in heard))
    for follower in followers:
        follower.cancel()
    await asyncio.gather(*followers, return_exceptions=True)
    assert heard[0] == heard[1]


async def test_a_read_that_began_earlier_does_not_set_back_where_followers_begin(
    told: Told, story: Story, reads: Any
) -> None:
    clock = told.parts.clock
    pages, audience = FeedPages(ChangePoller(0.0, clock), clock, SharedReads()), EventAudience(key="default/")
    position = await pages.begin(audience, reads)
    known = await pages.change_poller.now(audience.key, reads)
    told.append(story.child(4, story.id(0)))
    begun = await pages.begin(audience, reads)
    page = FeedPage(chunk=b"to read", position=position, newest="", known=known)
    while page.chunk:
        page = await pages.page(audience, reads, page)
    assert page.known == known != await pages.change_poller.now(audience.key, reads)
    assert await pages.begin(audience, reads) is begun
