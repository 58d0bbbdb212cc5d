"""What every archive is: a store that decides, and says what it did."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from evolve.archives.population import Population
from evolve.proposal import Individual


class Status(StrEnum):
    """What `add` did: the first three keep the individual."""

    NEW_CELL = "new_cell"
    IMPROVED = "improved"
    ADDED = "added"
    DOMINATED = "dominated"
    FULL = "full"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Insertion:
    """The outcome of `add`.

    Attributes:
        displaced: ids of the members that left for it.
    """

    status: Status
    displaced: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether the individual is a member now."""
        return self.status in {Status.NEW_CELL, Status.IMPROVED, Status.ADDED}


class Archive(Protocol):
    """A store of evaluated individuals."""

    @property
    def members(self) -> Population:
        """What it holds now; read only."""

    def add(self, individual: Individual) -> Insertion:
        """Offer an individual; the archive decides."""
