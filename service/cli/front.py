"""The Pareto front of a run with several objectives: how large it is, and what volume it dominates."""

import math
from dataclasses import dataclass

from service.cli import figures
from service.cli.records import objectives_of
from service.ports import RunReader, RunRecord

MOST_EXACT = 2000
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

    def __str__(self) -> str:
        told = f"{figures.plural(self.size, 'candidate')} that no other dominates"
        if self.hypervolume is None:
            return told
        return f"{told}, hypervolume {'' if self.exact else 'about '}{figures.number(self.hypervolume)}"


def read_front(reader: RunReader, run: RunRecord) -> Front | None:
    """The front of a run; None when it has but one objective.

    The hypervolume of more than 3 objectives is sampled, and that of more than `MOST_EXACT` candidates is taken over as
    many of them, spread evenly over the fitness.
    """
    objectives = objectives_of(run)
    if len(objectives) < 2:
        return None
    members = reader.front(run.id)
    floors = [objective.floor for objective in objectives]
    reference = [floor for floor in floors if floor is not None]
    if len(reference) < len(floors):
        return Front(size=len(members), hypervolume=None)
    import numpy as np

    from evolve.statistics import EXACT_OBJECTIVES, volume

    taken = members[:: math.ceil(len(members) / MOST_EXACT)] if members else []
    rewards = [[objective.scale(member.scores[objective.name]) for objective in objectives] for member in taken]
    points = np.array(rewards, dtype=np.float64).reshape(-1, len(objectives))
    with np.errstate(over="ignore", invalid="ignore"):  # far beyond their bounds, several objectives have no product
        found = volume(points, reference, np.random.default_rng(SAMPLES_SEED))
    exact = len(taken) == len(members) and len(objectives) <= EXACT_OBJECTIVES
    return Front(size=len(members), hypervolume=found if math.isfinite(found) else None, exact=exact)
