"""View: what selections read of an island's members, read-only; what is costly is computed once for each change."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evolve.archives.population import Population
from evolve.lineage import Lineage
from evolve.selection.case_table import CaseTable

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
_Result = TypeVar("_Result")


class ArchiveView:
    """Members of an archive by place, and how they stand in the lineage of the run.

    Attributes:
        members: what the archive holds.
        objectives: names of the rewards' columns.
        reference: where hypervolume is measured from, signed as scores are; None: not known.
    """

    def __init__(
        self,
        members: Population,
        lineage: Lineage,
        objectives: Sequence[str],
        reference: tuple[float, ...] | None = None,
    ) -> None:
        self.members = members
        self.objectives = tuple(objectives)
        self.reference = reference
        self._lineage = lineage
        self._version = -1
        self._known: dict[Callable[[ArchiveView], Any], Any] = {}
        self._cases = CaseTable(members)
        self._found = np.zeros(16, dtype=np.intp)
        self._followed = 0

    def __len__(self) -> int:
        return len(self.members)

    def once(self, compute: Callable[["ArchiveView"], _Result]) -> _Result:
        """What a function makes of the members, remembered until they change; it reads nothing else of the view."""
        if self._version != self.members.version:
            self._known.clear()
            self._version = self.members.version
        if compute not in self._known:
            self._known[compute] = compute(self)
        known: _Result = self._known[compute]
        return known

    @property
    def rewards(self) -> Floats:
        """N x k rewards, more is better, on comparable scales."""
        return self.members.rewards

    @property
    def signed_scores(self) -> Floats:
        """N x k scores with the direction's sign, more is better: what dominance is decided by."""
        return self.members.signed_scores

    @property
    def fitness(self) -> Floats:
        """N fitness values."""
        return self.members.fitness

    def ranked(self, rank: int) -> int:
        """Place of the member of a rank, 0 the fittest."""
        return self.members.ranked(rank)

    @property
    def case_names(self) -> tuple[str, ...]:
        """Names of the columns of `cases`."""
        return self._cases.read()[0] or self.objectives

    @property
    def cases(self) -> Floats:
        """N x c results, more is better: of the cases that at least half of the members have, else the signed scores.

        Minus infinity where a member lacks a case.
        """
        names, values = self._cases.read()
        return values if names else self.signed_scores

    @property
    def visits(self) -> Counts:
        """Proposals that started from each member, failed ones and those in flight included."""
        return self._lineage.visits(self._rows)

    @property
    def expansions(self) -> Counts:
        """Visits to each member and to whatever descends from it."""
        return self._lineage.expansions(self._rows)

    @property
    def children(self) -> Counts:
        """Evaluated candidates of the proposals that started from each member."""
        return self._lineage.children(self._rows)

    @property
    def descended(self) -> Floats:
        """The highest fitness among each member and what descends from it."""
        return self._lineage.best(self._rows)

    @property
    def related(self) -> NDArray[np.bool_]:
        """Which members are in flight, or are an ancestor or a descendant of a candidate that is."""
        return self._lineage.related(self._rows)

    @property
    def seen(self) -> Counts:
        """How often the outcome of each member was met in the run, as a result or as the start of a proposal."""
        return self._lineage.seen(self._rows)

    @property
    def airborne(self) -> Counts:
        """Proposals in flight that started from the outcome of each member."""
        return self._lineage.airborne(self._rows)

    @property
    def proposals(self) -> int:
        """How many proposals the run has made."""
        return self._lineage.proposals

    @property
    def flights(self) -> int:
        """How many of them are in flight."""
        return self._lineage.flights

    @property
    def observations(self) -> int:
        """How often any outcome was met in the run."""
        return self._lineage.observations

    @property
    def _rows(self) -> NDArray[np.intp]:
        """Rows of the members in the lineage, by place."""
        count = len(self)
        if self._followed != self.members.version:
            changed = self.members.changed_since(self._followed)
            if count > len(self._found):
                self._found = np.concatenate([self._found, np.zeros(count, dtype=np.intp)])
            self._found[changed] = self._lineage.rows([self.members[int(place)].candidate_id for place in changed])
            self._followed = self.members.version
        return self._found[:count]
