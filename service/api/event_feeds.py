"""What streams of events are made of: the events of one run, or of all runs of a caller."""

import asyncio
import heapq
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from evolve.events import EventKind
from service.api.change_poller import ChangePoller, RunSnapshot
from service.api.event_pages import PAGE, EventPages
from service.api.event_poller import EventPoller
from service.api.shared_reads import SharedReads
from service.api.stream import AWAY_SECONDS, PING, Chunks, Lifetime, begun, told
from service.api.stream_cursor import StreamCursor
from service.errors import NotFoundError, ServiceError
from service.ports import ENDED, Clock, LoggedEvent, RunReader

log = structlog.get_logger(__name__)

MAX_NEW_RUNS = 2000
MAX_HEADS = 256  # of audiences, the last that asked
END = "end"
SKEW = timedelta(seconds=60)  # between clocks of those who create runs


class RunFeed:
    """The events of one run from a place on, until it has ended and all is told."""

    def __init__(self, reader: RunReader, run_id: str, after: int, kinds: Sequence[str] = ()) -> None:
        self._reader, self._run_id, self._after, self._kinds = reader, run_id, after, kinds

    async def chunks(self, pages: EventPages, watch: EventPoller, lifetime: Lifetime) -> Chunks:
        """What is sent, as it happens."""
        yield begun()
        while not lifetime.over:
            try:
                page = await pages.page(self._reader, self._run_id, self._after, self._kinds)
            except ServiceError as error:  # the client need not notice
                log.warning("stream.away", reason=str(error))
                yield PING
                await asyncio.sleep(AWAY_SECONDS)
                continue
            self._after = page.after
            if page.chunk:
                yield page.chunk
            if page.state:
                yield told(END, {"run_id": self._run_id, "state": page.state})
                return
            if not page.full and not await watch.beyond(self._run_id, self._after, lifetime.pause_seconds):
                yield PING


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPage:
    """What comes next in all runs of a caller.

    Attributes:
        chunk: the events as they are sent; empty: all is told for now.
        position: how far is told with it.
        newest: the newest run that was looked at.
        known: how the runs were before it was read: what comes after that may be missing from it.
    """

    chunk: bytes
    position: StreamCursor
    newest: str
    known: RunSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class EventAudience:
    """Those to whom the same is told of all runs.

    Attributes:
        key: whose runs.
        kinds: what is wanted of them; empty: everything.
    """

    key: str
    kinds: tuple[str, ...] = ()


class FeedPages:
    """What the followers of all runs are told: where they are equally far, it is read once.

    Who begins without a position begins where the others of its audience are, so that they are equally far.
    """

    def __init__(self, change_poller: ChangePoller, clock: Clock, reads: SharedReads[FeedPage]) -> None:
        self.change_poller, self._clock, self._reads = change_poller, clock, reads
        self._heads: OrderedDict[EventAudience, FeedPage] = OrderedDict()

    async def begin(self, audience: EventAudience, reader: RunReader) -> StreamCursor:
        """A position behind which comes what happens from now on.

        Raises:
            ServiceError: the database does not answer.
        """
        now = await self.change_poller.now(audience.key, reader)
        head = self._heads.get(audience)
        if head is None or head.known != now:
            begin = StreamCursor(since=now.at, seen=dict(now.active))
            head = self._head(audience, FeedPage(chunk=b"", position=begin, newest="", known=now))
        return head.position

    async def page(self, audience: EventAudience, reader: RunReader, at: FeedPage) -> FeedPage:
        """What comes behind another page.

        Raises:
            ServiceError: the database does not answer.
        """
        key = (audience, at.position.since, frozenset(at.position.seen.items()))
        page = await self._reads.page(key, lambda: _read(Feed(reader, self._clock, at.position, audience.kinds), at))
        head = self._heads.get(audience)
        if not page.chunk and (head is None or (head.known != page.known and head.known.at < page.known.at)):
            self._head(audience, page)  # unless others have begun there meanwhile, or further on
        return page

    def _head(self, audience: EventAudience, page: FeedPage) -> FeedPage:
        self._heads[audience] = page
        self._heads.move_to_end(audience)
        while len(self._heads) > MAX_HEADS:
            self._heads.popitem(last=False)
        return page


def _read(feed: "Feed", at: FeedPage) -> FeedPage:
    feed.newest = at.newest
    events = feed.read(PAGE)
    chunk = b"".join(told(str(one.event.kind), one.as_json(), place.text()) for one, place in events)
    return FeedPage(chunk=chunk, position=feed.position, newest=feed.newest, known=at.known)


