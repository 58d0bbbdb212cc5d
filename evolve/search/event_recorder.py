"""Decisions as events: those of a call are recorded as they are made, those of a log are compared on replay."""

from evolve.errors import ReplayError
from evolve.event_types import EventData, IndividualInserted
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

    def taken(self) -> tuple[Event, ...]:
        """All of them, in order."""
        return tuple(self._events)


def compare_decision(state: SearchState, event: Event) -> None:
    """Refuse the insertion of a log on which an archive decides otherwise now; other events hold no such decision.

    Raises:
        ReplayError: it does, or the candidate is not known.
    """
    told = event.data
    if not isinstance(told, IndividualInserted):
        return
    try:
        now = state.offer(state.find(told.candidate_id), told.island)
    except (KeyError, IndexError) as error:
        raise ReplayError(f"the event {event.kind} refers to {error}, which those before it do not know") from error
    if now != told:
        raise ReplayError(
            f"candidate {told.candidate_id} was {told.status}, on replay {now.status}:"
            " the run was made by another version or its problem has changed"
        )
