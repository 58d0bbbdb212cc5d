"""Activity: text received from a policy's server between two commits, for displays of a run."""

from collections import Counter
from collections.abc import Iterable

from evolve.proposal import RejectedText
from service.policy.openai_protocol import StreamChunk
from service.policy.tokens import CHARACTERS_PER_TOKEN
from service.ports import Activity

MAX_REASONS, OTHER = 20, "other"


def total(readings: Iterable[Activity]) -> Activity:
    """The sum over several policies."""
    known = list(readings)
    dropped: Counter[str] = Counter()
    for reading in known:
        dropped.update(reading.dropped)
    return Activity(
        calls=sum(reading.calls for reading in known), tokens=sum(reading.tokens for reading in known), dropped=dropped
    )


class ActivityMeter:
    """Counts the data of a server."""

    def __init__(self) -> None:
        self._characters = 0
        self._dropped: Counter[str] = Counter()

    def receive(self, chunk: StreamChunk) -> None:
        """Count the text of a stream's event."""
        self._characters += sum(len(delta.text) for delta in chunk.deltas)

    def drop(self, dropped: Iterable[RejectedText]) -> None:
        """Count a part that made no answer. The number of reasons is limited."""
        for entry in dropped:
            reason = entry.reason.partition(":")[0]
            known = reason in self._dropped or len(self._dropped) < MAX_REASONS
            self._dropped[reason if known else OTHER] += 1

    def read(self, calls: int) -> Activity:
        """The reading now, with the calls in flight."""
        return Activity(calls=calls, tokens=self._characters / CHARACTERS_PER_TOKEN, dropped=dict(self._dropped))
