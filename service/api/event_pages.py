"""Pages of a run's events as streams send them: read and written out once, however many follow the run."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool

from service.api.stream import told
from service.errors import NotFoundError
from service.ports import ENDED, RunReader

PAGE = 200
READS_AT_ONCE = 2  # of the threads that answer requests
MOST_BYTES = 32 * 1024 * 1024
DELETED = "deleted"
_Key = tuple[str, int, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """What comes next in a run.

    Attributes:
        chunk: the events as they are sent; empty: there are none.
        after: the sequence up to which all is told with it.
        full: whether more may follow at once.
        state: in which the run ended, if nothing more will come; else empty.
    """

    chunk: bytes
    after: int
    full: bool
    state: str


class EventPages:
    """The pages of one process. Whoever asks has a reader to whom the run is there.

    What is asked for by several at once is read once. Pages with events are kept for those who come to them later, for
    events never change.

    Args:
        most_bytes: how much is kept.
        reads_at_once: how many pages are read at the same time.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, reads_at_once: int = READS_AT_ONCE) -> None:
        self._most_bytes, self._size = most_bytes, 0
        self._reads = asyncio.Semaphore(reads_at_once)
        self._kept: OrderedDict[_Key, EventPage] = OrderedDict()
        self._under_way: dict[_Key, asyncio.Task[EventPage]] = {}

    async def page(self, reader: RunReader, run_id: str, after: int, kinds: Sequence[str] = ()) -> EventPage:
        """What comes behind an event of a run.

        Raises:
            ServiceError: the database does not answer.
        """
        key = (run_id, after, tuple(kinds))
        if (kept := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return kept
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.create_task(self._read(key, reader))
            task.add_done_callback(lambda done: self._done(key, done))
        return await asyncio.shield(task)  # one who hangs up takes nothing from the others

    async def _read(self, key: _Key, reader: RunReader) -> EventPage:
        async with self._reads:
            return await run_in_threadpool(_read, reader, *key)

    def _done(self, key: _Key, task: "asyncio.Task[EventPage]") -> None:
        del self._under_way[key]
        if task.cancelled() or task.exception() is not None:
            return
        page = task.result()
        if page.chunk:
            self._kept[key] = page
            self._size += len(page.chunk)
        while self._size > self._most_bytes:
            _, oldest = self._kept.popitem(last=False)
            self._size -= len(oldest.chunk)


def _read(reader: RunReader, run_id: str, after: int, kinds: Sequence[str]) -> EventPage:
    # The state is read first: of a run that had ended by then nothing is missing from a page that is not full.
    sequence, state = reader.sequences([run_id]).get(run_id, (0, DELETED))
    try:
        events = list(reader.events(run_id, after, PAGE, kinds))
    except NotFoundError:
        events, state = [], DELETED
    full, last = len(events) == PAGE, events[-1].sequence if events else after
    return EventPage(
        chunk=b"".join(told(str(one.event.kind), one.as_json(), str(one.sequence)) for one in events),
        # What a page that is not full lacks, up to the sequence that was read before it, is of kinds nobody wants.
        after=last if full else max(last, sequence),
        full=full,
        state=state if not full and (state in ENDED or state == DELETED) else "",
    )
