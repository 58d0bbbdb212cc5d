"""Bans: candidates that a person keeps a run from building upon, as a fold of its events."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from evolve.change_events import BanLifted, CandidateBanned
from evolve.lineage import Lineage
from evolve.proposal import Individual


@dataclass(slots=True, kw_only=True)
class RemovedMember:
    """A banned individual, and the islands whose archives it left."""

    individual: Individual
    islands: set[int] = field(default_factory=set)


class Bans:
    """The bans of a run, as its events tell them.

    Attributes:
        standing: those that were not lifted, by candidate.
        removed: banned members of archives, which are offered again when their ban is lifted, by id.
    """

    def __init__(self) -> None:
        self.standing: dict[str, CandidateBanned] = {}
        self.removed: dict[str, RemovedMember] = {}
        self._descendants: set[str] = set()

    def __contains__(self, candidate_id: object) -> bool:
        """Whether a candidate is banned, itself or with one that it descends from."""
        return candidate_id in self.standing or candidate_id in self._descendants

    def passes_on(self, candidate_id: str) -> bool:
        """Whether the children of a candidate are banned too."""
        ban = self.standing.get(candidate_id)
        return candidate_id in self._descendants or (ban is not None and ban.descendants)

    def covered(self, change: CandidateBanned, lineage: Lineage) -> set[str]:
        """All that are banned once a ban is made."""
        standing = self._standing_with(change)
        return {*standing, *_descendants(standing.values(), lineage)}

    def make(self, change: CandidateBanned | BanLifted, lineage: Lineage) -> None:
        """Let a ban stand, or lift one. A ban that covers less than an earlier one of the same candidate adds nothing.

        Raises:
            KeyError: the candidate is not banned, or was not evaluated.
        """
        if isinstance(change, CandidateBanned):
            self.standing = self._standing_with(change)
        else:
            del self.standing[change.candidate_id]
        self._descendants = _descendants(self.standing.values(), lineage)
        lineage.credit_without({*self.standing, *self._descendants})

    def bear(self, candidate_id: str, parents: Iterable[str]) -> bool:
        """Take note of a candidate that was evaluated; whether it is banned with one of its parents."""
        if not any(map(self.passes_on, parents)):
            return False
        self._descendants.add(candidate_id)
        return True

    def _standing_with(self, change: CandidateBanned) -> dict[str, CandidateBanned]:
        if change.narrows(self.standing.get(change.candidate_id)):
            return self.standing
        return {**self.standing, change.candidate_id: change}

    def remove(self, individual: Individual, island: int) -> None:
        """Keep a member that leaves an archive."""
        removed = self.removed.setdefault(individual.candidate_id, RemovedMember(individual=individual))
        removed.islands.add(island)

    def offered(self, candidate_id: str, island: int) -> None:
        """Take note that a removed member was offered to an archive again."""
        if (removed := self.removed.get(candidate_id)) is not None:
            removed.islands.discard(island)
            if not removed.islands:
                del self.removed[candidate_id]

    def returning(self) -> Iterator[tuple[Individual, int]]:
        """Removed members that are not banned any more, each with an island that it left."""
        for candidate_id, removed in list(self.removed.items()):
            if candidate_id not in self:
                yield from ((removed.individual, island) for island in sorted(removed.islands))

    def fill(self, loaded: Callable[[Individual], Individual]) -> None:
        """Put loaded individuals in the place of those that a replay left without their texts."""
        for removed in self.removed.values():
            removed.individual = loaded(removed.individual)


def _descendants(bans: Iterable[CandidateBanned], lineage: Lineage) -> set[str]:
    wide = [ban.candidate_id for ban in bans if ban.descendants]
    return {descendant for candidate_id in wide for descendant in lineage.descendants(candidate_id)}
