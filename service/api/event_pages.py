"""Pages of a run's events as streams send them: read and written out once, however many follow the run."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.api.shared_reads import SharedReads
from service.api.stream import told
from service.errors import NotFoundError
from service.ports import ENDED, RunReader

PAGE = 200
DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPage:
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

    Pages with events are kept for those who come to them later, for events never change.
    """

    def __init__(self, reads: SharedReads[StreamPage]) -> None:
        self._reads = reads

    async def page(self, reader: RunReader, run_id: str, after: int, kinds: Sequence[str] = ()) -> StreamPage:
        """What comes behind an event of a run.

        Raises:
            ServiceError: the database does not answer.
        """
        key = (run_id, after, tuple(kinds))
        return await self._reads.page(key, lambda: _read(reader, *key))


def _read(reader: RunReader, run_id: str, after: int, kinds: Sequence[str]) -> StreamPage:
    # The state is read first: of a run that had ended by then nothing is missing from a page that is not full.
    sequence, state = reader.sequences([run_id]).get(run_id, (0, DELETED))
    try:
        events = list(reader.events(run_id, after, PAGE, kinds))
    except NotFoundError:
        events, state = [], DELETED
    full, last = len(events) == PAGE, events[-1].sequence if events else after
    return StreamPage(
        chunk=b"".join(told(str(one.event.kind), one.as_json(), str(one.sequence)) for one in events),
        # What a page that is not full lacks, up to the sequence that was read before it, is of kinds nobody wants.
        after=last if full else max(last, sequence),
        full=full,
        state=state if not full and (state in ENDED or state == DELETED) else "",
    )
