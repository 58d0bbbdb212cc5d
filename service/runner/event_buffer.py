"""Journal: gives events their sequence and time, and commits them in batches off the event loop."""

from collections.abc import Iterable
from functools import partial

from prometheus_client import Histogram

from evolve.event_types import EventData
from evolve.events import Event
from service import tracing
from service.ports import Clock, LoggedEvent, RunLog
from service.runner.storage_retry import StorageRetry

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
COMMIT = Histogram("evolve_commit_duration_seconds", "From a batch of events to its end in storage", buckets=_SECONDS)


class EventBuffer:
    """The outbox of a run: what is written here is durable, and may be shown, after the next `commit`.

    Args:
        log: where to.
        clock: gives events their times.
        run_id: the run.
        fence: the fencing token of its lease.
        sequence: of its last event.
        patience: with which a database that is away is waited for.
    """

    def __init__(
        self, log: RunLog, clock: Clock, run_id: str, fence: int, sequence: int, patience: StorageRetry | None = None
    ) -> None:
        self._log = log
        self._patience = patience or StorageRetry(clock)
        self._clock = clock
        self._run_id = run_id
        self._fence = fence
        self._sequence = sequence
        self._outbox: list[LoggedEvent] = []

    def __len__(self) -> int:
        """Events in the outbox."""
        return len(self._outbox)

    @property
    def sequence(self) -> int:
        """Of the last event written, committed or not."""
        return self._sequence

    def write(self, events: Iterable[Event]) -> None:
        """Put events into the outbox."""
        now = self._clock.now()
        for event in events:
            self._sequence += 1
            self._outbox.append(LoggedEvent(run_id=self._run_id, sequence=self._sequence, at=now, event=event))

    def note(self, data: EventData) -> None:
        """Put an event of the run itself into the outbox."""
        self.write([Event(data)])

    async def commit(self) -> list[LoggedEvent]:
        """Make the outbox durable; what it held.

        Raises:
            LeaseLostError: another runner took the run.
            StorageError: the database cannot take it, or was away for longer than patience lasts.
        """
        batch, self._outbox = self._outbox, []
        if batch:
            about: dict[str, tracing.Attribute] = {"evolve.run.id": self._run_id, "evolve.event.count": len(batch)}
            with tracing.span("commit events", attributes=about), COMMIT.time():
                await self._patience.call(partial(self._log.append, self._run_id, self._fence, batch))
        return batch
