"""Decisions: the events of one call of a search, each folded into the state as it is decided."""

from evolve.event_types import EventData
from evolve.events import Event, Subject
from evolve.search.state import SearchState


class EventRecorder:
    """Collects what a call decides, so that all of it is logged or none."""

    def __init__(self, state: SearchState) -> None:
        self._state = state
        self._events: list[Event] = []

    def add(self, data: EventData, subject: Subject | None = None) -> None:
        """Decide something: the state knows it at once."""
        self.take(Event(data, subject))

    def take(self, event: Event) -> None:
        """Decide what an event says."""
        self._state.apply(event)
        self._events.append(event)

    def note(self, data: EventData) -> None:
        """Record what the state already did."""
        self._events.append(Event(data))

    def taken(self) -> tuple[Event, ...]:
        """All of them, in order."""
        return tuple(self._events)
