"""The Pareto front of a run, for those who read it in a terminal."""

from service.cli import figures
from service.ports import RunReader, RunRecord
from service.projections.front import Front, measure_front


def read_front(reader: RunReader, run: RunRecord) -> Front | None:
    """The front of a run; None when it has but one objective."""
    return measure_front(run, reader.front(run.id)) if len(run.objectives) > 1 else None


def front_words(front: Front) -> str:
    """A front in a few words."""
    told = f"{figures.plural(front.size, 'candidate')} that no other dominates"
    if front.hypervolume is None:
        return told
    return f"{told}, hypervolume {'' if front.exact else 'about '}{figures.number(front.hypervolume)}"
