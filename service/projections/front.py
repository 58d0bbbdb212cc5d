"""The Pareto front of a run with several objectives: how large it is, and what volume it dominates."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.ports import RunRecord
from service.projections.candidates import objectives_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

MAX_SAMPLED = 2000
SAMPLES_SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """What there is to say of a front.

    Attributes:
        size: candidates that no other dominates; equals count one by one.
        hypervolume: in rewards, so 1 is all of the box between the declared bounds; None without a reference point.
        exact: whether it is computed, not sampled.
    """

    size: int
    hypervolume: float | None
    exact: bool = True


def measure_front(run: RunRecord, rewards: "Sequence[Sequence[float]] | NDArray[np.float64]") -> Front:
    """What a front is worth, by the reward vectors of its members, the fittest first.

    The hypervolume is exact where `answer_sets.exact_volume` computes it. Else it is sampled, over at most
    `MAX_SAMPLED` candidates that are spread evenly over the fitness. Of a single objective there is none.
    """
    objectives = objectives_of(run)
    floors = [objective.floor for objective in objectives]
    reference = [floor for floor in floors if floor is not None]
    if len(objectives) < 2 or len(reference) < len(floors):
        return Front(size=len(rewards), hypervolume=None)
    import numpy as np

    from evolve.multiobjective.pareto import hypervolume_sampled
    from evolve.statistics.answer_sets import exact_volume

    points = np.array(rewards, dtype=np.float64).reshape(-1, len(objectives))
    with np.errstate(over="ignore", invalid="ignore"):  # far beyond their bounds, several objectives have no product
        exact = found = exact_volume(points, reference)
        if found is None:
            taken = points[:: math.ceil(len(points) / MAX_SAMPLED)]
            found = hypervolume_sampled(taken, reference, np.random.default_rng(SAMPLES_SEED))
    return Front(size=len(rewards), hypervolume=found if math.isfinite(found) else None, exact=exact is not None)