async def feed_chunks(
    pages: FeedPages, audience: EventAudience, reader: RunReader, begin: StreamCursor, lifetime: Lifetime
) -> Chunks:
    """What a stream of all runs sends from a position on, as it happens."""
    yield begun()
    position, newest = begin, ""
    known: RunSnapshot | None = None
    while not lifetime.over:
        try:
            moved = await pages.change_poller.beyond(audience.key, reader, known, lifetime.pause_seconds)
            if moved is None:
                yield PING
                continue
            at = FeedPage(chunk=b"", position=position, newest=newest, known=moved)
            page = await pages.page(audience, reader, at)
        except ServiceError as error:
            log.warning("stream.away", reason=str(error))
            yield PING
            await asyncio.sleep(AWAY_SECONDS)
            continue
        position, newest = page.position, page.newest
        if page.chunk:
            yield page.chunk
        else:
            known = page.known  # of who began to read it: there may be more since


class Feed:
    """The events of all runs of a caller from a position on; in order within each run."""

    def __init__(self, reader: RunReader, clock: Clock, position: StreamCursor, kinds: Sequence[str] = ()) -> None:
        self._reader, self._clock, self._kinds = reader, clock, kinds
        self.position = position
        self.newest = ""

    def read(self, limit: int) -> list[tuple[LoggedEvent, StreamCursor]]:
        """The next events, each with the position behind it; none: all is told for now."""
        while True:
            seen = self._seen()
            standings = self._reader.sequences(list(seen))
            seen = {run_id: after for run_id, after in seen.items() if run_id in standings}
            moved = [run_id for run_id, after in seen.items() if standings[run_id][0] > after]
            if not moved:
                self._settle(seen, [run_id for run_id in seen if standings[run_id][1] in ENDED])
                return []
            if found := self._next(seen, {run_id: standings[run_id][0] for run_id in moved[:limit]}, limit):
                return found

    def _seen(self) -> dict[str, int]:
        """How far each run has been told, those included that are new."""
        known = self.position.seen
        seen = {run_id: self._begins(run_id) for run_id in self._reader.active() if run_id not in known} | dict(known)
        page = self._reader.runs(1)
        newest = page[0].id if page else ""
        if newest and newest == self.newest:
            return seen
        for _ in range(MAX_NEW_RUNS // PAGE):
            new = [run.id for run in page if run.created_at > self.position.since]
            seen = dict.fromkeys(new, 0) | seen
            if len(new) < len(page) or not page:
                break
            page = self._reader.runs(PAGE, after=(page[-1].created_at, page[-1].id))
        self.newest = newest
        return seen

    def _begins(self, run_id: str) -> int:
        """Behind which event a run begins to be told that this position does not know.

        One that was told to its end, and has been continued since, begins with that.
        """
        try:
            if self._reader.run(run_id).created_at > self.position.since:
                return 0
        except NotFoundError:  # deleted just now
            return 0
        continued = list(self._reader.events(run_id, 0, PAGE, (str(EventKind.RUN_CONTINUED),)))
        return continued[-1].sequence - 1 if continued else 0

    def _next(
        self, seen: dict[str, int], moved: Mapping[str, int], limit: int
    ) -> list[tuple[LoggedEvent, StreamCursor]]:
        share, found, passed = max(1, limit // len(moved)), [], {}
        for run_id, sequence in moved.items():
            events = self._events(run_id, seen[run_id], share)
            found.append(events)
            if len(events) < share:  # what is left up to here is of kinds that nobody wants
                passed[run_id] = max(sequence, events[-1].sequence if events else 0)
        placed = []
        for event in heapq.merge(*found, key=lambda one: one.at):  # which keeps the order within each run
            seen[event.run_id] = event.sequence
            placed.append((event, StreamCursor(since=self.position.since, seen=dict(seen))))
        self.position = StreamCursor(since=self.position.since, seen=seen | passed)
        return placed

    def _events(self, run_id: str, after: int, limit: int) -> list[LoggedEvent]:
        try:
            return list(self._reader.events(run_id, after, limit, self._kinds))
        except NotFoundError:  # deleted just now
            return []

    def _settle(self, seen: dict[str, int], ended: Sequence[str]) -> None:
        """Forget runs that have ended, once nobody can take them for new."""
        since = max(self.position.since, self._clock.now() - SKEW)
        for run_id in ended:
            if self._reader.run(run_id).created_at <= since:
                del seen[run_id]
        self.position = StreamCursor(since=since, seen=seen)
