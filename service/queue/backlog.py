"""Which tasks of a submitter no worker has taken yet, by what Redis tells of the stream of a pool.

A group hands out the entries of a stream in the order of their ids, so an entry waits exactly while its id is greater
than the last that was handed out. A task that is handed out again keeps its entry, and does not wait. One that is sent
again has a new one, and waits.
"""

from service.ports import PoolBacklog

EntryId = tuple[int, int]


def entry_id(text: bytes | str) -> EntryId:
    """An id of a stream as a number that can be compared."""
    milliseconds, _, number = (text.decode() if isinstance(text, bytes) else text).partition("-")
    return int(milliseconds), int(number or 0)


class Backlog:
    """The tasks of one submitter in one pool, by whether a worker has taken them."""

    def __init__(self) -> None:
        self._unsent: set[str] = set()
        self._waiting: dict[str, EntryId] = {}  # ids grow from the first to the last
        self._taken: dict[str, EntryId] = {}
        self._last: EntryId = 0, 0
        self._oldest_seconds = 0.0

    @property
    def now(self) -> PoolBacklog:
        """What is known."""
        return PoolBacklog(own=len(self._unsent) + len(self._waiting), oldest_seconds=self._oldest_seconds)

    def add(self, evaluation_id: str) -> None:
        """Count a task that is to be sent."""
        self._unsent.add(evaluation_id)

    def sent(self, evaluation_id: str, entry: EntryId) -> None:
        """Note the place of a task in the stream, for the first time or anew."""
        self.remove(evaluation_id)
        self._waiting[evaluation_id] = entry

    def remove(self, evaluation_id: str) -> None:
        """Forget a task that was taken back."""
        self._unsent.discard(evaluation_id)
        self._waiting.pop(evaluation_id, None)
        self._taken.pop(evaluation_id, None)

    def answered(self, evaluation_id: str) -> None:
        """Forget a task that has a result: it was handed out, and so was what is before it in the stream."""
        if (entry := self._waiting.get(evaluation_id)) is not None and entry > self._last:
            self._advance(entry)
        self.remove(evaluation_id)

    def heard(self, last: EntryId, oldest_seconds: float) -> None:
        """Take in the last entry that was handed out, and for how long the first behind it has waited.

        An earlier one than before is that of a server that has lost what it did last.
        """
        self._oldest_seconds = oldest_seconds
        if last < self._last:
            again = [name for name, entry in self._taken.items() if entry > last]
            waiting = self._waiting | {name: self._taken.pop(name) for name in again}
            self._waiting = dict(sorted(waiting.items(), key=lambda item: item[1]))
        self._advance(last)

    def _advance(self, last: EntryId) -> None:
        self._last = last
        while self._waiting:
            evaluation_id, entry = next(iter(self._waiting.items()))
            if entry > last:
                break
            self._taken[evaluation_id] = self._waiting.pop(evaluation_id)
