"""Members in memory: a search of a great many programs lets go of most, and has them read again when they are shown."""

from collections.abc import Iterable, Iterator

from evolve.event_types import IndividualInserted
from evolve.events import Event
from evolve.proposal import Individual
from evolve.search.members_on_demand import needs_members
from evolve.search.state import SearchState
from evolve.search.unloaded import is_unloaded, released

MAX_CHARACTERS = 128 << 20  # of programs and their texts: some forty thousand of 3 KB
_LEFT = 0.9  # the share of it that is left when programs are let go of
_FITTEST = 1000  # of each island: they are shown most. All of them together take at most half of the characters


class LoadedMembers:
    """Keeps the newest and the fittest members of archives in memory, within a number of characters.

    Only members that are in the log may be let go of. Decisions stay the same, since they need of the others what the
    events tell. A search whose decisions need programs or cases keeps all.

    Attributes:
        absent: whether members may be out of memory.
    """

    def __init__(self, state: SearchState, max_characters: int = MAX_CHARACTERS) -> None:
        self.absent = False
        self._state, self._max_characters, self._due = state, max_characters, max_characters
        self._sizes: dict[tuple[int, str], int] = {}  # by island and id, the oldest first
        self._characters = 0

    def committed(self, events: Iterable[Event]) -> None:
        """Take note of what is in the log now, and let go of the oldest members if there are too many."""
        for event in events:
            if isinstance(event.data, IndividualInserted):
                self._add(event.data.island, event.data.candidate_id)
        if self._characters > self._due:
            self._sizes = {key: size for key, size in self._sizes.items() if self._member(*key) is not None}
            self._characters = sum(self._sizes.values())
            if not needs_members(self._state):
                self._release()
            self._due = max(self._max_characters, int(self._characters / _LEFT))

    def loaded(self) -> None:
        """Take note of all members that were loaded from the log."""
        for island in self._state.islands:
            for member in island.archive.members:
                self._add(island.number, member.candidate_id)

    def wanted(self) -> list[str]:
        """Ids of what must be loaded, because a change makes decisions need all members; the log has all of these."""
        if not self.absent or not needs_members(self._state):
            return []
        self.absent = False
        return self._state.unloaded(is_unloaded, of_open=False)

    def _add(self, island: int, candidate_id: str) -> None:
        member = self._member(island, candidate_id)
        if member is not None and not is_unloaded(member) and (island, candidate_id) not in self._sizes:
            size = member.program.size + len(member.evaluation.feedback)
            self._sizes[island, candidate_id] = size
            self._characters += size

    def _release(self) -> None:
        fittest = set(self._fittest())
        for (island, candidate_id), size in list(self._sizes.items()):
            if self._characters <= _LEFT * self._max_characters:
                return
            if (island, candidate_id) not in fittest:
                members = self._state.islands[island].archive.members
                members.exchange_texts(released(members.get(candidate_id)))
                del self._sizes[island, candidate_id]
                self._characters -= size
                self.absent = True

    def _fittest(self) -> Iterator[tuple[int, str]]:
        for island in self._state.islands:
            room = self._max_characters / 2 / len(self._state.islands)
            for member in island.archive.members.best(_FITTEST):
                room -= self._sizes.get((island.number, member.candidate_id), 0)
                if room < 0:
                    break
                yield island.number, member.candidate_id

    def _member(self, island: int, candidate_id: str) -> Individual | None:
        members = self._state.islands[island].archive.members
        return members.get(candidate_id) if candidate_id in members else None
