"""The Pareto front of a run, for those who read it in a terminal."""

from service.cli import formatting
from service.projections.front import Front


def front_words(front: Front) -> str:
    """A front in a few words."""
    told = f"{formatting.plural(front.size, 'candidate')} that no other dominates"
    if front.hypervolume is None:
        return told
    return f"{told}, hypervolume {'' if front.exact else 'about '}{formatting.number(front.hypervolume)}"
