"""Members in memory: a search of a great many programs lets go of most, and has them read again when they are shown."""

from collections.abc import Iterable

from evolve.event_types import IndividualInserted
from evolve.events import Event
from evolve.proposal import Individual
from evolve.search.members_on_demand import needs_members
from evolve.search.state import SearchState
from evolve.search.unloaded import is_unloaded, released

MAX_CHARACTERS = 128 << 20  # of programs and their texts: some forty thousand of 3 KB
_STAY = 0.75  # the share of it that is left when programs are let go of
_FITTEST = 1000  # of each island: they are shown most


class LoadedMembers:
    """Keeps the newest and the fittest members of archives in memory, within a number of characters.

    Only members that are in the log may be let go of. Decisions stay the same, since they need of the others what the
    events tell. A search whose decisions need programs or cases keeps all.

    Attributes:
        absent: whether members may be out of memory.
    """

    def __init__(self, state: SearchState, max_characters: int = MAX_CHARACTERS) -> None:
        self.absent = False
        self._state, self._max_characters = state, max_characters
        self._sizes: dict[tuple[int, str], int] = {}  # by island and id, the oldest first
        self._characters = 0

    def committed(self, events: Iterable[Event]) -> None:
        """Take note of what is in the log now, and let go of the oldest members if there are too many."""
        for event in events:
            if isinstance(event.data, IndividualInserted):
                self._add(event.data.island, event.data.candidate_id)
        if self._characters > self._max_characters and not needs_members(self._state):
            self._release()

    def wanted(self) -> list[str]:
        """Ids of what must be loaded, because a change makes decisions need all members."""
        if not self.absent or not needs_members(self._state):
            return []
        self.absent = False
        return self._state.unloaded(is_unloaded)

    def _add(self, island: int, candidate_id: str) -> None:
        member = self._member(island, candidate_id)
        if member is not None and not is_unloaded(member) and (island, candidate_id) not in self._sizes:
            size = member.program.size + len(member.evaluation.feedback)
            self._sizes[island, candidate_id] = size
            self._characters += size

    def _release(self) -> None:
        self._sizes = {key: size for key, size in self._sizes.items() if self._member(*key) is not None}
        self._characters = sum(self._sizes.values())
        for (island, candidate_id), size in list(self._sizes.items()):
            if self._characters <= _STAY * self._max_characters:
                return
            members = self._state.islands[island].archive.members
            if members.rank(candidate_id) >= _FITTEST:
                members.exchange_texts(released(members.get(candidate_id)))
                del self._sizes[island, candidate_id]
                self._characters -= size
                self.absent = True

    def _member(self, island: int, candidate_id: str) -> Individual | None:
        members = self._state.islands[island].archive.members
        return members.get(candidate_id) if candidate_id in members else None
