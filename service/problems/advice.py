"""Advice on a problem that can be searched on: its limit of time, and how long a run will take."""

import math
from collections.abc import Sequence

from evolve.problem import Limits

# A program may be so much slower than the seed before its time is up.
SLOWER = 10
MIN_WALL_SECONDS = 1
DEFAULT_EVALUATIONS = 1000


def advise_limit(seconds: Sequence[float], limits: Limits) -> str:
    """A limit of time that suits the seeds better, in a sentence; empty: the one that there is suits them.

    Args:
        seconds: that each seed took.
        limits: of the problem.
    """
    slowest, limit = max(seconds, default=0.0), limits.wall_seconds
    if not slowest:
        return ""
    better = max(MIN_WALL_SECONDS, math.ceil(SLOWER * slowest))
    if 2 * better <= limit:
        return (
            f"the slowest seed takes {slowest:.2g} s, and limits.wall_seconds is {limit:g}: with {better}, programs"
            " that hang cost less time"
        )
    if 2 * slowest > limit:
        return (
            f"the slowest seed takes {slowest:.2g} s of limits.wall_seconds = {limit:g}: slower programs are cut off,"
            f" raise it to {better}"
        )
    return ""


def expected_seconds(seconds: Sequence[float], evaluations: int, slots: int) -> float:
    """How long the evaluations of a run take, if its programs are as fast as the seeds.

    Args:
        seconds: that each seed took.
        evaluations: of the run.
        slots: evaluations at once.
    """
    return sum(seconds) / max(1, len(seconds)) * math.ceil(evaluations / max(1, slots))
