"""The members of a run's front, the fittest first, and the page of them behind a place."""

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass

from service.projections.columns import Columns
from service.projections.front import Front, measure_front

Place = tuple[float, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontRanking:
    """A front in order.

    Attributes:
        ids: of the members.
        places: of each (-fitness, proposal number, position of the answer): rising.
        measured: what it is worth.
    """

    ids: Sequence[str]
    places: Sequence[Place]
    measured: Front

    def behind(self, place: Place | None, limit: int) -> list[tuple[str, Place]]:
        """The first so many members behind a place; None: from the beginning."""
        start = bisect.bisect_right(self.places, place or (-math.inf, -1, -1))
        return list(zip(self.ids[start : start + limit], self.places[start : start + limit], strict=True))


def rank_front(columns: Columns) -> FrontRanking:
    """The Pareto front of a run."""
    members = columns.front()
    fitness = (-columns.fitness[members]).tolist()
    listed = members.tolist()
    return FrontRanking(
        ids=[columns.ids[place] for place in listed],
        places=[
            (worth, columns.numbers[place], columns.positions[place])
            for worth, place in zip(fitness, listed, strict=True)
        ],
        measured=measure_front(columns.run, columns.rewards[members]),
    )
