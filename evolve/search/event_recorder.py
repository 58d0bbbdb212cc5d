"""Decisions: the events of one call of a search, each folded into the state as it is decided."""

from collections.abc import Mapping
from typing import Any

from evolve.events import Event, EventKind, Subject
from evolve.search.state import SearchState


class EventRecorder:
    """Collects what a call decides, so that all of it is logged or none."""

    def __init__(self, state: SearchState) -> None:
        self._state = state
        self._events: list[Event] = []

    def add(self, kind: EventKind, payload: Mapping[str, Any], subject: Subject | None = None) -> None:
        """Decide something: the state knows it at once."""
        event = Event(kind=kind, payload=payload, subject=subject)
        self._state.apply(event)
        self._events.append(event)

    def note(self, kind: EventKind, payload: Mapping[str, Any]) -> None:
        """Record what the state already did."""
        self._events.append(Event(kind=kind, payload=payload))

    def taken(self) -> tuple[Event, ...]:
        """All of them, in order."""
        return tuple(self._events)
