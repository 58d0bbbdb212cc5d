"""Repeats: how often a noisy evaluation is repeated, and when one that falls behind needs no further repeat.

A candidate races against a threshold. After each repeat a one-sided test asks whether the mean fitness of all repeats
that may come is below the threshold. Where that is as sure as the configuration asks, the other repeats are spared.
Maron and Moore (1994, "Hoeffding Races") drop clearly worse candidates from a race under a bound over all looks.
Birattari et al. (2002, "A Racing Algorithm for Configuring Metaheuristics") use a test in place of the bound, which few
repeats would never meet.
"""

import math
import statistics
from collections.abc import Sequence

from evolve.problem import EvaluatorSpec
from evolve.statistics.t_distribution import upper_tail


def enough(spec: EvaluatorSpec, fitness: Sequence[float], threshold: float | None) -> bool:
    """Whether a candidate needs no further repeat.

    Args:
        spec: how often it is repeated at most and at least, and how sure the test must be.
        fitness: that of each repeat so far, more is better.
        threshold: what the mean must not fall clearly short of; None: nothing, all repeats are made.
    """
    made = len(fitness)
    if made >= spec.repeats:
        return True
    if threshold is None or not spec.races or made < spec.min_repeats:
        return False
    # Each look might err: together they may do so as rarely as the confidence says (Bonferroni).
    looks = spec.repeats - spec.min_repeats
    return chance(fitness, threshold) <= (1 - spec.repeats_confidence) / looks


def chance(values: Sequence[float], threshold: float) -> float:
    """How probable values so far below a threshold are where their true mean lies at it (Student's t, one-sided).

    Of values without spread: 0 below the threshold, else 1. At least two values.
    """
    mean, spread = math.fsum(values) / len(values), statistics.stdev(values)
    if spread == 0:
        return 0.0 if mean < threshold else 1.0
    return upper_tail((threshold - mean) / (spread / math.sqrt(len(values))), len(values) - 1)
