"""What every archive is: a store that decides about an individual without changing, and then does as decided."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from evolve.archives.population import Population
from evolve.proposal import Individual


class Status(StrEnum):
    """The decision on an individual: the first three keep it."""

    NEW_CELL = "new_cell"
    IMPROVED = "improved"
    ADDED = "added"
    DOMINATED = "dominated"
    FULL = "full"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Insertion:
    """What an offer leads to.

    Attributes:
        displaced: ids of the members that leave for it.
    """

    status: Status
    displaced: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether the individual becomes a member."""
        return self.status in {Status.NEW_CELL, Status.IMPROVED, Status.ADDED}


class Archive(Protocol):
    """A store of evaluated individuals.

    A search asks `offer`, writes the decision into an event, and calls `apply` with it. A replay calls `apply` with the
    decision that the event has.
    """

    @property
    def members(self) -> Population:
        """What it holds now; read only."""

    def offer(self, individual: Individual) -> Insertion:
        """Decide about an individual; nothing changes. An empty archive keeps it."""

    def apply(self, individual: Individual, insertion: Insertion) -> None:
        """Do as decided; of every offer, in the order of the offers, also where the individual is not kept."""

    def remove(self, candidate_id: str) -> None:
        """Remove a member, whatever the archive would decide: a person bans it."""


def add(archive: Archive, individual: Individual) -> Insertion:
    """Offer an individual and do as the archive decides."""
    insertion = archive.offer(individual)
    archive.apply(individual, insertion)
    return insertion
