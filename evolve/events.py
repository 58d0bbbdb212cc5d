"""Events: the append-only truth of a run. State is their fold; everything shown is a projection of them."""

from collections.abc import Mapping
from typing import Any, Self

from evolve.event_codec import decode, encode
from evolve.event_types import EventData, EventKind
from evolve.proposal import Candidate, CompletedReply, Individual, Proposal

__all__ = ["Event", "EventKind", "Subject"]

Subject = Proposal | CompletedReply | Candidate | Individual


class Event:
    """Something that happened to a run, before the log gave it a sequence number and a time.

    Two events are equal when their kinds and their JSON are.

    Args:
        data: what happened.
        subject: the value with the long texts that storage keeps beside the event; never part of the event itself.
    """

    __slots__ = ("_data", "_payload", "kind", "subject")

    kind: EventKind
    subject: Subject | None

    def __init__(self, data: EventData, subject: Subject | None = None) -> None:
        self._data: EventData | None = data
        self._payload: Mapping[str, Any] | None = None
        self.kind = data.kind
        self.subject = subject

    @classmethod
    def stored(cls, kind: EventKind, payload: Mapping[str, Any], subject: Subject | None = None) -> Self:
        """The event of a JSON, which is kept as it is; it is read when somebody first asks for its data."""
        event = cls.__new__(cls)
        event._data, event._payload = None, payload  # noqa: SLF001 - a constructor of this class
        event.kind, event.subject = kind, subject
        return event

    @property
    def data(self) -> EventData:
        """What happened: an instance of the dataclass of its kind.

        Raises:
            ReplayError: a field of a stored event is missing, or is not what it should be.
        """
        if self._data is None:
            self._data = decode(self.kind, self.payload)
        return self._data

    @property
    def payload(self) -> Mapping[str, Any]:
        """Its JSON, as it is stored and shown; read fields from `data`."""
        if self._payload is None:
            self._payload = encode(self.data)
        return self._payload

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return self.kind is other.kind and self.payload == other.payload

    __hash__ = None  # type: ignore[assignment]  # as a payload, it has no hash

    def __repr__(self) -> str:
        return f"Event({self.kind}, {dict(self.payload)})"
